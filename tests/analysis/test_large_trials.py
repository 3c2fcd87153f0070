"""A large trial is looked at by several tasks, each at some of its connections, and gives the rows that one would."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from object_store import Fault, ObjectStore
from pcap_files import SERVER, STATION, Segment, segments_pcap
from synthetic_campaign import OFFSET, START, Spec, write_campaign

from analysis.capture.ranges import from_json
from analysis.large import parts, pieces
from analysis.large.plan import (
    CAPTURES,
    LARGE_PACKETS,
    PlannedCapture,
    TrialPlan,
    draft,
    draft_here,
    plan,
    walked,
)
from analysis.looked import Looked
from analysis.reductions import published_trial
from analysis.reductions.code import code_digest
from analysis.reductions.kept import State, look, place_of, reduce_and_keep
from analysis.reductions.published import _Trial, copy_records
from analysis.reductions.published_trial import PublishedTrial
from analysis.spark.jobs import Folder
from analysis.trial import reduce_trial
from records.filenames import MANIFEST
from records.location import Remote
from records.packed import PACKED, Listed
from records.publishing import publish, read_published
from records.store import Trial, trials, write_record

RANGE_BYTES = 4096  # several ranges for each capture


def conversations(seed: int) -> list[Segment]:
    """Both ways, over connections whose ports are used again, with repetitions and packets out of order."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(12):
        src, dst = (STATION, SERVER) if number % 3 else (SERVER, STATION)
        at_ns = OFFSET + START + int(random.integers(0, 8 * 10**9))
        for step in range(int(random.integers(1, 20))):
            again = step - int(random.integers(0, 2))
            one = Segment(
                t_ns=at_ns + step * 10_000_000 + int(random.integers(0, 15_000_000)), src=src, dst=dst,
                sport=1000 + number // 2, dport=80, seq=again * 100, payload=100,
            )  # fmt: skip
            found += [one, one.back(t_ns=one.t_ns + int(random.integers(1, 10**8)), ack=again * 100 + 100)]
    return sorted(found, key=lambda one: one.t_ns)


