from __future__ import annotations

import struct
import subprocess
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pcap_files import ACK, SERVER, STATION, Segment, address, frame, pcap, pcapng, segments_pcap, write

from analysis.capture import lockstep as chains
from analysis.capture import scan as scanning
from analysis.capture.format import NotACapture
from analysis.capture.framing import walk
from analysis.capture.pcap import PcapFraming
from analysis.capture.ranges import index
from analysis.capture.reader import read_capture
from analysis.capture.scan import scan

T0 = 1_700_000_000_123_456_000


def some_segments(count: int = 20) -> list[Segment]:
    return [Segment(t_ns=T0 + k * 1_000_000, seq=k * 100, ack=7, payload=100 + k, window=k) for k in range(count)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [True, False])
def test_all_four_variants_of_the_format_give_the_same_packets(tmp_path: Path, order: str, nano: bool) -> None:
    segments = some_segments()
    capture = read_capture(write(tmp_path / "a.pcap", segments, order=order, nano=nano))
    packets = capture.packets
    assert (capture.records, capture.damage, capture.others) == (20, None, {})
    assert packets.t_ns.tolist() == [s.t_ns for s in segments]
    assert packets.seq.tolist() == [s.seq for s in segments]
    assert packets.payload.tolist() == [s.payload for s in segments]
    assert packets.wire.tolist() == [s.payload + 54 for s in segments]
    assert packets.window.tolist() == [s.window for s in segments]
    assert set(packets.src.tolist()) == {int.from_bytes(address(STATION))}
    assert set(packets.dst.tolist()) == {int.from_bytes(address(SERVER))}
    assert set(packets.sport.tolist()) == {40000}
    assert set(packets.dport.tolist()) == {61613}


def test_a_capture_cut_by_its_snap_length_still_knows_the_payload(tmp_path: Path) -> None:
    capture = read_capture(write(tmp_path / "a.pcap", some_segments(), snap=60))
    assert capture.packets.payload.tolist() == [100 + k for k in range(20)]


def test_ip_options_do_not_shift_the_tcp_header(tmp_path: Path) -> None:
    segments = [Segment(t_ns=T0, seq=5, payload=9), Segment(t_ns=T0 + 1, seq=1234, ack=99, payload=3, ip_options=3)]
    packets = read_capture(write(tmp_path / "a.pcap", segments)).packets
    assert (packets.seq.tolist(), packets.ack.tolist(), packets.payload.tolist()) == ([5, 1234], [0, 99], [9, 3])


def test_what_is_not_tcp_is_counted_and_never_parsed(tmp_path: Path) -> None:
    good = frame(Segment(t_ns=T0, payload=10))
    udp = good[:23] + b"\x11" + good[24:]
    icmp = good[:23] + b"\x01" + good[24:]
    sctp = good[:23] + b"\x84" + good[24:]
    vlan = good[:12] + b"\x81\x00\x00\x05" * 3 + b"\x08\x00" + good[14:]
    arp, ipv6 = good[:12] + b"\x08\x06" + good[14:], good[:12] + b"\x86\xdd" + good[14:]
    fragment = good[:20] + b"\x20\x01" + good[22:]
    version = good[:14] + b"\x65" + good[15:]
    short_offset = good[:46] + b"\x10" + good[47:]
    too_long = good[:16] + b"\xff\xff" + good[18:]
    frames = [good, udp, icmp, sctp, vlan, arp, ipv6, fragment, version, short_offset, too_long, good[:50], good[:10]]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(T0 + k, data) for k, data in enumerate(frames)]))
    capture = read_capture(path)
    assert capture.packets.frame.tolist() == [0, 1, 10]
    assert capture.packets.protocol.tolist() == [6, 17, 6]
    assert capture.packets.payload.tolist()[2] == 10  # no more than the frame has
    assert capture.others == {
        "icmp": 1, "other": 1, "vlan": 1, "arp": 1, "fragment": 1, "malformed": 3, "cut": 2,
    }  # fmt: skip
    assert len(capture.packets) + sum(capture.others.values()) == capture.records == len(frames)


