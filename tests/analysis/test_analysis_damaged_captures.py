"""Damaged and malicious capture files: never an exception, never a packet that a plain reader does not see."""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
import slow_capture
from pcap_files import pcap
from random_captures import random_capture
from slow_packets import dissect

from analysis.capture import lockstep, scan
from analysis.capture.addresses import AddressCollision, merge, number_v6, text
from analysis.capture.columns import NAMES
from analysis.capture.ranges import index
from analysis.capture.reader import Capture, NotACapture, read_capture

# Of 40 changes of the reader's code, each of one operator or number, those that a walk's cases found were found by its
# 73rd, those that the chains' found by their 470th.
CASES = {"walk": 500, "chains": 1200}
T0 = 1_700_000_000 * 10**9


def agree(path: Path, data: bytes) -> Capture | None:
    """Read a file both ways: the same records, the same packets, the same end; or both refuse it."""
    path.unlink(missing_ok=True)  # a file that is cut first is written out to the disk
    path.write_bytes(data)
    try:
        slow = slow_capture.read(data)
    except slow_capture.Refused:
        with pytest.raises(NotACapture):
            read_capture(path)
        return None
    capture = read_capture(path)
    assert capture.records == len(slow.records)
    assert (capture.damage is None) == (slow.stopped is None), capture.damage
    if capture.damage is not None:
        assert re.search(rf"\bbyte {slow.stopped}\b", capture.damage)
    assert packets_of(capture) == packets_of_slow(data, slow, Counter(capture.others))
    return capture


def packets_of(capture: Capture) -> list[dict[str, object]]:
    columns = {name: getattr(capture.packets, name).tolist() for name in NAMES}
    for end in ("src", "dst"):
        columns[end] = [text(number, capture.v6) for number in columns[end]]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def packets_of_slow(data: bytes, slow: slow_capture.Reading, counted: Counter[str]) -> list[dict[str, object]]:
    """Packets as the slow reader sees them; asserts that the others were counted by kind."""
    packets: list[dict[str, object]] = []
    others: Counter[str] = Counter()
    for frame, record in enumerate(slow.records):
        found = dissect(data[record.at : record.at + record.kept], wire=record.wire, link=record.link)
        if isinstance(found, str):
            others[found] += 1
            continue
        shared = {"frame": frame, "t_ns": record.t_ns, "interface": record.interface, "kept": record.kept}
        row = found | shared | {"wire": record.wire, "at": record.at + int(found["at"])}
        packets.append({name: row[name] for name in NAMES})
    assert others == counted
    return packets


def damaged(random: Random, whole: bytes) -> bytes:
    """Some bytes flipped, a piece cut out, doubled, moved, overwritten, or the end lost."""
    data = bytearray(whole)
    for _ in range(random.randrange(1, 4)):
        at, length = random.randrange(len(data) + 1), random.randrange(1, 60)
        how = random.randrange(6)
        if how == 0:
            for _ in range(random.randrange(1, 4)):
                if data:
                    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        elif how == 1:
            del data[at : at + length]
        elif how == 2:
            data[at:at] = data[at : at + length]
        elif how == 3:
            start = random.randrange(len(data) + 1)
            data[at:at] = data[start : start + length]
        elif how == 4:
            interesting = (0, 1, 12, 28, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 262_145, 0x0A0D0D0A)
            data[at : at + 4] = struct.pack(random.choice("<>") + "I", random.choice(interesting))
        else:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("way", CASES)
def test_damaged_files_are_read_as_a_plain_reader_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "chains":
        monkeypatch.setattr(scan, "LARGE", 0)
        monkeypatch.setattr(lockstep, "_FEW", 0)
    random = Random(20 + (way == "chains"))
    read = 0
    for case in range(CASES[way]):
        whole = random_capture(random, packets=random.randrange(12), largest=120)
        capture = agree(tmp_path / "a", damaged(random, bytes(whole.data)))
        if capture is not None:
            read += capture.records
            found = index(tmp_path / "a", range_bytes=random.choice((300, 5000)))
            assert (found.records, found.damage) == (capture.records, capture.damage), case
    assert read > CASES[way]


