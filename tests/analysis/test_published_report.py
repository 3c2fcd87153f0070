"""A published campaign's report is that of its folder; reductions are kept at the URI, those that lack are made."""

from __future__ import annotations

import html
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from object_store import Fault, ObjectStore
from packs import pack
from synthetic_campaign import Spec, write_campaign

from analysis import report
from analysis.details import TABLES, parsed, without
from analysis.extent import Extent
from analysis.packed import encode
from analysis.reductions import published
from analysis.reductions.code import code_digest
from analysis.reductions.kept import place_of
from analysis.reductions.published import Copy, ReducingPublished, copy_records, reducing_published, rows_published
from analysis.reductions.reduce import reducing
from analysis.report import keptpages, trialpages
from analysis.report.build import WRITTEN
from analysis.report.published import build_published
from analysis.report.trialview import Subject
from experiments.campaign.unpack import unpack
from records.location import Remote
from records.publishing import NotPublished, publish, read_published
from records.store import trials

SORTED = [(name, "ascending") for name in ("table", "metric", "key", "t", "value", "text")]

SPEC = Spec(bodies=(100,), guarantees=("durable, persistent",), trials=2, packets=4)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("results"), SPEC)


@pytest.fixture
def campaign(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "results" / "synthetic" / made.name))


def rows_of(target: Remote, below: Path) -> tuple[list[bytes], list[str]]:
    """Each trial's rows, and what was said."""
    said: list[str] = []
    copy = copy_records(target, read_published(target), below)
    paths = [trial.path for trial in trials(copy.folder)]
    with reducing_published(copy, say=said.append) as reduce:
        found = reduce(paths)
    return [encode(found.filter(_is(found, number))) for number in range(len(paths))], said


def _is(table: pa.Table, number: int) -> pa.Array:
    return pc.equal(table["trial"], number)


def files_in(folder: Path) -> dict[str, bytes]:
    paths: Sequence[Path] = [path for name in WRITTEN for path in (folder / name, *(folder / name).rglob("*"))]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}


