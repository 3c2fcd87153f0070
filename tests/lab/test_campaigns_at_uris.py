"""Campaigns at URIs are listed and compared as those in folders are, and what is wrong with a URI is one message."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from object_store import Fault, ObjectStore
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner, Result

from experiments.campaign.unpack import unpack
from lab.main import app
from records import filesystems, location
from records.location import Remote, locate
from records.publishing import PUBLISHED, publish

ROOT = Path(__file__).parents[2]
A, B = "20240101-000000-aaaaaaaa", "20240102-000000-aaaaaaaa"
SMALL = {
    "bodies": (100,), "guarantees": ("durable, persistent",), "networks": ("wireline-100m",), "trials": 2, "packets": 4,
}  # fmt: skip
CELL = "wireline-100m_100_dp"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two campaigns, and what commands write without being told where is written beside them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))
    root = tmp_path / "results"
    write_campaign(root, Spec(**SMALL, name=A))
    write_campaign(root, Spec(**SMALL, name=B, slow=(1.01, 0.99), states={(CELL, 2): "invalid"}))
    return root


def lab(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def put(store: ObjectStore, results: Path, names: Sequence[str] = (A, B)) -> list[str]:
    """The URIs of published campaigns."""
    for name in names:
        done = lab("publish", name, store.uri(f"lab/runs/{name}"), "--results", results)
        assert done.exit_code == 0, done.stderr
    return [store.uri(f"lab/runs/{name}") for name in names]


def rows(done: Result) -> list[list[str]]:
    """The cells of a printed table."""
    assert done.exit_code == 0, done.stderr
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in done.stdout.splitlines()[1:]]


def without_folders(done: Result) -> object:
    """What a comparison found, without where the campaigns are."""
    found = json.loads(done.stdout)
    return {**found, **{side: {**found[side], "folder": ""} for side in "ab"}}


def test_campaigns_at_a_uri_are_listed_as_in_their_folder_without_reading_trials(
    store: ObjectStore, results: Path
) -> None:
    (results / "synthetic" / A / "report.html").write_text("a report")
    uris = put(store, results)
    here = rows(lab("list", "--results", results))
    store.calls.clear()
    there = rows(lab("list", store.uri("lab/runs")))
    assert [row[:3] for row in there] == [row[:3] for row in here]
    assert here[1][1:3] == ["2/2", "1 invalid, 1 valid"]
    assert [row[3:] for row in there] == [[str(locate(uris[0]) / "report.html"), uris[0]], ["-", uris[1]]]
    assert store.calls == {"list": 3, "head": 2, "get": 2}


def test_places_of_several_kinds_are_listed_together(store: ObjectStore, results: Path) -> None:
    (uri,) = put(store, results, [B])
    there = rows(lab("list", results / "synthetic", f"file://{results}/synthetic/{A}", uri))
    assert [row[0] for row in there] == [f"synthetic/{name}" for name in (A, B, A, B)]
    assert [row[-1] for row in there] == ["-", "-", "-", uri]


def test_a_campaign_that_is_not_whole_or_of_an_older_program_has_a_row_that_says_so(
    store: ObjectStore, results: Path
) -> None:
    put(store, results)
    older = locate(store.uri("lab/runs/older"))
    assert isinstance(older, Remote)
    publish(results / "synthetic" / A, older)
    store.objects[f"lab/runs/{B}/_publishing-00000.json"] = store.objects.pop(f"lab/runs/{B}/{PUBLISHED}")
    whole, old, half = rows(lab("list", store.uri("lab/runs")))
    assert half[:2] == ["?", "?"]
    assert f"{PUBLISHED} is missing" in half[2]
    assert whole[1:3] == ["2/2", "2 valid"]
    assert (old[0], "older program" in old[2]) == (f"synthetic/{A}", True)
    here = results / "synthetic" / B
    (here / "_publishing-00000.json").touch()
    assert "not copied to its end" in rows(lab("list", here))[0][2]
    assert lab("compare", here, A, "--results", results).exit_code == 2


def test_a_campaign_at_a_uri_is_compared_as_its_folder_is(store: ObjectStore, results: Path, tmp_path: Path) -> None:
    uris = put(store, results)
    folders = [results / "synthetic" / name for name in (A, B)]
    here = lab("compare", *folders, "--json", "--results", results)
    there = lab("compare", f"file://{folders[0]}", uris[1], "--json", "--results", results)
    both = lab("compare", *uris, "--json", "--out", tmp_path / "out", "--results", results)
    wanted = without_folders(here)
    for done, sides in ((there, [str(folders[0]), uris[1]]), (both, uris)):
        assert done.exit_code == here.exit_code, done.stderr
        assert [json.loads(done.stdout)[side]["folder"] for side in "ab"] == sides
        assert without_folders(done) == wanted
    page = f"compare-{A}-{B}.html"
    pages = [folders[1] / "compare" / A / page, tmp_path / f"{B}-compare" / A / page, tmp_path / "out" / page]
    assert len({path.read_bytes() for path in pages}) == 1
    kept = {name for name in store.objects if "/reduced/" in name}
    assert len(kept) == 2 * 2 * 2, "the reductions that were made stay at the URI"
    assert lab("compare", uris[0], uris[0], "--results", results).exit_code == 2


VERBS = {
    "list": (["list"], 1, 1), "report": (["report"], 1, 1), "export": (["export", "--out", "out"], 1, 1),
    "compare": (["compare", A], 2, 3), "reductions": (["reductions"], 1, 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "what"),
    [(verb, what) for verb in VERBS for what in ("it is not there", "no right")]
    + [("list", "it stalls"), ("compare", "it stalls")],
)
def test_a_uri_that_cannot_be_read_is_one_message_whoever_asks(
    store: ObjectStore, results: Path, monkeypatch: pytest.MonkeyPatch, verb: str, what: str
) -> None:
    words, absent, unreachable = VERBS[verb]
    uri = store.uri("lab/none")
    if what == "no right":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        filesystems._s3.cache_clear()
    if what == "it stalls":
        monkeypatch.setenv(filesystems.TIMEOUT, "1")
        monkeypatch.setattr(location, "_PAUSES_S", ())
        store.objects[f"lab/none/{PUBLISHED}"] = b"0123456789"
        store.faults = [Fault(kind="stall", key=PUBLISHED, after=5)]
    done = lab(*words, uri, "--results", results)
    said = {
        "it is not there": (absent, "`lab publish CAMPAIGN URI` copies one there"),
        "no right": (unreachable, "have no right"),
        "it stalls": (unreachable, "no byte came for 1 s"),
    }[what]
    assert (done.exit_code, said[1] in done.stderr, done.stdout) == (said[0], True, ""), done.stderr
    assert store.uri("lab/none").partition("?")[0] in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_uri_that_is_wrong_and_a_folder_that_is_not_there_are_wrong_use(results: Path) -> None:
    for words, said in (
        (["list", "s3://key:hush@lab/c"], "seen by everybody"),
        (["compare", A, "s3://key:hush@lab/c"], "seen by everybody"),
        (["list", "nowhere"], "nowhere: there is no such folder"),
        (["list", "."], ".: no campaign is there or in folders of it"),
    ):
        done = lab(*words, "--results", results)
        assert (done.exit_code, said in done.stderr, "hush" in done.stderr) == (2, True, False), done.stderr


def test_a_study_judges_a_campaign_at_a_uri_as_in_its_folder(store: ObjectStore, results: Path, tmp_path: Path) -> None:
    """Of a pack, so that nothing is reduced; of two of its cases, as fits of many claims to all take their time."""
    (pack,) = (ROOT / "results" / "reference" / "baseline").glob("gaddah-kunz-*.airwire.tar.xz")
    campaign = unpack(pack, tmp_path / "unpacked").folder
    for cell in campaign.glob("*case=*"):
        if not cell.name.endswith(("set1-01", "set1-03")):
            shutil.rmtree(cell)
    target = locate(store.uri("lab/runs/study"))
    assert isinstance(target, Remote)
    publish(campaign, target)
    words = ("paper", "gaddah-kunz", "--results", results)
    for place, out in ((str(target), tmp_path / "uri"), (campaign, tmp_path / "folder")):
        done = lab(*words, "--campaign", place, "--out", out)
        assert done.exit_code == 0, done.stderr
    pages = [{file.relative_to(out): file.read_bytes() for file in out.rglob("*") if file.is_file()}
             for out in (tmp_path / "uri", tmp_path / "folder")]  # fmt: skip
    assert pages[0] == pages[1]
    assert pages[0]


def test_reductions_at_a_uri_are_listed_as_in_the_folder_and_no_tables_are_read(
    store: ObjectStore, results: Path
) -> None:
    (uri,) = put(store, results, [A])
    assert rows(lab("reductions", uri, "--results", results))[0][1:3] == ["2", "-"]
    assert lab("report", uri, "--results", results, "--pages", "none").exit_code == 0
    store.faults = [Fault(kind=403, key="reduced.parquet", times=99)]
    one = rows(lab("reductions", uri, "--results", results))[0]
    assert one[:3] == [f"synthetic/{A}", "2", "2 current"]
    record = next(key for key in store.objects if key.endswith("trial=1/_reduction.json"))
    store.objects[record] = b"{}"
    assert rows(lab("reductions", uri, "--results", results))[0][2] == "1 current, 1 damaged"
    refused = lab("reductions", uri, "--prune", "--results", results)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--prune removes reductions of campaigns in folders only" in refused.stderr


def test_a_study_says_that_nothing_is_at_a_uri(store: ObjectStore, results: Path) -> None:
    done = lab("paper", "gaddah-kunz", "--campaign", store.uri("lab/none"), "--results", results)
    assert (done.exit_code, "no campaign that has been published" in done.stderr) == (1, True), done.stderr