def carried(kind: str, *, order: str) -> bytes:
    """Segments of 32 kB of a stream that is itself a capture, as long as many chains need it."""
    random = Random(7)
    inner = [(T0 + k * 1000, random.randbytes(random.randrange(40, 200))) for k in range(40_000)]
    stream = container(kind, inner, order)
    size = 32_768
    head = bytes(12) + b"\x08\x00" + struct.pack("!BBHHHBBH", 0x45, 0, 0, 1, 0, 64, 6, 0) + bytes([10, 0, 0, 1] * 2)
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 0, 0, 0x50, 0x10, 9, 0, 0)
    frames = [head + tcp + stream[at : at + size] for at in range(0, len(stream), size)]
    return container(kind, [(T0 + k * 10**6, frame) for k, frame in enumerate(frames)], order)


def container(kind: str, frames: list[tuple[int, bytes]], order: str) -> bytes:
    if kind == "pcap":
        return pcap(frames, order=order, snap=262_144)
    parts = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts.append(block(order, 1, struct.pack(order + "HHIHHB3x", 1, 0, 0, 9, 1, 9)))
    for t_ns, frame in frames:
        head = struct.pack(order + "IIIII", 0, t_ns >> 32, t_ns & 0xFFFFFFFF, len(frame), len(frame))
        parts.append(block(order, 6, head + frame + bytes(-len(frame) % 4)))
    return b"".join(parts)


def block(order: str, kind: int, body: bytes) -> bytes:
    total = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + total + body + total


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_capture_that_carries_a_capture_fools_no_chain(tmp_path: Path, kind: str, order: str) -> None:
    data = carried(kind, order=order)
    assert len(data) > 2 * scan.LARGE
    capture = agree(tmp_path / "a", data)
    assert capture is not None
    assert (capture.damage, capture.others) == (None, {})
    assert set(capture.packets.payload[:-1].tolist()) == {32_768}
    assert index(tmp_path / "a", range_bytes=1 << 20).records == capture.records


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_length_that_lies_inside_a_long_file_ends_it_there(tmp_path: Path, kind: str) -> None:
    data = bytearray(carried(kind, order="<"))
    whole = slow_capture.read(bytes(data))
    at = whole.records[100].at - (8 if kind == "pcap" else 24)
    # Chains beyond it are right, but nothing leads to them: pcap goes on inside packets, as a plain reader does.
    struct.pack_into("<I", data, at, struct.unpack_from("<I", data, at)[0] + 4)
    capture = agree(tmp_path / "a", bytes(data))
    assert capture is not None
    assert capture.damage is not None
    assert 100 <= capture.records < len(whole.records)


def test_a_lying_length_makes_no_room(tmp_path: Path) -> None:
    """A header of 16 bytes that claims four gigabytes costs nothing."""
    path = tmp_path / "a"
    for lie in (0x7FFFFFFF, 0xFFFFFFF0):
        path.write_bytes(pcap([]) + struct.pack("<IIII", 1, 1, lie, lie))
        assert read_capture(path).damage is not None
        path.write_bytes(container("pcapng", [], "<") + struct.pack("<III", 6, lie - lie % 4, 0))
        assert read_capture(path).damage is not None


def test_two_addresses_of_one_number_are_refused(tmp_path: Path) -> None:
    one = bytes(range(16))
    other = partner(one)
    halves = np.array([struct.unpack(">QQ", address) for address in (one, other)], dtype=np.uint64)
    assert number_v6(halves)[0] == number_v6(halves)[1]
    frames = []
    for source in (one, other):
        header = struct.pack("!IHBB", 6 << 28, 8, 17, 64) + source + bytes(16)
        frames.append(bytes(12) + b"\x86\xdd" + header + struct.pack("!HHHH", 1, 2, 8, 0))
    path = tmp_path / "a"
    path.write_bytes(pcap([(T0, frames[0])] * 3))
    assert len(read_capture(path).packets) == 3
    path.write_bytes(pcap([(T0, frame) for frame in frames]))
    with pytest.raises(AddressCollision, match="hash to one number"):
        read_capture(path)
    with pytest.raises(AddressCollision):
        merge([{-5: one}, {-5: other}])


def partner(address: bytes) -> bytes:
    """Another address with the same number: the low half undoes what another high half changes."""
    golden = 0x9E3779B97F4A7C15
    high, low = struct.unpack(">QQ", address)
    change = (mixed(high) - mixed(high + 1)) * pow(golden, -1, 2**64)
    return struct.pack(">QQ", high + 1, (low + change) % 2**64)


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31
