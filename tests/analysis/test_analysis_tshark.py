"""tshark as the oracle, on a real transfer through a lossy link and on crafted packets."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from lossy_link import capture_lossy_transfer
from pcap_files import ACK, FIN, SYN, Segment, write
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from analysis.capture.reader import read_capture
from analysis.capture.tcp import Analysis, analyse

_FIELDS = ("frame.number", "tcp.analysis.retransmission", "tcp.analysis.out_of_order", "tcp.analysis.duplicate_ack",
           "tcp.analysis.ack_rtt", "ip.src", "tcp.srcport", "tcp.ack_raw", "tcp.stream")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """tshark's findings by record number from 0."""

    retr_or_ooo: set[int]
    duplicate_ack: set[int]
    rtt_s: dict[int, float]
    repeated: set[int]  # acknowledges a number that its direction had acknowledged before


def tshark(path: Path) -> Oracle:
    command = ["tshark", "-r", str(path), "-T", "fields", *(part for field in _FIELDS for part in ("-e", field))]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    seen: set[tuple[str, ...]] = set()
    repeated = set()
    for row in rows:
        if tuple(row[5:]) in seen:
            repeated.add(int(row[0]) - 1)
        seen.add(tuple(row[5:]))
    return Oracle(
        retr_or_ooo={int(row[0]) - 1 for row in rows if row[1] or row[2]},
        duplicate_ack={int(row[0]) - 1 for row in rows if row[3]},
        rtt_s={int(row[0]) - 1: float(row[4]) for row in rows if row[4]},
        repeated=repeated,
    )


def ours(analysis: Analysis) -> Oracle:
    frames = analysis.packets.frame[analysis.order]
    return Oracle(
        retr_or_ooo=set(frames[analysis.retr_or_ooo].tolist()),
        duplicate_ack=set(frames[analysis.duplicate_ack].tolist()),
        rtt_s=dict(zip(analysis.rtt.frame.tolist(), (analysis.rtt.rtt_ns / 1e9).tolist(), strict=True)),
        repeated=set(),
    )


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lossy") / "lossy.pcap"
    return capture_lossy_transfer(path, size=1_500_000, streams=3, drop_every=29, rate="20mbit")


def test_a_lossy_transfer_has_the_same_retransmissions_as_in_tshark(lossy: Path) -> None:
    capture = read_capture(lossy)
    assert capture.damage is None
    mine, theirs = ours(analyse(capture.packets)), tshark(lossy)
    assert len(theirs.retr_or_ooo) > 20
    assert mine.retr_or_ooo == theirs.retr_or_ooo


def test_a_lossy_transfer_has_the_same_duplicate_acks_as_in_tshark(lossy: Path) -> None:
    mine, theirs = ours(analyse(read_capture(lossy).packets)), tshark(lossy)
    assert len(theirs.duplicate_ack) > 20
    assert len(mine.duplicate_ack ^ theirs.duplicate_ack) <= 0.003 * len(theirs.duplicate_ack) + 1


def test_round_trips_are_those_of_tshark_within_two_microseconds(lossy: Path) -> None:
    mine, theirs = ours(analyse(read_capture(lossy).packets)), tshark(lossy)
    assert len(theirs.rtt_s) > 300
    assert set(mine.rtt_s) <= set(theirs.rtt_s)
    # tshark also times an acknowledgement that says nothing new, from a needless retransmission; we do not.
    assert set(theirs.rtt_s) - set(mine.rtt_s) <= theirs.repeated
    assert all(abs(theirs.rtt_s[frame] - rtt) < 2e-6 for frame, rtt in mine.rtt_s.items())


def test_karn_leaves_a_shorter_mean_than_every_sample_together(lossy: Path) -> None:
    rtt = analyse(read_capture(lossy).packets).rtt
    assert 0 < rtt.karn.sum() < len(rtt.karn)
    assert rtt.rtt_ns[rtt.karn].mean() < rtt.rtt_ns.mean()


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
    mine, theirs = ours(analyse(read_capture(path).packets)), tshark(path)
    assert len(mine.retr_or_ooo) == 3
    assert mine.retr_or_ooo == theirs.retr_or_ooo
    assert mine.duplicate_ack == theirs.duplicate_ack
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
