"""Repetitions told apart, what was new, and time in loss recovery, on exchanges with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pcap_files import ACK, FIN, RST, SYN, Segment, write

from analysis.capture.reader import read_capture
from analysis.tcp.analysis import Analysis, analyse
from analysis.tcp.flows import flow_table
from analysis.tcp.series import covered_share, episodes_of, per_bin

T0 = 1_700_000_000_000_000_000
MS = 1_000_000


def analysed(folder: Path, segments: Sequence[Segment]) -> Analysis:
    return analyse(read_capture(write(folder / "a.pcap", segments)).packets)


def data(at_ms: float, seq: int, payload: int = 100, **more: int) -> Segment:
    return Segment(t_ns=T0 + int(at_ms * MS), seq=seq, payload=payload, **more)  # type: ignore[arg-type]


def answer(at_ms: float, ack: int, **more: int) -> Segment:
    return Segment(t_ns=0).back(t_ns=T0 + int(at_ms * MS), ack=ack, **more)


def sender(analysis: Analysis, *, start_ms: float = 0, end_ms: float = 10_000) -> dict[str, float]:
    """The row of the flow that sent most payload."""
    window = {"start_ns": T0 + int(start_ms * MS), "end_ns": T0 + int(end_ms * MS)}
    columns = flow_table(analysis, **window).columns
    row = int(np.argmax(np.bincount(analysis.flow, weights=analysis.stream.payload)))
    return {name: float(column[row]) for name, column in columns.items()}


LOSS = [
    data(0, 0), data(1, 100), data(2, 200), data(3, 300),
    answer(10, 100), answer(11, 100), answer(12, 100),
    data(20, 100), data(21, 400),
    answer(30, 400), answer(31, 500),
]  # fmt: skip


def test_recovery_lasts_until_what_had_been_sent_at_its_begin_is_acknowledged(tmp_path: Path) -> None:
    found = sender(analysed(tmp_path, LOSS))
    assert found["recovery_s"] == pytest.approx(0.010)
    assert (found["recoveries"], found["fast_retransmissions"]) == (1, 1)


def test_a_second_repetition_meanwhile_makes_recovery_no_longer(tmp_path: Path) -> None:
    exchange = [*LOSS[:-2], data(25, 200), data(26, 500), answer(30, 400), answer(60, 600)]
    assert sender(analysed(tmp_path, exchange))["recovery_s"] == pytest.approx(0.010)


def test_the_next_repetition_after_it_begins_another(tmp_path: Path) -> None:
    exchange = [*LOSS, data(40, 400), answer(45, 500), data(50, 500), data(70, 500), answer(80, 600)]
    found = sender(analysed(tmp_path, exchange))
    # The one at 40 ms is of what was acknowledged: nothing is recovered.  That at 70 ms is of what was not.
    assert found["spurious_retransmissions"] == 1
    assert (found["recoveries"], found["recovery_s"]) == (2, pytest.approx(0.020))


def test_recovery_without_an_answer_lasts_as_long_as_the_connection(tmp_path: Path) -> None:
    exchange = [data(0, 0), answer(5, 0), data(50, 0), answer(90, 0, window=9)]
    assert sender(analysed(tmp_path, exchange))["recovery_s"] == pytest.approx(0.040)


def test_only_the_part_of_recovery_inside_the_window_counts(tmp_path: Path) -> None:
    found = sender(analysed(tmp_path, LOSS), start_ms=24, end_ms=26)
    assert (found["recovery_s"], found["recoveries"]) == (pytest.approx(0.002), 0)


def test_an_overtaken_packet_is_new_and_begins_no_recovery(tmp_path: Path) -> None:
    found = sender(analysed(tmp_path, [data(0, 0), data(1, 200), data(1.5, 100), answer(9, 300)]))
    assert (found["out_of_order"], found["retransmissions"], found["recoveries"]) == (1, 0, 0)
    assert (found["payload_bytes"], found["new_bytes"]) == (300, 300)


def test_how_late_an_overtaken_packet_may_be_is_the_handshake_s_time(tmp_path: Path) -> None:
    hello = [data(0, 0, payload=0, flags=SYN), answer(1, 1, seq=700, flags=SYN | ACK), data(30, 1, payload=0, ack=701)]
    late = [data(40, 1), data(50, 201), data(60, 101)]
    assert sender(analysed(tmp_path, [*hello, *late]))["out_of_order"] == 1
    assert sender(analysed(tmp_path, late))["out_of_order"] == 0


def test_goodput_counts_each_byte_once(tmp_path: Path) -> None:
    exchange = [data(0, 0), data(10, 200), data(20, 50, payload=200), data(30, 0, payload=400), data(100, 400)]
    found = sender(analysed(tmp_path, exchange))
    assert (found["payload_bytes"], found["new_bytes"]) == (900, 500)
    assert found["active_s"] == pytest.approx(0.1)
    assert found["goodput_bit_s"] == pytest.approx(500 * 8 / 0.1)


def test_goodput_of_a_flow_that_began_before_the_window_counts_from_the_window_s_start(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 0), data(50, 100), data(60, 100), data(100, 200)])
    found = sender(analysis, start_ms=40, end_ms=80)
    assert (found["new_bytes"], found["active_s"]) == (100, pytest.approx(0.04))


def test_goodput_of_a_single_packet_is_unknown(tmp_path: Path) -> None:
    assert np.isnan(sender(analysed(tmp_path, [data(0, 0)]))["goodput_bit_s"])


def test_probes_of_a_closed_window_are_neither_new_nor_sent_again(tmp_path: Path) -> None:
    closed = [data(0, 0), answer(1, 100, window=0)]
    asked = [s for k in range(3) for s in (data(100 + k, 100, payload=1), answer(100.5 + k, 100, window=0))]
    reopened = [answer(200, 100), data(201, 100), answer(205, 200)]
    analysis = analysed(tmp_path, [*closed, *asked, *reopened])
    found = sender(analysis)
    assert (found["zero_window_probes"], found["zero_windows"]) == (3, 4)
    assert (found["retr_or_ooo"], found["new_bytes"]) == (0, 200)
    assert analysis.probes.probe_ack.sum() == 3


def test_a_probe_s_byte_that_was_taken_is_gone_on_from(tmp_path: Path) -> None:
    asked = [data(0, 0), answer(1, 100, window=0), data(100, 100, payload=1), answer(101, 101, window=0)]
    found = sender(analysed(tmp_path, [*asked, data(200, 101, payload=1), data(300, 101)]))
    assert (found["zero_window_probes"], found["retr_or_ooo"]) == (2, 0)


def test_keep_alives_and_their_answers_are_no_duplicates(tmp_path: Path) -> None:
    quiet = [s for k in range(3) for s in (data(100 * k + 50, 99, payload=0), answer(100 * k + 51, 100))]
    found = sender(analysed(tmp_path, [data(0, 0), answer(1, 100), *quiet]))
    assert (found["keep_alives"], found["duplicate_acks"]) == (3, 0)


def test_a_capture_may_begin_in_the_midst_of_a_connection_whose_ports_are_used_again(tmp_path: Path) -> None:
    old = [data(0, 5000), answer(1, 5100), data(2, 5100, payload=0, flags=RST | ACK)]
    new = [
        data(10, 70, payload=0, flags=SYN),
        answer(11, 71, flags=SYN | ACK),
        data(12, 71),
        data(13, 171, flags=FIN | ACK),
    ]
    analysis = analysed(tmp_path, [*old, *new])
    assert len(analysis.flows.key) == 4
    table = flow_table(analysis, start_ns=0, end_ns=2**62).columns
    assert sorted(table["new_bytes"].tolist()) == [0, 0, 100, 200]
    assert table["resets"].tolist().count(1) == 1
    assert not analysis.retr_or_ooo.any()


def test_seconds_count_the_chosen_flows_only(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, LOSS)
    chosen = analysis.flows.dport == 61613
    edges = T0 + np.array([0, 15, 25, 28, 40]) * MS
    found = per_bin(analysis, chosen, edges)
    assert found["packets"].tolist() == [4, 2, 0, 0]
    assert found["wire_bytes"].tolist() == [4 * 154, 2 * 154, 0, 0]
    assert found["retr_or_ooo"].tolist() == [0, 1, 0, 0]
    share = covered_share(episodes_of(analysis, chosen), edges)
    assert share.tolist() == pytest.approx([0, 0.5, 1, 2 / 12])
    assert not len(episodes_of(analysis, ~chosen))


def test_flows_of_ipv6_are_told_apart(tmp_path: Path) -> None:
    packets = read_capture(write(tmp_path / "a.pcap", [*LOSS, data(50, 0, sport=7), data(51, 100, sport=7)])).packets
    # Two addresses that differ in their highest bits only, as numbers that stand for IPv6 may.
    wide = {number: -(1 << 61) + (k << 58) for k, number in enumerate(np.unique(packets.src).tolist())}
    as_ipv6 = {name: np.array([wide[one] for one in getattr(packets, name).tolist()]) for name in ("src", "dst")}
    before, after = analyse(packets), analyse(replace(packets, **as_ipv6))
    assert len(after.flows.key) == len(before.flows.key) == 3
    assert sorted(after.stream.frame[after.retr_or_ooo]) == sorted(before.stream.frame[before.retr_or_ooo])
    assert set(after.flows.src.tolist()) == set(wide.values())


def test_numbers_that_lie_do_not_reach_into_other_flows(tmp_path: Path) -> None:
    lying = [data(k / 1000, k * (2**31 - 1), sport=9) for k in range(3000)]
    honest = [data(one.t_ns / MS - T0 / MS + 5000, one.seq, one.payload, sport=p) for p in (8, 10) for one in LOSS[:4]]
    analysis = analysed(tmp_path, [*lying, *honest, data(6000, 100, sport=8)])
    table = flow_table(analysis, start_ns=0, end_ns=2**62).columns
    ports = dict(zip(analysis.flows.sport.tolist(), range(3), strict=True))
    assert [table["new_bytes"][ports[port]] for port in (8, 10)] == [400, 400]
    assert [table["retr_or_ooo"][ports[port]] for port in (8, 10)] == [1, 0]
