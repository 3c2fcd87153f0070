from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pcap_files import ACK, FIN, RST, SYN, Segment, write
from random_tcp import random_conversations
from slow_tcp import analyse_slowly
from tshark_oracle import kinds_of

from analysis.capture.reader import read_capture
from analysis.tcp.analysis import Analysis, analyse
from analysis.tcp.flows import flow_table

T0 = 1_700_000_000_000_000_000
MS = 1_000_000
SUMMED = (
    "packets", "wire_bytes", "payload_bytes", "new_bytes", "data_packets", "retransmissions", "out_of_order",
    "keep_alives", "resets", "duplicate_acks", "zero_windows", "recovery_s", "recoveries", "rtt_any_samples",
)  # fmt: skip
FOREVER = {"start_ns": 0, "end_ns": 2**62}


def analysed(folder: Path, segments: Sequence[Segment]) -> Analysis:
    return analyse(read_capture(write(folder / "a.pcap", segments)).packets)


def frames(analysis: Analysis, mask: np.ndarray) -> list[int]:
    return sorted(analysis.packets.frame[analysis.order][mask].tolist())


def data(at_ms: float, seq: int, payload: int = 100, **more: int) -> Segment:
    return Segment(t_ns=T0 + int(at_ms * MS), seq=seq, payload=payload, **more)  # type: ignore[arg-type]


def answer(at_ms: float, ack: int, **more: int) -> Segment:
    return Segment(t_ns=0).back(t_ns=T0 + int(at_ms * MS), ack=ack, **more)


def test_a_segment_sent_twice_is_counted_once_as_retransmitted(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 0), data(1, 100), data(2, 0), data(3, 200)])
    assert frames(analysis, analysis.retr_or_ooo) == [2]
    table = flow_table(analysis, **FOREVER).columns
    assert (table["packets"].tolist(), table["retr_or_ooo"].tolist()) == ([4], [1])
    assert (table["payload_bytes"].tolist(), table["wire_bytes"].tolist()) == ([400], [400 + 4 * 54])


def test_an_overtaken_segment_is_retr_or_ooo(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 0), data(1, 200), data(2, 100), data(3, 300)])
    assert frames(analysis, analysis.retr_or_ooo) == [2]


def test_sequence_numbers_may_wrap(tmp_path: Path) -> None:
    start = 2**32 - 150
    sent = [data(k, start + 100 * k) for k in range(4)]
    analysis = analysed(tmp_path, [*sent, data(5, start + 100), answer(6, start + 400)])
    assert frames(analysis, analysis.retr_or_ooo) == [4]
    assert analysis.rtt.rtt_ns.tolist() == [3 * MS]
    assert analysis.rtt.karn.tolist() == [False]


def test_flows_longer_than_four_gigabytes_keep_their_order(tmp_path: Path) -> None:
    step = 2**30
    exchange = [s for k in range(10) for s in (data(10 * k, k * step), answer(10 * k + 4, k * step + 100))]
    analysis = analysed(tmp_path, [*exchange, data(200, 9 * step)])
    assert frames(analysis, analysis.retr_or_ooo) == [20]
    assert analysis.rtt.rtt_ns.tolist() == [4 * MS] * 10


def test_a_keep_alive_is_not_a_retransmission(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 0), data(1, 99, payload=1), data(2, 99, payload=0)])
    assert not analysis.retr_or_ooo.any()


def test_the_number_in_a_reset_counts_for_nothing(tmp_path: Path) -> None:
    reset = data(1, 5_000_000, payload=0, flags=RST)
    analysis = analysed(tmp_path, [data(0, 0), reset, data(2, 100)])
    assert not analysis.retr_or_ooo.any()


def test_three_duplicate_acks_are_three(tmp_path: Path) -> None:
    acks = [answer(k, 100) for k in range(1, 5)]
    analysis = analysed(tmp_path, [data(0, 0), *acks, answer(6, 100, window=9), answer(7, 200)])
    assert frames(analysis, analysis.duplicate_ack) == [2, 3, 4]
    table = flow_table(analysis, **FOREVER).columns
    sender = int(np.argmax(table["payload_bytes"]))
    assert table["duplicate_acks"][sender] == 3
    assert table["duplicate_acks"].sum() == 3


