"""A connection that is analysed in parts has the figures that it has when it is analysed at once."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pcap_files import segments_pcap
from piecewise import in_ranges
from random_tcp import random_conversations

from analysis.capture.columns import NAMES, TYPES, Packets
from analysis.spark.captures import ordered, reduce_captures
from analysis.tcp.analysis import analyse
from analysis.tcp.connections import ACK, Flows
from analysis.tcp.flows import flow_table, table_of_parts
from analysis.tcp.parts import analysed

MANY = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@MANY
@given(seed=st.integers(0, 2**32), one_way=st.booleans(), long=st.integers(1, 12), range_bytes=st.integers(200, 4000))
def test_a_capture_of_long_connections_has_the_same_rows(
    tmp_path: Path, seed: int, one_way: bool, long: int, range_bytes: int
) -> None:
    random = Random(seed)
    segments = random_conversations(random, random.choice([1, 1, 2, 3]), unseen=random.random() < 0.5)
    if one_way:  # as where the capture has only one direction
        segments = [one for one in segments if one.dport == segments[0].dport]
    path = tmp_path / "a.pcap"
    path.write_bytes(segments_pcap(segments))
    whole = reduce_captures([path])
    parted = in_ranges(path, range_bytes, buckets=random.choice([1, 2]), long=long)
    assert parted.equals(ordered(whole))


def bulk(packets: int, *, window: int, lost_every: int) -> Packets:
    """Two segments, one acknowledgement, again and again, beyond what 32 bits count; some are lost and come later."""
    number = np.arange(packets)
    answers = number % 3 == 2
    sent = np.cumsum(~answers)
    columns = {name: np.zeros(packets, dtype=TYPES[name]) for name in NAMES}
    late = (sent % lost_every == 0) & ~answers & (sent > 2 * lost_every)
    begin = np.where(late, sent - 1 - lost_every // 4, sent - 1) * 60_000
    columns["frame"][:] = number
    columns["t_ns"][:] = 10**18 + number * 10_000
    columns["payload"][:] = np.where(answers, 0, 60_000)
    columns["wire"][:] = columns["payload"] + 66
    columns["seq"][:] = np.where(answers, 5, (begin + 7) & 0xFFFFFFFF)
    columns["ack"][:] = np.where(answers, (np.maximum(sent - window, 0) * 60_000 + 7) & 0xFFFFFFFF, 5)
    columns["window"][:] = 900
    columns["flags"][:] = ACK
    return Packets(**columns)


@pytest.mark.parametrize("lost_every", [97, 10**6])
def test_a_bulk_transfer_keeps_little_from_part_to_part(lost_every: int) -> None:
    packets = bulk(300_000, window=40, lost_every=lost_every)
    one = np.ones(2, dtype=np.int64)
    flows = Flows(key=np.arange(2), src=one, dst=one, sport=one, dport=one, reverse=np.array([1, 0]))
    flow = (packets.payload == 0).astype(np.int64)
    span = {"start_ns": 0, "end_ns": 2 * 10**18}
    parts = list(analysed(packets, flows, flow, most=20_000))
    assert len(parts) == 15
    assert max(len(one.analysis.packets) for one in parts) < 21_000
    parted = table_of_parts(parts, **span).columns
    ends = {"src": np.where(flow == 0, 1, 2), "dst": np.where(flow == 0, 2, 1)}
    whole = flow_table(analyse(Packets(**{name: getattr(packets, name) for name in NAMES} | ends)), **span).columns
    assert whole["rtt_samples"].sum() > 1000
    assert parted.keys() == whole.keys()
    for name, column in whole.items():
        np.testing.assert_array_equal(parted[name], column, err_msg=name)
