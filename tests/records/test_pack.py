"""What a pack may hold: the files of a campaign under their names, within bounds, each with its digest."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from records import pack
from records.archive import member, write
from records.pack import INDEX, BadPack, Entry, Index, check, extract

TOP = ("campaign.json", "scenario.yaml")
TRIAL = tuple(f"a=1,b=2/trial-001/{name}" for name in pack.TRIAL)
ASIDE = tuple(f"a=1,b=2/.set-aside-trial-001-1/{name}" for name in pack.ASIDE)


def index(*names: str, size: int = 1, campaign: str = "c1") -> Index:
    entries = tuple(Entry(name=name, bytes=size, sha256="0" * 64) for name in sorted(names))
    return Index(scenario="s", campaign=campaign, files=entries)


def test_a_campaign_s_files_are_allowed() -> None:
    check(index(*TOP))
    check(index(*TOP, *TRIAL, *ASIDE))
    check(index(*TOP, *TRIAL, *(f"a=1,b=2/trial-001/{name}" for name in pack.LEDGERS)))


@pytest.mark.parametrize(
    "name",
    [
        "../x", "/etc/passwd", "a/../../x/trial-001/link.json", "../trial-001/link.json", ".hidden/trial-001/link.json",
        "a/trial-001/../link.json", "a/trial-001/sub/link.json", "a/trial-1/link.json", "a/trial-0001/link.json",
        "a/trial-٠٠١/link.json", "a/trial-001/link.json\n", "a/trial-001/.bashrc", "a/trial-001/manifest.json/x",
        "a//trial-001/link.json", "a\0/trial-001/link.json", "a/.partial-trial-001/link.json", "report.html", "",
        "a/.set-aside-trial-001-1/reduced.parquet", "a/.set-aside-trial-001-0/verdict.json", "a/latest", "pack.json",
    ],
)  # fmt: skip
def test_no_other_name_is_allowed(name: str) -> None:
    with pytest.raises(ValueError, match="is no file of a campaign"):
        check(index(*TOP, *TRIAL, name))


@given(
    st.text(max_size=40) | st.lists(st.sampled_from(["..", ".", "/", "trial-001", "link.json", "a", ""])).map("/".join)
)
@example("a/trial-001/link.json")
def test_an_allowed_name_stays_inside_the_campaign(name: str) -> None:
    try:
        check(index(*TOP, *TRIAL, name))
    except ValueError:
        return
    place = Path("/results/s/c1")
    inside = (place / name).resolve()
    assert inside.is_relative_to(place)
    assert str(inside) == f"{place}/{name}"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((*TOP, *TRIAL[1:]), "there is no manifest.json in it"),
        (TRIAL, "there is no campaign.json in it"),
        ((*TOP, *ASIDE[1:]), "there is no manifest.json in it"),
        ((*TOP, *TRIAL, TRIAL[0]), "one is there twice"),
    ],
)
def test_what_lacks_a_file_or_has_one_twice_is_refused(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check(index(*names))


def test_sizes_and_numbers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="bytes in all, more than"):
        check(index(*TOP, *TRIAL, size=pack.MOST_BYTES // 8 + 1))
    with pytest.raises(ValueError, match=r"campaign\.json: .* bytes, more than"):
        check(index(*TOP, size=pack.MOST_RECORD + 1))
    monkeypatch.setattr(pack, "MOST_FILES", 3)
    with pytest.raises(ValueError, match="files, more than 3"):
        check(index(*TOP, *TRIAL))


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", ".hidden", "a\n", "latest"])
def test_the_campaign_s_own_name_is_a_plain_one(name: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - two kinds, one base
        check(index(*TOP, campaign=name))


def a_pack(path: Path, content: dict[str, bytes], listed: dict[str, bytes] | None = None) -> Path:
    entries = [
        Entry(name=name, bytes=len(data), sha256=member(name, data).sha256)
        for name, data in (listed or content).items()
    ]
    head = Index(scenario="s", campaign="c1", files=tuple(entries)).model_dump_json().encode()
    write(path, [member(INDEX, head), *(member(name, data) for name, data in content.items())])
    return path


@pytest.mark.parametrize(
    ("content", "listed", "words"),
    [
        ({"campaign.json": b"{}", "scenario.yaml": b""}, None, "campaign.json: .*validation error"),
        ({"campaign.json": b"{}", "scenario.yaml": b""}, {"campaign.json": b"[]", "scenario.yaml": b""},
         "campaign.json: its content does not have the digest"),
        ({"campaign.json": b"{}", "../x": b""}, {"campaign.json": b"{}", "scenario.yaml": b""},
         "scenario.yaml is not where the list has it"),
        ({"../x": b""}, None, "'../x' is no file of a campaign"),
    ],
)  # fmt: skip
def test_a_pack_whose_files_are_not_those_of_its_list_is_refused(
    tmp_path: Path, content: dict[str, bytes], listed: dict[str, bytes] | None, words: str
) -> None:
    (tmp_path / "to").mkdir()
    with pytest.raises(BadPack, match=f"(?s){words}"):
        extract(a_pack(tmp_path / "p", content, listed), tmp_path / "to")
    assert not (tmp_path / "x").exists()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """Its list promises 5 GiB; nothing of it is written."""
    (tmp_path / "to").mkdir()
    entries = [{"name": name, "bytes": 5 << 29, "sha256": "0" * 64} for name in TOP]
    head = json.dumps({"scenario": "s", "campaign": "c1", "files": entries}).encode()
    write(tmp_path / "p", [member(INDEX, head), member("campaign.json", bytes(30 << 20))])
    assert (tmp_path / "p").stat().st_size < 10_000
    with pytest.raises(BadPack, match="bytes in all, more than"):
        extract(tmp_path / "p", tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"no xz", lzma.compress(b"no tar"), lzma.compress(bytes(4096))])
def test_a_file_that_is_no_pack_is_told_by_name(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "p").write_bytes(data)
    with pytest.raises(BadPack, match=r"/p: it (ends early|is damaged|does not begin with pack.json)"):
        extract(tmp_path / "p", tmp_path)