def test_the_report_is_the_folders_to_the_byte_and_reductions_stay_at_the_uri(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    before = set(store.under("lab/runs/one"))
    build_published(target, tmp_path / "out")
    report.build(campaign)
    assert files_in(tmp_path / "out") == files_in(campaign)
    new = set(store.under("lab/runs/one")) - before
    assert new == {str(path.relative_to(campaign)) for path in (campaign / "reduced").rglob("*") if path.is_file()}


@pytest.mark.usefixtures("blank_plots")
def test_pages_of_the_report_that_was_there_are_kept(
    campaign: Path, target: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trialpages, "KEPT_ABOVE", 0)
    monkeypatch.setattr(keptpages, "changed_since_start", lambda _: False)  # whoever edits while tests run
    drawn: list[Subject] = []
    view = trialpages.trial_view

    def noted(subject: Subject) -> dict[str, Any]:
        drawn.append(subject)
        return view(subject)

    monkeypatch.setattr(trialpages, "trial_view", noted)
    publish(campaign, target)
    build_published(target, tmp_path / "out")
    first = files_in(tmp_path / "out")
    assert len(drawn) == 4
    page = min((tmp_path / "out" / "trials").iterdir())
    page.write_bytes(page.read_bytes().replace(b"<h1", b"<h2"))
    build_published(target, tmp_path / "out")
    assert len(drawn) == 5, "the page that was changed meanwhile"
    assert files_in(tmp_path / "out") == first


def test_reductions_that_came_along_are_used_and_no_capture_is_read(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    with reducing() as reduce:
        wanted = reduce([trial.path for trial in trials(campaign)])
    publish(campaign, target)
    store.faults = [Fault(kind=503, key=name, times=99) for name in (".pcap", "published.parquet", "delivered.parquet")]
    store.calls.clear()
    found, said = rows_of(target, tmp_path / "copy")
    assert found == [encode(wanted.filter(_is(wanted, number))) for number in range(4)]
    assert said == []
    assert store.calls["list"] == 1
    assert store.calls["put"] == 0


def test_only_what_lacks_or_is_damaged_is_made_again_and_that_is_said(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    first, said = rows_of(target, tmp_path / "first")
    assert said == []
    one, two, three, _ = (place_of(trial.path).relative_to(campaign).as_posix() for trial in trials(campaign))
    store.objects[f"lab/runs/one/{one}/reduced.parquet"] = b"cut"
    store.objects[f"lab/runs/one/{two}/_reduction.json"] = b"{"
    other = store.objects[f"lab/runs/one/{three}/_reduction.json"].replace(code_digest().encode(), b"0" * 64)
    store.objects[f"lab/runs/one/{three}/_reduction.json"] = other
    store.calls.clear()
    second, said = rows_of(target, tmp_path / "second")
    assert second == first
    assert len(said) == 3
    assert any("reduced again: 1 trial, whose reductions are by other code" in line for line in said)
    assert store.calls["put"] == 3 * 2
    assert rows_of(target, tmp_path / "third") == (first, [])


def test_where_nothing_may_be_written_the_rows_are_given_and_that_they_are_not_kept_is_said(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    store.faults = [Fault(kind=503, operation="put", times=99)]
    found, said = rows_of(target, tmp_path / "copy")
    assert said == [f"reductions are not kept: of 4 trials, at {target}"]
    store.faults = []
    assert (found, []) == rows_of(target, tmp_path / "kept")
    assert [b"damage" in rows for rows in found] == [False] * 4


def test_of_trials_of_which_none_is_ever_kept_nothing_is_said(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    damaged = trials(campaign)[0].path
    (damaged / "delivered.parquet").write_bytes(b"PAR1")
    publish(campaign, target)
    found, said = rows_of(target, tmp_path / "copy")
    assert ([b"damage" in rows for rows in found], said) == ([True, False, False, False], [])
    assert sum(name.endswith("_reduction.json") for name in store.under("lab/runs/one")) == 3
    shutil.rmtree(damaged)
    unpacked = unpack(pack(campaign, tmp_path / "pack"), tmp_path / "unpacked").folder
    two = replace(target, path="lab/runs/two")
    publish(unpacked, two)
    assert rows_of(two, tmp_path / "of the pack")[1] == []
    assert not any(name.endswith("_reduction.json") for name in store.under("lab/runs/two"))


def test_a_query_has_the_rows_of_a_trial_where_nothing_may_be_written(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    copy = copy_records(target, read_published(target), tmp_path / "copy")
    trial, code = next(iter(copy.files)), code_digest()
    store.faults = [Fault(kind=503, operation="put", times=99)]
    refused = rows_published(copy, trial, code)
    store.faults = []
    assert encode(rows_published(copy, trial, code)) == encode(refused)


def test_that_none_is_kept_is_said_where_one_of_other_code_stands(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(campaign, target)
    wanted, _ = rows_of(target, tmp_path / "copy")
    before = dict(store.objects)
    monkeypatch.setattr(published, "code_digest", lambda: "0" * 64)
    store.faults = [Fault(kind=503, operation="put", times=99)]
    found, (again, not_kept) = rows_of(target, tmp_path / "other")
    assert "reduced again: 4 trials, whose reductions are by other code" in again
    assert not_kept == f"reductions are not kept: of 4 trials, at {target}"
    assert (found, store.objects) == (wanted, before)


def test_a_file_that_is_not_what_was_published_is_damage_of_its_trial_alone(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    bad = trials(campaign)[0].path.relative_to(campaign).as_posix()
    store.objects[f"lab/runs/one/{bad}/published.parquet"] = b"other"
    wanted, _ = rows_of(target, tmp_path / "copy")
    assert [b"are not those that were published" in rows for rows in wanted] == [True, False, False, False]
    assert sum(name.endswith("_reduction.json") for name in store.under("lab/runs/one")) == 3


def test_what_is_not_whole_is_not_read(store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path) -> None:
    publish(campaign, target)
    del store.objects["lab/runs/one/_published.json"]
    with pytest.raises(NotPublished, match="comes last"):
        build_published(target, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_records_alone_are_copied(store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path) -> None:
    publish(campaign, target)
    copy = copy_records(target, read_published(target), tmp_path / "copy")
    assert isinstance(copy, Copy)
    names = {path.name for path in copy.folder.rglob("*") if path.is_file()}
    assert names == {"campaign.json", "manifest.json", "link.json", "verdict.json"}
    assert copy.folder.name == campaign.name


@pytest.mark.usefixtures("blank_plots")
def test_of_a_report_without_pages_the_words_that_make_them_name_the_uri_and_what_is_not_ours_stays(
    campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    out = tmp_path / "out"
    (out / "trials").mkdir(parents=True)
    for name in ("old-trial-001.html", "mine.txt"):
        (out / "trials" / name).touch()
    page = build_published(target, out, by="network", extent=Extent.NONE)
    again = f"lab report {shlex.quote(str(target))} --by network --out {out}"
    assert f"<code>{again}</code> makes" in html.unescape(page.read_text())
    assert {path.name for path in out.iterdir()} == set(WRITTEN)
    assert [path.name for path in (out / "trials").iterdir()] == ["mine.txt"]


def test_a_report_costs_two_calls_for_each_trial_that_was_published_with_its_reduction(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    """Each file is asked for its size and then read; the list and the records are one file of the campaign each."""
    publish(campaign, target)
    store.calls.clear()
    rows_of(target, tmp_path / "first")
    files = len(["published.parquet", "delivered.parquet", "resources.parquet", "sta1.pcap"])
    assert store.calls == {"list": 1, "head": 2 + files * 4, "get": 2 + files * 4, "put": 2 * 4}
    store.calls.clear()
    rows_of(target, tmp_path / "again")
    assert store.calls == {"list": 1, "head": 2 + 2 * 4, "get": 2 + 2 * 4}, "the records of reductions, too"
    with reducing() as reduce:
        reduce([trial.path for trial in trials(campaign)])
    publish(campaign, target)
    store.calls.clear()
    rows_of(target, tmp_path / "second")
    assert store.calls == {"list": 1, "head": 2 + 4, "get": 2 + 4}


@pytest.mark.parametrize("first", [True, False], ids=["made now", "kept"])
def test_details_of_trials_are_files_of_the_copy_and_not_in_memory(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path, *, first: bool
) -> None:
    publish(campaign, target)
    if not first:
        rows_of(target, tmp_path / "before")
    copy = copy_records(target, read_published(target), tmp_path / "copy")
    paths = [trial.path for trial in trials(copy.folder)]
    with reducing_published(copy) as reduce:
        brief, whole = reduce.brief(paths), reduce(paths)
    store.objects.clear()  # drawing asks the store for nothing
    assert not {*TABLES} & {*brief.rows["table"].to_pylist()}
    assert {*TABLES} <= {*whole["table"].to_pylist()}
    for number in range(len(paths)):
        mine = whole.filter(_is(whole, number))
        assert brief.rows.filter(_is(brief.rows, number)).equals(without(mine))
        assert parsed(brief.details[number]()) == parsed(mine)


def test_details_of_which_another_command_has_put_others_meanwhile_stay_in_memory(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(campaign, target)
    copy = copy_records(target, read_published(target), tmp_path / "copy")
    paths = [trial.path for trial in trials(copy.folder)]
    own = ReducingPublished._copied

    def copied(self: ReducingPublished, name: str) -> bytes:
        return b"another" if "trial=1" in name else own(self, name)

    monkeypatch.setattr(ReducingPublished, "_copied", copied)
    with reducing_published(copy) as reduce:
        brief, whole = reduce.brief(paths), reduce(paths)
    lost = {number for number, path in enumerate(paths) if path.name == "trial-001"}
    assert set(brief.details) == set(range(len(paths))) - lost
    for number in lost:
        found, wanted = (encode(rows.filter(_is(rows, number)).sort_by(SORTED)) for rows in (brief.rows, whole))
        assert found == wanted


def test_a_reduction_that_was_made_anew_at_the_uri_is_read_with_its_own_record(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reducing() as reduce:
        reduce([trial.path for trial in trials(campaign)])
    publish(campaign, target)
    monkeypatch.setattr(published, "code_digest", lambda: "0" * 64)
    wanted, said = rows_of(target, tmp_path / "other")
    assert any("4 trials, whose reductions are by other code" in line for line in said)
    assert rows_of(target, tmp_path / "again") == (wanted, [])