def test_an_empty_capture_has_no_packets(tmp_path: Path) -> None:
    capture = read_capture(write(tmp_path / "a.pcap", []))
    assert (len(capture.packets), capture.records, capture.damage) == (0, 0, None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes"),
        (b"\xd4\xc3\xb2", "3 bytes"),
        (b"GET / HTTP/1.1\r\nHost: example\r\n", "magic 0x20544547"),
        (struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 2, 0, -1, 28), "version 2.0"),
        (struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4E, 1, 0, -1, 28), "no byte order"),
        (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 2, 0, 0, 65535, 1), "version 2.2"),
        (pcap([], link=127), "link type 127"),
    ],
)
def test_another_kind_of_file_is_refused_by_name(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "other.pcap"
    path.write_bytes(data)
    with pytest.raises(NotACapture, match=said) as caught:
        read_capture(path)
    assert "other.pcap" in str(caught.value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_truncated_file_gives_its_whole_records_and_says_where_it_ends(tmp_path: Path, data: st.DataObject) -> None:
    whole = segments_pcap(some_segments(8))
    cut = data.draw(st.integers(24, len(whole) - 1))
    path = tmp_path / "a.pcap"
    path.write_bytes(whole[:cut])
    capture = read_capture(path)
    ends = [24]
    for k in range(8):
        ends.append(ends[-1] + 16 + 54 + 100 + k)
    before = max(k for k, end in enumerate(ends) if end <= cut)
    assert capture.records == len(capture.packets) == before
    assert (capture.damage is None) == (cut == ends[before])
    if capture.damage:
        assert f"at byte {ends[before]}" in capture.damage


def test_an_impossible_record_length_ends_the_reading(tmp_path: Path) -> None:
    whole = bytearray(segments_pcap(some_segments(5)))
    third = 24 + 2 * (16 + 54) + 201
    struct.pack_into("<I", whole, third + 8, 0x7FFFFFFF)
    path = tmp_path / "a.pcap"
    path.write_bytes(whole)
    capture = read_capture(path)
    assert capture.records == 2
    assert capture.damage is not None
    assert f"record at byte {third} claims 2147483647 bytes" in capture.damage


def test_a_fraction_of_more_than_a_second_is_carried(tmp_path: Path) -> None:
    whole = bytearray(segments_pcap(some_segments(5), nano=False))
    struct.pack_into("<I", whole, 24 + 16 + 54 + 100 + 4, 1_000_000)
    path = tmp_path / "a.pcap"
    path.write_bytes(whole)
    capture = read_capture(path)
    assert (capture.records, len(capture.packets), capture.damage) == (5, 5, None)
    assert capture.packets.t_ns[1] == (T0 // 10**9 + 1) * 10**9


def blocks(*interface: bytes, units: list[int]) -> bytes:
    """A pcapng file of one interface with these options, and a packet at each time."""
    made = bytearray(pcapng([], interfaces=0))
    body = struct.pack("<HHI", 1, 0, 65535) + b"".join(interface)
    made += struct.pack("<II", 1, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
    for number, when in enumerate(units):
        data = frame(Segment(t_ns=0, seq=number, payload=2))
        body = struct.pack("<IIIII", 0, when >> 32, when & 0xFFFFFFFF, len(data), len(data)) + data
        made += struct.pack("<II", 6, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
    return bytes(made)


def check_times(path: Path, t_ns: list[int]) -> None:
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-e", "frame.time_epoch"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert [int(Decimal(line) * 10**9) for line in text.split()] == t_ns


def test_a_time_beyond_2262_is_none_and_ends_nothing(tmp_path: Path) -> None:
    micro = T0 // 1000
    path = tmp_path / "a.pcapng"
    path.write_bytes(blocks(units=[micro, 10_413_792_000_000_000, 2**63 + 5, micro + 1]))
    capture = read_capture(path)
    assert (capture.records, capture.untimed, capture.damage) == (4, 2, None)
    assert capture.packets.t_ns.tolist() == [micro * 1000, 0, 0, micro * 1000 + 1000]
    assert index(path).damage is None


@pytest.mark.parametrize("value", [b"", b"\x09\x09", b"\x09\0\0\0\0"])
def test_a_time_resolution_of_another_length_is_ignored(tmp_path: Path, value: bytes) -> None:
    option = struct.pack("<HH", 9, len(value)) + value + bytes(-len(value) % 4)
    path = tmp_path / "a.pcapng"
    path.write_bytes(blocks(option, bytes(4), units=[T0 // 1000]))
    capture = read_capture(path)
    assert (capture.records, capture.damage) == (1, None)
    assert capture.packets.t_ns.tolist() == [T0 // 1000 * 1000]
    check_times(path, capture.packets.t_ns.tolist())


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(noise=st.binary(max_size=300), at=st.integers(0, 900), start=st.booleans())
def test_no_bytes_make_the_reader_fail(tmp_path: Path, noise: bytes, at: int, start: bool) -> None:
    whole = bytearray(segments_pcap(some_segments(6)))
    place = at if start else max(24, at)
    whole[place : place + len(noise)] = noise
    path = tmp_path / "a.pcap"
    path.write_bytes(whole)
    try:
        capture = read_capture(path)
    except NotACapture:
        assert start
        return
    assert len(capture.packets) + sum(capture.others.values()) == capture.records


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 1500), min_size=1, max_size=400),
    cut=st.integers(0, 60),
    seed=st.integers(0, 2**16),
    nested=st.booleans(),
    order=st.sampled_from("<>"),
)
def test_many_chains_find_the_same_records_as_one(
    sizes: list[int], cut: int, seed: int, nested: bool, order: str
) -> None:
    random = np.random.default_rng(seed)
    inner = pcap([(T0 + k, random.bytes(40)) for k in range(60)], order=order)
    frames = [(T0 + k * 10**6, inner[24:][:size] if nested else random.bytes(size)) for k, size in enumerate(sizes)]
    whole = pcap(frames, order=order)
    size = max(24, len(whole) - cut)
    data = np.frombuffer(whole[:size], dtype=np.uint8)
    framing = PcapFraming(order="<" if order == "<" else ">", second_ends=10**9, first_s=T0 // 10**9)
    one = walk(data, start=24, end=size, framing=framing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "LARGE", 0)
        patch.setattr(chains, "_FEW", 0)
        many = scan(data, start=24, end=size, framing=framing)
    assert many.offsets.tolist() == one.offsets.tolist()
    assert (many.end, many.fault, many.cut) == (one.end, one.fault, one.cut)


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    segments = [Segment(t_ns=T0 + k * 1000, seq=k * 1000, payload=1000, flags=ACK) for k in range(6000)]
    path = write(tmp_path / "a.pcap", segments)
    assert path.stat().st_size > scanning.LARGE
    capture = read_capture(path)
    assert (capture.records, capture.damage) == (6000, None)
    assert capture.packets.seq.tolist() == [k * 1000 for k in range(6000)]