def test_karn_leaves_out_what_a_retransmission_makes_ambiguous(tmp_path: Path) -> None:
    exchange = [
        data(0, 0), data(1, 100), data(2, 200),
        answer(10, 100),
        data(12, 100),  # the second is lost and sent again
        answer(22, 300),  # covers it, and the third, whose time says nothing either
        data(23, 300), answer(33, 400),
    ]  # fmt: skip
    analysis = analysed(tmp_path, exchange)
    assert analysis.rtt.rtt_ns.tolist() == [10 * MS, 20 * MS, 10 * MS]
    assert analysis.rtt.karn.tolist() == [True, False, True]
    table = flow_table(analysis, **FOREVER).columns
    sender = int(np.argmax(table["payload_bytes"]))
    assert table["rtt_samples"][sender] == 2
    assert table["rtt_mean_s"][sender] == pytest.approx(0.010)
    assert table["rtt_any_samples"][sender] == 3
    assert table["rtt_any_mean_s"][sender] == pytest.approx(0.040 / 3)


def test_a_needless_retransmission_after_its_acknowledgement_spoils_nothing(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 0), answer(5, 100), data(6, 0), data(7, 100), answer(12, 200)])
    assert analysis.rtt.karn.tolist() == [True, True]


def test_percentiles_of_round_trips_interpolate_linearly(tmp_path: Path) -> None:
    times = [10, 20, 30, 40]
    exchange = [
        s for k, rtt in enumerate(times) for s in (data(100 * k, 100 * k), answer(100 * k + rtt, 100 * k + 100))
    ]
    table = flow_table(analysed(tmp_path, exchange), **FOREVER).columns
    sender = int(np.argmax(table["payload_bytes"]))
    expected = np.quantile(np.array(times) / 1e3, [0.5, 0.95])
    assert [table["rtt_p50_s"][sender], table["rtt_p95_s"][sender]] == pytest.approx(expected)
    assert np.isnan(table["rtt_p50_s"][1 - sender])


def test_only_the_window_counts_though_the_whole_capture_is_known(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 0), data(10, 0), data(20, 100), answer(25, 200)])
    table = flow_table(analysis, start_ns=T0 + 5 * MS, end_ns=T0 + 20 * MS).columns
    sender = int(np.argmax(table["payload_bytes"]))
    assert table["packets"][sender] == table["retr_or_ooo"][sender] == 1
    assert table["rtt_any_samples"].sum() == 0


def test_ports_used_again_are_another_flow(tmp_path: Path) -> None:
    def connection(at: float, first: int) -> list[Segment]:
        return [data(at, first, payload=0, flags=SYN), data(at + 1, first + 1), data(at + 2, first + 101, payload=0,
                flags=FIN | ACK)]  # fmt: skip

    analysis = analysed(tmp_path, [*connection(0, 9_000_000), *connection(50, 4_000)])
    assert len(analysis.flows.key) == 2
    assert not analysis.retr_or_ooo.any()


def test_a_syn_sent_twice_is_the_same_flow(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [data(0, 50, payload=0, flags=SYN), data(9, 50, payload=0, flags=SYN), data(10, 51)])
    assert len(analysis.flows.key) == 1
    assert frames(analysis, analysis.retr_or_ooo) == [1]


def test_nothing_at_all_is_analysed_without_complaint(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [])
    assert len(flow_table(analysis, **FOREVER)) == 0


