"""The captures of a trial as rows: both directions, each from the side where its packets enter the medium."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from pcap_files import SERVER, STATION, Segment, segments_pcap
from synthetic_campaign import DRAINED, END, GO, OFFSET, START, Spec, write_campaign

from analysis.metrics import METRICS
from analysis.trial import reduce_trial

SECOND, MS = 10**9, 10**6
Rows = dict[str, list[tuple[str | None, str, float | None, float]]]


def stream(*, at_s: float, port: int, up: bool, again_ms: int | None, step_ms: int = 100) -> list[Segment]:
    """Ten segments from a second of the window on; the third is acknowledged late, and sent again when asked."""
    src, dst = (STATION, SERVER) if up else (SERVER, STATION)
    start = OFFSET + START + int(at_s * SECOND)
    found = []
    for number in range(10):
        one = Segment(
            t_ns=start + number * step_ms * MS, src=src, dst=dst, sport=port, dport=80, seq=number * 100, payload=100
        )
        found.append(one)
        if number != 2 or again_ms is None:
            found.append(one.back(t_ns=one.t_ns + 10 * MS, ack=(number + 1) * 100))
        else:
            repeated = Segment(t_ns=one.t_ns + 50 * MS, src=src, dst=dst, sport=port, dport=80, seq=200, payload=100)
            found += [repeated, one.back(t_ns=repeated.t_ns + again_ms * MS, ack=300)]
    return found


def reduced(folder: Path, captures: list[tuple[str, str, list[Segment]]]) -> Rows:
    made = [
        (node, side, segments_pcap(sorted(segments, key=lambda one: one.t_ns)), len(segments))
        for node, side, segments in captures
    ]
    spec = Spec(trials=1, bodies=(100,), networks=("wireline-100m",), captures=lambda _: made)
    batch = reduce_trial(next(write_campaign(folder, spec).glob("wireline*/trial-*")), 0)
    rows: Rows = defaultdict(list)
    for row in batch.to_pylist():
        rows[row["table"]].append((row["key"], row["metric"], row["t"], row["value"]))
    assert not rows["damage"]
    return rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    up = stream(at_s=2, port=1111, up=True, again_ms=40) + stream(at_s=2, port=1112, up=True, again_ms=None)
    down = stream(at_s=5, port=2222, up=False, again_ms=20)
    return reduced(tmp_path_factory.mktemp("trial"), [("sta1", "station", up + down), ("srv", "wired", up + down)])


def series(rows: Rows, metric: str) -> dict[float, float]:
    return {t: value for _, name, t, value in rows["second"] if name == metric and t is not None}


def test_seconds_tell_the_directions_apart(rows: Rows) -> None:
    length = (DRAINED - GO) / SECOND
    told = (("uplink", 2.5, 5.5, 21, 10, 0.04), ("downlink", 5.5, 2.5, 11, 20, 0.02))
    for direction, at, answered, packets, answers, recovery in told:
        found = series(rows, f"packets_per_s_{direction}")
        assert len(found) == length
        assert {t: value for t, value in found.items() if value} == {at: packets, answered: answers}
        assert series(rows, f"wire_bytes_per_s_{direction}")[at] == packets * 154
        assert {t: n for t, n in series(rows, f"retr_per_s_{direction}").items() if n} == {at: 1}
        share = {t: value for t, value in series(rows, f"recovery_{direction}").items() if value}
        assert share == {at: pytest.approx(recovery)}


def test_a_direction_s_recovery_weighs_flows_by_their_packets(rows: Rows) -> None:
    window_s = (END - START) / SECOND
    metrics = {name: value for _, name, _, value in rows["trial"]}
    assert metrics["recovery_share_uplink"] == pytest.approx(0.04 * 11 / 21 / window_s)
    assert metrics["recovery_share_downlink"] == pytest.approx(0.02 / window_s)
    assert metrics["retr_share_uplink"] == pytest.approx(1 / 21)
    assert {"recovery_share_uplink", "recovery_share_downlink"} <= set(METRICS)


def test_flow_rows_carry_every_column(rows: Rows) -> None:
    flows: dict[str | None, dict[str, float]] = defaultdict(dict)
    for key, name, _, value in rows["flow"]:
        flows[key][name] = value
    assert {"sta1:1111 → srv:80", "sta1:1112 → srv:80", "srv:2222 → sta1:80"} < set(flows)
    one = flows["sta1:1111 → srv:80"]
    assert (one["packets"], one["retransmissions"], one["new_bytes"]) == (11, 1, 1000)
    assert one["recovery_s"] == pytest.approx(0.04)
    assert one["goodput_bit_s"] == pytest.approx(8000 / 0.9)
    assert one["rtt_p99_s"] == pytest.approx(0.010)
    assert one["rtt_any_max_s"] == pytest.approx(0.090)


def test_a_trial_without_packets_has_seconds_of_nothing(tmp_path: Path) -> None:
    rows = reduced(tmp_path, [("sta1", "station", [])])
    assert set(series(rows, "recovery_uplink").values()) == {0.0}
    assert not series(rows, "recovery_downlink")
    assert "recovery_share_uplink" not in {name for _, name, _, _ in rows["trial"]}
