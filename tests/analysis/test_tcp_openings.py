"""Where connections between the same two ports begin, held against a plain loop and against tshark."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pcap_files import ACK, FIN, RST, SERVER, STATION, SYN, Segment, write
from piecewise import in_ranges
from tshark_oracle import ours, tshark

from analysis.capture.columns import Packets
from analysis.capture.reader import read_capture
from analysis.spark.captures import ordered, reduce_captures
from analysis.tcp.analysis import analyse
from analysis.tcp.connections import connection_starts, find_flows

_NUMBERS = (100, 100, 100, 7000, 0, 2**32 - 1)
_PORT = 40_000


def there(seq: int, flags: int, *, ack: int = 0, payload: int = 0) -> Segment:
    return Segment(t_ns=0, seq=seq, ack=ack, flags=flags, payload=payload)


def back(seq: int, flags: int, *, ack: int = 0, payload: int = 0) -> Segment:
    return there(seq, flags, ack=ack).back(payload=payload)


_TRANSFER = [there(101, ACK, ack=501, payload=10), back(501, ACK, ack=111)]
_ONE_CONNECTION = {
    "the answer is captured before the SYN": [
        back(500, SYN | ACK, ack=101), there(100, SYN), there(101, ACK, ack=501), *_TRANSFER,
    ],
    "both sides open": [
        there(100, SYN), back(500, SYN), there(100, SYN | ACK, ack=501), back(500, SYN | ACK, ack=101), *_TRANSFER,
    ],
    "both sides open, twice": [
        there(100, SYN), back(500, SYN), there(100, SYN), back(500, SYN), there(100, SYN | ACK, ack=501),
        back(500, SYN | ACK, ack=101), *_TRANSFER,
    ],
    "a SYN in the midst of what it began": [*_TRANSFER, there(100, SYN), back(501, ACK, ack=111)],
}  # fmt: skip


def timed(segments: list[Segment]) -> list[Segment]:
    return [Segment(**{**vars_of(one), "t_ns": 10**18 + k * 10**6}) for k, one in enumerate(segments)]


def vars_of(one: Segment) -> dict[str, object]:
    return {name: getattr(one, name) for name in Segment.__slots__}


def read(folder: Path, segments: list[Segment]) -> Packets:
    return read_capture(write(folder / "a.pcap", timed(segments))).tcp


def connections(packets: Packets) -> list[int]:
    """Number of each packet's connection, by the first packet."""
    flows, flow = find_flows(packets)
    return numbered((flows.key[flow] >> 1).tolist())


def numbered(names: list[int] | list[str]) -> list[int]:
    found: dict[object, int] = {}
    return [found.setdefault(name, len(found)) for name in names]


def slowly(packets: Packets) -> list[int]:
    """The same by the rule as it reads, packet by packet."""
    current: dict[frozenset[tuple[int, int]], int] = {}
    begun: dict[int, dict[tuple[int, int], int]] = {}
    found = []
    for row in range(len(packets)):
        source, target = (packets.src[row], packets.sport[row]), (packets.dst[row], packets.dport[row])
        pair, flags, seq = frozenset((source, target)), int(packets.flags[row]), int(packets.seq[row])
        known = begun[current[pair]].get(source) if pair in current else None
        if pair not in current or (flags & (SYN | ACK) == SYN and known is not None and known != seq):
            current[pair] = len(begun)
            begun[len(begun)] = {}
        mine = begun[current[pair]]
        if flags & SYN:
            mine[source] = seq
        mine.setdefault(source, (seq - 1) % 2**32)
        if flags & ACK:
            mine.setdefault(target, (int(packets.ack[row]) - 1) % 2**32)
        found.append(current[pair])
    return found


def random_segments(random: Random) -> list[Segment]:
    """SYNs of few numbers by both sides, among everything else."""
    made = []
    for _ in range(random.randrange(2, 14)):
        kinds = [SYN] * 10 + [SYN | ACK] * 3 + [RST, RST | ACK, FIN | ACK, SYN | FIN, 0] + [ACK] * 6
        flags, port = random.choice(kinds), _PORT + (random.random() < 0.25)
        seq, ack = random.choice(_NUMBERS) + (not flags & SYN), random.choice(_NUMBERS) + random.randrange(2)
        one = Segment(t_ns=0, sport=port, seq=seq, ack=ack, flags=flags, payload=5 * (flags == ACK))
        made.append(one if random.random() < 0.5 else one.back(payload=one.payload))
    return made


@pytest.mark.parametrize("case", list(_ONE_CONNECTION))
def test_one_connection_stays_one(tmp_path: Path, case: str) -> None:
    packets = read(tmp_path, _ONE_CONNECTION[case])
    assert connections(packets) == [0] * len(packets)
    assert connection_starts(packets, packets.sport != _PORT) == [0]
    theirs = tshark(tmp_path / "a.pcap")
    assert numbered(theirs.stream) == [0] * len(packets)
    mine = ours(analyse(packets), theirs)
    assert mine.kinds == theirs.kinds
    assert mine.rtt_s == pytest.approx(theirs.rtt_s, abs=2e-6)


def test_connections_begin_where_a_loop_over_packets_has_them_begin(tmp_path: Path) -> None:
    random, several = Random(5), 0
    for _ in range(600):
        packets = read(tmp_path, random_segments(random))
        expected = slowly(packets)
        assert connections(packets) == expected
        several += max(expected) > 1
        one = packets.select((packets.sport == _PORT) | (packets.dport == _PORT))
        if len(one):
            alone = slowly(one)
            starts = [0, *(row for row in range(1, len(one)) if alone[row] not in alone[:row])]
            assert connection_starts(one, one.sport != _PORT) == starts
    assert several > 200


def test_random_openings_are_connections_as_in_tshark(tmp_path: Path) -> None:
    random = Random(6)
    segments: list[Segment] = []
    for port in range(200):  # conversations of their own in one file: tshark is started once
        for one in random_segments(random):
            ends = {"src": STATION, "dst": SERVER} if one.src == STATION else {"src": SERVER, "dst": STATION}
            more = {"sport": 1000 + port} if one.src == STATION else {"dport": 1000 + port}
            segments.append(Segment(**{**vars_of(one), **ends, **more}))
    packets = read(tmp_path, segments)
    assert connections(packets) == numbered(tshark(tmp_path / "a.pcap").stream)


def test_ranges_and_parts_begin_connections_at_the_same_packets(tmp_path: Path) -> None:
    random, path = Random(7), tmp_path / "a.pcap"
    for _ in range(40):
        write(path, timed([one for case in _ONE_CONNECTION.values() for one in case] + random_segments(random)))
        whole = ordered(reduce_captures([path]))
        for long in (1, 4):
            assert in_ranges(path, random.choice((300, 900)), buckets=2, long=long).equals(whole)
