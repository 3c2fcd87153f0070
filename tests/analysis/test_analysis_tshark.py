"""tshark as the oracle, on real transfers through lossy links and on crafted packets."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from lossy_link import Link, capture_lossy_transfer
from pcap_files import ACK, FIN, SYN, Segment, write
from random_tcp import random_conversations
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from tshark_oracle import NAMES, Oracle, ours, tshark

from analysis.capture.reader import read_capture
from analysis.tcp.analysis import analyse

pytestmark = pytest.mark.root

_TRANSFERS = {
    "losses in turn": (Link(), 1_500_000, 3),
    "random losses, no SACK": (Link(sack=False, scattered=True, drop_every=30), 1_000_000, 3),
    "seen by the receiver": (Link(side="receiver", scattered=True, drop_every=25), 1_000_000, 3),
    "overtaken packets": (Link(side="receiver", detour_every=23, drop_every=100), 1_000_000, 3),
    "slow reader": (Link(pause=0.8, drop_every=60), 1_500_000, 2),
    "lost handshakes": (Link(spare_handshake=False, scattered=True, drop_every=6, rate="10mbit"), 40_000, 15),
}
# What must be there for a comparison to say anything.
_LEAST = {
    "losses in turn": {"fast": 20, "duplicate_ack": 50},
    "random losses, no SACK": {"fast": 10, "duplicate_ack": 50},
    "seen by the receiver": {"fast": 10, "duplicate_ack": 50},
    "overtaken packets": {"out_of_order": 1, "spurious": 1},  # tshark: overtaken by 3 ms at most
    "slow reader": {"zero_window": 2, "keep_alive": 2},
    "lost handshakes": {"retransmission": 10},
}
_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossy:
    """A transfer that lost packets, and what is found in its capture.  name: of _TRANSFERS."""

    name: str
    path: Path
    mine: Oracle
    theirs: Oracle


@pytest.fixture(scope="module", params=list(_TRANSFERS))
def lossy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lossy:
    """A transfer that happens to have too little of what it is for is made again: how much depends on the machine.

    So is one in which a packet was lost so often that TCP waits for a minute.
    """
    link, size, streams = _TRANSFERS[request.param]
    path = tmp_path_factory.mktemp("lossy") / "lossy.pcap"
    for _ in range(_TRIES):
        with suppress(subprocess.TimeoutExpired):
            capture_lossy_transfer(path, size=size, streams=streams, link=link)
        theirs = tshark(path)
        if all(len(theirs.kinds[kind]) >= least for kind, least in _LEAST[request.param].items()):
            break
    return Lossy(name=request.param, path=path, mine=mine_of(path, theirs), theirs=theirs)


def compared(path: Path) -> tuple[Oracle, Oracle]:
    theirs = tshark(path)
    return mine_of(path, theirs), theirs


def mine_of(path: Path, theirs: Oracle) -> Oracle:
    capture = read_capture(path)
    assert capture.damage is None
    return ours(analyse(capture.packets), theirs)


def test_a_lossy_transfer_reads_as_in_tshark(lossy: Lossy) -> None:
    mine, theirs = lossy.mine, lossy.theirs
    for kind, least in _LEAST[lossy.name].items():
        assert len(theirs.kinds[kind]) >= least, kind
    assert mine.again == theirs.again
    for kind in NAMES:
        assert mine.sighted(kind) == theirs.sighted(kind), kind
    for kind in ("spurious", "duplicate_ack", "keep_alive", "zero_window", "probe"):
        assert mine.kinds[kind] == theirs.kinds[kind], kind


def test_round_trips_are_those_of_tshark_within_two_microseconds(lossy: Lossy) -> None:
    mine, theirs = lossy.mine, lossy.theirs
    assert len(theirs.rtt_s) > 100
    # tshark takes the empty field of a repeated SYN for an acknowledgement of number 0, by which it may forget
    # the SYN-ACK that is on its way.
    shared = set(mine.rtt_s) | set(theirs.rtt_s)
    if lossy.name == "lost handshakes":
        shared -= answers_to_repeated_handshakes(lossy.path)
    assert all(abs(theirs.rtt_s[frame] - mine.rtt_s[frame]) < 2e-6 for frame in shared)


def answers_to_repeated_handshakes(path: Path) -> set[int]:
    """Frames of the packets that end a handshake whose SYN was sent again after its SYN-ACK."""
    packets = read_capture(path).packets
    state: dict[frozenset[tuple[int, int]], str] = {}
    found = set()
    for row, flags in enumerate(packets.flags.tolist()):
        ends = frozenset({(int(packets.src[row]), int(packets.sport[row])),
                          (int(packets.dst[row]), int(packets.dport[row]))})  # fmt: skip
        step, before = flags & (SYN | ACK), state.get(ends, "")
        if step == SYN | ACK:
            state[ends] = before if before == "again" else "answered"
        elif step == SYN and before:
            state[ends] = "again"
        elif step == ACK and before:
            found |= {int(packets.frame[row])} if before == "again" else set()
            state.pop(ends)
    return found


def test_karn_leaves_a_shorter_mean_than_every_sample_together(lossy: Lossy) -> None:
    rtt = analyse(read_capture(lossy.path).packets).rtt
    assert 0 < rtt.karn.sum() < len(rtt.karn)
    if lossy.name in ("losses in turn", "seen by the receiver"):  # a stalled reader answers late what was sent once
        assert rtt.rtt_ns[rtt.karn].mean() < rtt.rtt_ns.mean()


@pytest.mark.parametrize("unseen", [False, True])
def test_random_conversations_read_as_in_tshark(tmp_path: Path, unseen: bool) -> None:
    path = write(tmp_path / "random.pcap", random_conversations(Random(4), 1000, unseen=unseen))
    mine, theirs = compared(path)
    assert mine.again == theirs.again
    for kind in NAMES:
        assert len(theirs.kinds[kind]) >= 5, kind
        assert mine.sighted(kind) == theirs.sighted(kind), kind
    for kind in ("spurious", "zero_window"):
        assert mine.kinds[kind] == theirs.kinds[kind], kind
    assert len(theirs.rtt_s) > 1000
    assert mine.rtt_s == pytest.approx(theirs.rtt_s, abs=2e-9)


def test_a_wrapping_conversation_reads_as_in_tshark(tmp_path: Path) -> None:
    start, ms = 2**32 - 5000, 1_000_000
    open_, other = Segment(t_ns=0, seq=start - 1, flags=SYN), 77
    exchange = [open_, open_.back(t_ns=ms, seq=other - 1, ack=start, flags=SYN | ACK)]
    exchange.append(Segment(t_ns=2 * ms, seq=start, ack=other))
    for k in range(20):
        at = (3 + 10 * k) * ms
        segment = Segment(t_ns=at, seq=start + 1000 * k, ack=other, payload=1000)
        exchange.append(segment)
        if k % 6 == 5:
            exchange.append(Segment(t_ns=at + 4 * ms, seq=segment.seq, ack=other, payload=1000))
        exchange.append(segment.back(t_ns=at + 7 * ms, seq=other, ack=start + 1000 * (k + 1), window=600 + k))
    exchange.append(Segment(t_ns=300 * ms, seq=start + 20_000, ack=other, flags=FIN | ACK))
    path = write(tmp_path / "wrap.pcap", exchange)
    mine, theirs = compared(path)
    assert len(mine.again) == 3
    assert mine.kinds == theirs.kinds
    assert mine.rtt_s == pytest.approx(theirs.rtt_s, abs=2e-6)


def test_packets_made_by_scapy_are_read_as_scapy_meant_them(tmp_path: Path) -> None:
    path = tmp_path / "scapy.pcap"
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    packets = [ether / IP(src="10.1.2.3", dst="10.9.8.7") / TCP(
        sport=1234, dport=80, seq=k * 7, ack=5, flags="PA", window=99, options=[("NOP", None)] * 4) / bytes(k)
        for k in range(50)]  # fmt: skip
    wrpcap(str(path), [*packets, ether / IP() / UDP()], nano=True)
    capture = read_capture(path)
    tcp = capture.packets.select(capture.packets.protocol == 6)
    assert (len(capture.packets), capture.others) == (51, {})
    assert tcp.payload.tolist() == list(range(50))
    assert tcp.seq.tolist() == [k * 7 for k in range(50)]
    assert tcp.wire.tolist() == [len(packet) for packet in packets]
