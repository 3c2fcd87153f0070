"""A large trial is looked at by several tasks, each at some of its connections, and gives the rows that one would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pcap_files import SERVER, STATION, Segment, segments_pcap
from synthetic_campaign import OFFSET, START, Spec, write_campaign

from analysis.large import parts, pieces
from analysis.large.plan import LARGE_PACKETS, TrialPlan, plan
from analysis.looked import Looked
from analysis.trial import reduce_trial
from records.store import MANIFEST, Trial, trials, write_record

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


def trial_of(folder: Path, seed: int = 1) -> Path:
    segments = conversations(seed)
    made = [
        (node, side, segments_pcap(segments), len(segments)) for node, side in (("sta1", "station"), ("srv", "wired"))
    ]
    campaign = write_campaign(folder, Spec(trials=1, captures=lambda _: made))
    return next(trial.path for trial in trials(campaign))


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trial_of(tmp_path_factory.mktemp("trial"))


def planned(path: Path, buckets: int = 3) -> TrialPlan:
    found = plan(path, 0, large_packets=1, range_bytes=RANGE_BYTES)
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
    assert plan(trial, 0) is None
    assert plan(tmp_path, 0, large_packets=1) is None
    assert LARGE_PACKETS > 1
