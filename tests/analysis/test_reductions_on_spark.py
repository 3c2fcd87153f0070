"""Tasks keep what they have reduced, and give what the driver's own process would."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from object_store import ObjectStore
from packs import reduced
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from synthetic_campaign import Spec, write_campaign

from analysis.details import TABLES, Asked, Reduced
from analysis.large.plan import TrialPlan, plan
from analysis.packed import without_folder
from analysis.reductions import reduce
from analysis.reductions.code import code_digest
from analysis.reductions.kept import FOLDER, MADE_OF, OtherFiles, State, look
from analysis.reductions.published import Copy, copy_records, reducing_published
from analysis.reductions.reduce import reducing
from analysis.report.build import found
from analysis.spark.jobs import Folder, reduce_all, reduce_trials
from records.location import Remote, locate
from records.publishing import publish, read_published
from records.store import trials


@pytest.mark.usefixtures("shared_session")
def test_tasks_keep_their_trials_and_give_the_same_rows(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=3, packets=6)
    paths = [trial.path for trial in trials(write_campaign(tmp_path, spec))]
    with reducing(master="local[2]") as made:
        made(paths[1:2])
        rows = made(paths)
    plain = reduced(paths)
    for number in range(len(paths)):
        mine, theirs = (table.filter(pc.equal(table.column("trial"), number)) for table in (rows, plain))
        assert mine == theirs
    assert {look(path, code_digest()).state for path in paths} == {State.CURRENT}


@pytest.mark.parametrize("code", [None, code_digest()])
def test_large_trials_are_shared_out_among_tasks_and_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, code: str | None
) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=3, packets=60)
    paths = [trial.path for trial in trials(write_campaign(tmp_path, spec))]
    (paths[1] / "sta1.pcap").write_bytes(b"no capture")  # nothing to share: a task reduces it whole
    rows = reduce_trials(spark, paths, code=code, large_packets=1)
    whole = without_folders(reduced(paths), paths) if code else reduced(paths)
    for number in range(len(paths)):
        mine, theirs = (table.filter(pc.equal(table.column("trial"), number)) for table in (rows, whole))
        assert mine.combine_chunks() == theirs.combine_chunks()
    found = [look(path, code_digest()).state for path in paths]
    assert found == ([State.CURRENT, State.NONE, State.CURRENT] if code else [State.NONE] * 3)


def without_folders(rows: pa.Table, paths: list[Path]) -> pa.Table:
    for path in paths:
        rows = without_folder(rows, str(path))
    return rows


@pytest.mark.usefixtures("shared_session")
def test_a_trial_that_tasks_do_not_see_ends_the_job_and_is_no_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=2, packets=6)
    paths = [trial.path for trial in trials(write_campaign(tmp_path, spec))]
    stamped = reduce.stamps

    def then_hidden(path: Path) -> object:
        found = stamped(path)
        if path == paths[1]:
            path.rename(tmp_path / "hidden")
        return found

    monkeypatch.setattr(reduce, "stamps", then_hidden)
    why = "trial-002: there is no such folder where this task runs"
    with pytest.raises(PythonException, match=why), reducing(master="local[2]") as made:
        made(paths)


def published(store: ObjectStore, below: Path, *, packets: int) -> tuple[Path, Copy]:
    """A campaign of two trials of one cell, and what a reader at a URI has of it."""
    spec = Spec(
        bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=2, packets=packets
    )  # fmt: skip
    campaign = write_campaign(below, spec)
    target = locate(store.uri("lab/c"))
    assert isinstance(target, Remote)
    publish(campaign, target)
    return campaign, copy_records(target, read_published(target), below / "copy")


@pytest.mark.usefixtures("shared_session")
def test_tasks_fetch_what_they_reduce_of_a_published_campaign_and_keep_it_there(
    store: ObjectStore, tmp_path: Path
) -> None:
    campaign, copy = published(store, tmp_path, packets=6)
    store.objects.pop(f"lab/c/{(trials(campaign)[1].path / 'sta1.pcap').relative_to(campaign)}")
    with reducing_published(copy, master="local[2]") as reduce:
        rows = reduce([trial.path for trial in trials(copy.folder)])
    first, second = (rows.filter(pc.equal(rows.column("trial"), number)) for number in range(2))
    assert first.drop_columns(["trial"]) == reduced([trials(campaign)[0].path]).drop_columns(["trial"])
    assert second.column("table").to_pylist() == ["damage"]
    assert "no such file" in second.column("text").to_pylist()[0]
    assert sum(name.startswith("lab/c/reduced/") for name in store.objects) == 2


@pytest.mark.usefixtures("shared_session")
def test_large_trials_of_a_published_campaign_are_shared_out_and_kept_there(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, copy = published(store, tmp_path, packets=60)
    cut = f"lab/c/{(trials(campaign)[1].path / 'sta1.pcap').relative_to(campaign)}"
    store.objects[cut] = store.objects[cut][:-1]
    monkeypatch.setattr("analysis.reductions.published.jobs.reduce_all", partial(reduce_all, large_packets=1))
    shared: list[TrialPlan | None] = []

    def planned(*words: Any) -> TrialPlan | None:
        shared.append(plan(*words))
        return shared[-1]

    monkeypatch.setattr("analysis.spark.jobs.plan", planned)
    paths = [trial.path for trial in trials(copy.folder)]
    with reducing_published(copy, master="local[2]") as reduce:
        rows = reduce(paths)
    assert [one is not None for one in shared] == [True, False]
    first, second = (rows.filter(pc.equal(rows.column("trial"), number)) for number in range(2))
    of_folder = without_folders(reduced([trials(campaign)[0].path]), [trials(campaign)[0].path])
    assert first.drop_columns(["trial"]).combine_chunks() == of_folder.drop_columns(["trial"]).combine_chunks()
    assert second.column("table").to_pylist() == ["damage"]
    assert "not those that were published" in second.column("text").to_pylist()[0]
    store.calls.clear()
    with reducing_published(copy) as reduce:
        assert reduce(paths[:1]).combine_chunks() == first.combine_chunks()
    assert store.calls["put"] == 0, "it was kept, with its captures among what it was made of"


@pytest.mark.usefixtures("shared_session")
@pytest.mark.parametrize("seen", [True, False], ids=["shared storage", "disks of their own"])
def test_tasks_give_back_details_only_where_this_side_cannot_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, seen: bool
) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=2, packets=6)
    folder = write_campaign(tmp_path, spec)
    if not seen:
        monkeypatch.setattr(reduce, "shared", lambda _: nullcontext("no-such-file"))
    given: list[pa.Table] = []

    def watched(*words: Any, **named: Any) -> pa.Table:
        given.append(reduce_all(*words, **named))
        return given[-1]

    monkeypatch.setattr("analysis.reductions.reduce.jobs.reduce_all", watched)
    with reducing(master="local[2]") as made:
        told = found(folder, made.brief)
    assert bool(set(TABLES) & set(given[0].column("table").to_pylist())) is not seen
    assert told == found(folder, lambda paths: Reduced(rows=reduced(paths)))
    assert all(isinstance(trial.details, Asked) for trial in told.trials)
    assert [path.name for path in (folder / FOLDER).iterdir()] == ["cell=nistnet-80211_100_dp"]


@pytest.mark.usefixtures("shared_session")
@pytest.mark.parametrize("stale", [False, True])
def test_rows_of_a_worker_that_has_other_files_are_not_this_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stale: bool
) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=2, packets=6)
    mine = write_campaign(tmp_path / "here", spec)
    theirs = Path(shutil.copytree(tmp_path / "here", tmp_path / "there")) / mine.relative_to(tmp_path / "here")
    paths = [trial.path for trial in trials(mine)]
    if stale:
        verdict = theirs / paths[1].relative_to(mine) / "verdict.json"
        verdict.write_text(verdict.read_text().replace("\n", "\n\n", 1))

    def on_their_disks(spark: SparkSession, wanted: dict[int, Folder]) -> pa.Table:
        there = {number: str(theirs / Path(one.folder).relative_to(mine)) for number, one in wanted.items()}
        return reduce_all(spark, {number: replace(one, folder=there[number]) for number, one in wanted.items()})

    monkeypatch.setattr("analysis.reductions.reduce.jobs.reduce_all", on_their_disks)
    with reducing(master="local[2]") as made:
        if stale:
            with pytest.raises(OtherFiles, match="trial-002: a worker has other files under this path"):
                made(paths)
        else:
            assert MADE_OF not in made(paths).column("table").to_pylist()
    found = [look(path, code_digest()).state for path in paths]
    assert found == [State.CURRENT, State.NONE if stale else State.CURRENT]
