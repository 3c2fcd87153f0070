"""Numbers in resets, which may be anything, move nothing else; nor do gaps in what was captured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pcap_files import ACK, RST, SYN, Segment, write
from piecewise import in_ranges
from random_tcp import random_conversations
from tshark_oracle import ours, tshark

from analysis.capture.reader import read_capture
from analysis.spark.captures import ordered, reduce_captures
from analysis.tcp.analysis import analyse
from analysis.tcp.flows import flow_table

_T0, _MS = 10**18, 10**6
_GB = 1 << 30
_COUNTED = ("new_bytes", "rtt_samples", "rtt_any_samples")
_SWEEP = [k * 0x30000000 % 2**32 for k in range(6)]


def data(seq: int, payload: int = 100, *, ack: int = 501, flags: int = ACK) -> Segment:
    return Segment(t_ns=0, seq=seq, ack=ack, payload=payload, flags=flags)


def answer(ack: int, *, flags: int = ACK, seq: int = 501) -> Segment:
    return data(seq, 0, ack=ack, flags=flags).back()


_HANDSHAKE = [data(100, 0, ack=0, flags=SYN), answer(101, flags=SYN | ACK, seq=500), data(101, 0)]
_FIRST = [*_HANDSHAKE, data(101), answer(201), data(201), answer(301)]
# Three more exchanges, and at last what was acknowledged long before is sent again.
_REST = [data(301), answer(401), data(401), answer(501), data(501), answer(601), data(101)]
_RESETS = {
    "far apart": [data(number, 0, ack=0, flags=RST) for number in (0x70000000, 0xA0000000)],
    "all around": [data(number, 0, ack=0, flags=RST) for number in _SWEEP],
    "acknowledge far apart": [answer(number, flags=RST | ACK) for number in (0x70000000, 0xA0000000)],
}


def timed(segments: Sequence[Segment]) -> list[Segment]:
    return [replace(one, t_ns=_T0 + k * _MS) for k, one in enumerate(segments)]


def counted(path: Path, segments: Sequence[Segment]) -> dict[str, list[int]]:
    analysis = analyse(read_capture(write(path, segments)).tcp)
    columns = flow_table(analysis, start_ns=0, end_ns=2**62).columns
    return {name: columns[name].tolist() for name in _COUNTED}


@pytest.mark.parametrize("case", list(_RESETS))
def test_resets_change_nothing_about_other_packets(tmp_path: Path, case: str) -> None:
    path = tmp_path / "a.pcap"
    segments = timed([*_FIRST, *_RESETS[case], *_REST])
    assert counted(path, segments) == {"new_bytes": [500, 0], "rtt_samples": [6, 1], "rtt_any_samples": [6, 1]}
    theirs = tshark(path)
    mine = ours(analyse(read_capture(path).tcp), theirs)
    assert mine.kinds == theirs.kinds
    assert mine.kinds["spurious"] == {len(segments) - 1}
    assert mine.rtt_s == pytest.approx(theirs.rtt_s, abs=2e-6)


def test_resets_at_random_places_leave_bytes_and_round_trips_as_they_are(tmp_path: Path) -> None:
    random, resets = Random(3), 0
    while resets < 150:
        segments = random_conversations(random, 1, unseen=False)
        calm = counted(tmp_path / "a.pcap", segments)
        disturbed = list(segments)
        for at in sorted(random.sample(range(4, max(len(segments), 7)), 3), reverse=True):  # behind the handshake
            like = segments[min(at, len(segments) - 1)]
            seq, ack = (number + random.randrange(2**20, 2**31 - 2**20) for number in (like.seq, like.ack))
            disturbed.insert(at, replace(like, seq=seq, ack=ack, payload=0, flags=random.choice([RST, RST | ACK])))
            resets += 1
        assert counted(tmp_path / "b.pcap", disturbed) == calm


def test_resets_are_the_same_in_parts(tmp_path: Path) -> None:
    random, path = Random(4), tmp_path / "a.pcap"
    for _ in range(60):
        segments = random_conversations(random, 1, unseen=random.random() < 0.5)
        for _ in range(random.randrange(1, 6)):
            at = random.randrange(len(segments))
            numbers = {"seq": random.getrandbits(32), "ack": random.choice([segments[at].ack, random.getrandbits(32)])}
            flags = random.choice([RST, RST | ACK])
            segments.insert(at, replace(segments[at], **numbers, payload=0, flags=flags))
        write(path, segments)
        whole = ordered(reduce_captures([path]))
        for long in (1, 5):
            assert in_ranges(path, 2000, buckets=1, long=long).equals(whole)


def test_a_reset_without_anything_else_in_its_flow_is_analysed(tmp_path: Path) -> None:
    sweep = [data(number, 0, flags=RST | ACK) for number in _SWEEP]
    for segments in (sweep, [*sweep, answer(7)], [answer(7), *sweep]):
        found = counted(tmp_path / "a.pcap", timed(segments))
        assert set(np.concatenate(list(found.values())).tolist()) == {0}


def test_acknowledgements_that_were_not_captured_for_two_gigabytes_move_none_behind_them(tmp_path: Path) -> None:
    start = 201 + 2 * _GB + 100
    jumps = [data(201 + k * _GB) for k in range(3)]
    after = [one for k in range(4) for one in (data(start + 100 * k), answer(start + 100 * (k + 1)))]
    path = write(tmp_path / "a.pcap", timed([*_HANDSHAKE, data(101), answer(201), *jumps, *after]))
    theirs = tshark(path)
    mine = ours(analyse(read_capture(path).tcp), theirs)
    assert len(mine.rtt_s) == 7
    assert mine.rtt_s == pytest.approx(theirs.rtt_s, abs=2e-6)


def test_acknowledgements_of_data_that_was_not_captured_for_two_gigabytes_stay_with_it(tmp_path: Path) -> None:
    start = 201 + 2 * _GB + 200_000_000
    answers = [answer(201 + k * _GB) for k in range(3)]
    after = [one for k in range(4) for one in (data(start + 100 * k), answer(start + 100 * (k + 1)))]
    path = write(tmp_path / "a.pcap", timed([*_FIRST[:5], *answers, answer(start), *after]))
    theirs = tshark(path)
    mine = ours(analyse(read_capture(path).tcp), theirs)
    assert mine.rtt_s == pytest.approx(theirs.rtt_s, abs=2e-6)
    assert mine.kinds["spurious"] == theirs.kinds["spurious"]