@st.composite
def conversations(draw: st.DrawFn) -> list[Segment]:
    """Segments of up to three connections in any order: any numbers in a small range, near a wrap or not."""
    count = draw(st.integers(1, 3))
    bases = [draw(st.sampled_from([1000, 2**32 - 300, 2**31 - 200])) for _ in range(2 * count)]
    segments = []
    for number in range(draw(st.integers(1, 40))):
        which, back = draw(st.integers(0, count - 1)), draw(st.booleans())
        mine, other = bases[2 * which + back], bases[2 * which + (not back)]
        segment = Segment(
            t_ns=T0 + number * MS,
            sport=1000 + which,
            seq=mine + draw(st.integers(0, 12)) * 50,
            ack=other + draw(st.integers(0, 14)) * 50,
            payload=draw(st.sampled_from([0, 0, 1, 50, 100])),
            window=draw(st.sampled_from([0, 7, 8])),
            flags=draw(st.sampled_from([ACK, ACK, ACK, ACK, ACK | FIN, ACK | RST, SYN | ACK])),
        )
        swapped = segment.back(seq=segment.seq, ack=segment.ack, payload=segment.payload)
        segments.append(swapped if back else segment)
    return segments


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(segments=conversations())
def test_arrays_and_a_loop_over_packets_agree(tmp_path: Path, segments: list[Segment]) -> None:
    assert_agrees_with_the_loop(tmp_path, segments)


@pytest.mark.parametrize("unseen", [False, True])
def test_arrays_and_a_loop_agree_on_long_conversations(tmp_path: Path, unseen: bool) -> None:
    assert_agrees_with_the_loop(tmp_path, random_conversations(Random(11), 1000, unseen=unseen))


def assert_agrees_with_the_loop(folder: Path, segments: list[Segment]) -> None:
    analysis, slow = analysed(folder, segments), analyse_slowly(segments)
    for kind, found in kinds_of(analysis).items():
        assert found == slow.kinds[kind], kind
    rows = zip(analysis.rtt.frame, analysis.rtt.rtt_ns, analysis.rtt.karn, strict=True)
    assert {int(frame): (int(ns), bool(karn)) for frame, ns, karn in rows} == slow.rtt
    new = dict(zip(analysis.stream.frame.tolist(), analysis.new.tolist(), strict=True))
    assert new == {frame: slow.new.get(frame, 0) for frame in range(len(segments))}
    assert episodes(analysis) == {ends: each for ends, each in slow.episodes.items() if each}


def episodes(analysis: Analysis) -> dict[tuple[tuple[str, int], tuple[str, int]], list[tuple[int, int]]]:
    found: dict[tuple[tuple[str, int], tuple[str, int]], list[tuple[int, int]]] = {}
    flows, episode = analysis.flows, analysis.recovery
    for flow, start, end in zip(episode.flow.tolist(), episode.start_ns.tolist(), episode.end_ns.tolist(), strict=True):
        ends = [(flows.src, flows.sport), (flows.dst, flows.dport)]
        a, b = ((str(IPv4Address(int(address[flow]))), int(port[flow])) for address, port in ends)
        found.setdefault((a, b), []).append((start, end))
    return found


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(segments=conversations(), low=st.integers(0, 45), length=st.integers(1, 45))
def test_what_a_flow_table_says_fits_together(tmp_path: Path, segments: list[Segment], low: int, length: int) -> None:
    analysis = analysed(tmp_path, segments)
    start, cut, end = T0 + low * MS, T0 + (low + length // 2) * MS, T0 + (low + length) * MS
    whole, first, second = (
        flow_table(analysis, start_ns=a, end_ns=b).columns for a, b in ((start, end), (start, cut), (cut, end))
    )
    for name in SUMMED:
        assert whole[name] == pytest.approx(first[name] + second[name]), name
    assert (whole["new_bytes"] <= whole["payload_bytes"]).all()
    assert (whole["recovery_s"] <= length / 1e3 + 1e-9).all()
    assert (whole["active_s"] <= length / 1e3).all()
    assert (whole["retr_or_ooo"] <= whole["data_packets"]).all()
    assert (whole["fast_retransmissions"] + whole["spurious_retransmissions"] <= whole["retransmissions"]).all()
    assert (whole["rtt_samples"] <= whole["rtt_any_samples"]).all()
    some = whole["rtt_samples"] > 0
    order = [whole[f"rtt_{name}_s"][some] for name in ("p50", "p95", "p99", "max")]
    assert all((a <= b).all() for a, b in pairwise(order))