ONE = Spec(trials=1, bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",))


def trial_of(folder: Path, seed: int = 1) -> Path:
    segments = conversations(seed)
    made = [
        (node, side, segments_pcap(segments), len(segments)) for node, side in (("sta1", "station"), ("srv", "wired"))
    ]
    campaign = write_campaign(folder, replace(ONE, captures=lambda _: made))
    return next(trial.path for trial in trials(campaign))


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trial_of(tmp_path_factory.mktemp("trial"))


def planned(path: Path, buckets: int = 3) -> TrialPlan:
    drafted = draft_here(path, 0, large_packets=1)
    assert drafted is not None
    captures = [walked(drafted.files, one, range_bytes=RANGE_BYTES) for one in drafted.captures]
    found = plan(drafted, captures)
    assert found is not None
    assert max(len(one.ranges) for one in found.captures) > 2
    return replace(found, buckets=buckets)


def decoded(shared: TrialPlan) -> pa.Table:
    ranges = pieces.pieces_of([shared], range(shared.buckets))
    rows = [batch for piece in ranges[::-1] for batch in pieces.decode(shared, piece)]
    return pa.Table.from_batches(rows)


def looked(shared: TrialPlan, held: pa.Table) -> Looked:
    found = [
        parts.to_rows(
            parts.look(shared, bucket, held.filter(pc.equal(held["bucket"], bucket))), key=0, plan=0, bucket=bucket
        )
        for bucket in reversed(range(shared.buckets))
    ]
    return parts.together(pa.Table.from_batches(found))


def apart(path: Path, buckets: int = 3) -> pa.RecordBatch:
    shared = planned(path, buckets)
    return reduce_trial(path, 0, looked(shared, decoded(shared)))


@pytest.mark.parametrize("buckets", [1, 2, 7, 64])
def test_the_rows_are_those_of_one_task(trial: Path, buckets: int) -> None:
    whole = reduce_trial(trial, 0)
    assert {"flow", "second"} <= set(whole.column("table").to_pylist())
    assert apart(trial, buckets).equals(whole)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_whatever_the_connections_did(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = trial_of(tmp_path_factory.mktemp("random"), seed)
    assert apart(path).equals(reduce_trial(path, 0))


def _cut(path: Path) -> None:
    content = (path / "srv.pcap").read_bytes()
    (path / "srv.pcap").write_bytes(content[: len(content) * 2 // 3])


def _no_capture(path: Path) -> None:
    (path / "srv.pcap").write_bytes(b"no capture")


def _gone(path: Path) -> None:
    (path / "srv.pcap").unlink()


def _no_ledger(path: Path) -> None:
    (path / "published.parquet").write_bytes(b"no table")


@pytest.mark.parametrize("damage", [_cut, _no_capture, _gone, _no_ledger])
def test_what_is_damaged_is_told_alike(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = trial_of(tmp_path)
    damage(path)
    whole = reduce_trial(path, 0)
    assert {"partial", "damage"} & set(whole.column("table").to_pylist())
    assert apart(path).equals(whole)


def test_a_capture_that_changes_meanwhile_is_told_and_the_others_stand(tmp_path: Path) -> None:
    path = trial_of(tmp_path)
    shared = planned(path)
    _no_capture(path)
    rows = reduce_trial(path, 0, looked(shared, decoded(shared))).to_pylist()
    (said,) = (row for row in rows if row["table"] == "partial")
    assert said["key"] == "srv.pcap"
    directions = {row["text"] for row in rows if row["metric"] == "direction"}
    assert directions == {"uplink"}


def test_a_trial_that_was_run_again_after_its_captures_were_read_is_not_kept(tmp_path: Path) -> None:
    path = trial_of(tmp_path, 1)
    standing, shared = Folder(str(path), code_digest(), None, 0.0).as_it_stands(), planned(path)
    found = looked(shared, decoded(shared))
    again = trial_of(tmp_path / "again", 2)
    for name in ("srv.pcap", "sta1.pcap"):
        (path / name).write_bytes((again / name).read_bytes())
    assert list(standing.reduce(0, found))
    assert look(path, code_digest()).state is State.NONE
    assert list(standing.reduce(0))  # which reads all of it itself
    assert look(path, code_digest()).state is State.CURRENT


def test_a_part_that_fails_takes_nothing_of_the_others_with_it(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_args: object, **_more: object) -> None:
        raise TypeError("a mistake")

    monkeypatch.setattr(parts.captures, "sent", fails)
    shared = planned(trial)
    found = looked(shared, decoded(shared))
    monkeypatch.undo()
    rows = reduce_trial(trial, 0, found).to_pylist()
    assert [(row["metric"], row["text"]) for row in rows if row["table"] == "partial"] == [
        ("captures", "TypeError: a mistake")
    ]
    assert not any(row["table"] == "flow" for row in rows)
    whole = [row for row in reduce_trial(trial, 0).to_pylist() if row["table"] in {"journey", "ecdf", "packets"}]
    assert [row for row in rows if row["table"] in {"journey", "ecdf", "packets"}] == whole


def test_a_capture_that_lacks_packets_is_not_whole_and_is_told_alike(tmp_path: Path) -> None:
    path = trial_of(tmp_path)
    known = Trial(path).manifest()
    first, second = known.captures
    (path / MANIFEST).unlink()
    short = second.model_copy(update={"packets": second.packets + 1})
    write_record(path / MANIFEST, known.model_copy(update={"captures": (first, short)}))
    assert [one.whole for one in planned(path).captures] == [True, False]
    whole = reduce_trial(path, 0)
    assert "partial" in whole.column("table").to_pylist()
    assert apart(path).equals(whole)


def test_small_trials_and_those_without_records_are_work_for_one_task(trial: Path, tmp_path: Path) -> None:
    assert draft_here(trial, 0) is None
    assert draft_here(tmp_path, 0, large_packets=1) is None
    assert LARGE_PACKETS > 1


def published(path: Path, target: Remote) -> PublishedTrial:
    """The trial of a campaign that is at `target` from now on."""
    campaign = path.parent.parent
    publish(campaign, target)
    copy = copy_records(target, read_published(target), path.parents[2] / "copy")
    name = path.relative_to(campaign).as_posix()
    return PublishedTrial(campaign=target, trial=name, listed=copy.files[name], known=copy.folder / name)


def walked_at(files: PublishedTrial) -> list[PlannedCapture | None]:
    return [walked(files, one, range_bytes=RANGE_BYTES) for one in Trial(files.known).manifest().captures]


def far(files: PublishedTrial) -> TrialPlan:
    drafted = draft(Trial(files.known), 0, files, capture_bytes=LARGE_PACKETS, large_packets=1)
    assert drafted is not None
    found = plan(drafted, walked_at(files))
    assert found is not None
    return replace(found, buckets=3)


@pytest.mark.parametrize("damage", [None, _cut, _no_capture, _gone, _no_ledger])
def test_a_published_trial_gives_the_rows_that_its_folder_gives(
    tmp_path: Path, target: Remote, damage: Callable[[Path], None] | None
) -> None:
    path = trial_of(tmp_path)
    if damage is not None:
        damage(path)
    whole = reduce_and_keep(path, 0, code_digest()).combine_chunks()
    shutil.rmtree(place_of(path).parent.parent, ignore_errors=True)
    shared = far(published(path, target))
    found = looked(shared, decoded(shared))
    with shared.files.records() as folder:
        assert not list(folder.glob(CAPTURES))
        assert reduce_and_keep(folder, 0, code_digest(), looked=found).combine_chunks() == whole


def test_a_published_capture_is_read_twice_and_never_fetched_whole(
    tmp_path: Path, target: Remote, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = published(trial_of(tmp_path), target)
    size = sum(one.bytes for one in files.captures)
    store.sent_bytes = 0
    shared = far(files)
    walk = store.sent_bytes
    decoded(shared)
    assert size <= walk <= size * 1.5, "what a range cuts is read again with the next"
    assert store.sent_bytes - walk <= size
    largest = max(one.bytes for one in files.captures)
    assert all(from_json(text).end - from_json(text).start < largest for one in shared.captures for text in one.ranges)
    fetched: list[str] = []
    monkeypatch.setattr(
        published_trial, "fetch", lambda _, some, *_more, **_named: fetched.extend(one.file for one in some)
    )
    with files.records(["published"]), files.records([]):
        assert sorted(fetched) == [MANIFEST, MANIFEST, "published.parquet"]


def _flipped(store: ObjectStore, name: str) -> None:
    content = store.objects[name]
    store.objects[name] = content[:-1] + bytes([content[-1] ^ 1])


def _unreachable(store: ObjectStore, name: str) -> None:
    store.faults = [Fault(kind=503, key=name.removeprefix("lab/"), times=99)]


HARMS = [_flipped, _unreachable]


@pytest.mark.parametrize("harm", HARMS)
def test_what_cannot_be_had_after_the_walk_is_for_one_task_to_try_again(
    tmp_path: Path, target: Remote, store: ObjectStore, harm: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("records.location._PAUSES_S", ())
    shared = far(published(trial_of(tmp_path), target))
    assert not looked(shared, decoded(shared)).of_the_machine
    assert isinstance(shared.files, PublishedTrial)
    harm(store, f"lab/runs/one/{shared.files.trial}/srv.pcap")
    found = looked(shared, decoded(shared))
    assert found.of_the_machine
    assert list(found.unread) == ["srv.pcap"]


@pytest.mark.parametrize("name", ["of_nobody.pcap", PACKED])
def test_a_published_trial_with_files_of_nobody_or_out_of_a_pack_is_one_tasks(
    tmp_path: Path, target: Remote, name: str
) -> None:
    files = published(trial_of(tmp_path), target)
    assert _Trial(files=files, code="", brief=False).draft(0, large_packets=1) is not None
    other = replace(files, listed=(*files.listed, Listed(file=name, bytes=1, sha256="0" * 64)))
    assert _Trial(files=other, code="", brief=False).draft(0, large_packets=1) is None


@pytest.mark.parametrize("harm", HARMS)
def test_a_published_capture_that_is_not_what_was_published_is_no_work_to_share(
    tmp_path: Path, target: Remote, store: ObjectStore, harm: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("records.location._PAUSES_S", ())
    files = published(trial_of(tmp_path), target)
    harm(store, f"lab/runs/one/{files.trial}/srv.pcap")
    first, second = walked_at(files)
    assert first is not None
    assert second is None
    drafted = draft(Trial(files.known), 0, files, capture_bytes=LARGE_PACKETS, large_packets=1)
    assert drafted is not None
    assert plan(drafted, [first, second]) is None
