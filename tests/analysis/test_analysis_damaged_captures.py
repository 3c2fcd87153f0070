"""Damaged and malicious capture files: never an exception, never a packet that a plain reader does not see."""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import slow_capture
from random_captures import random_capture
from slow_packets import dissect

from analysis.capture import lockstep, scan
from analysis.capture.addresses import text
from analysis.capture.columns import NAMES
from analysis.capture.ranges import index
from analysis.capture.reader import Capture, NotACapture, read_capture

CASES = 2500
T0 = 1_700_000_000 * 10**9


def agree(path: Path, data: bytes) -> Capture | None:
    """Read a file both ways: the same records, the same packets, the same end; or both refuse it."""
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


@pytest.mark.parametrize("chains", [False, True], ids=["walk", "chains"])
def test_damaged_files_are_read_as_a_plain_reader_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chains: bool
) -> None:
    if chains:
        monkeypatch.setattr(scan, "LARGE", 0)
        monkeypatch.setattr(lockstep, "_FEW", 0)
    random = Random(20 + chains)
    read = 0
    for case in range(CASES):
        whole = random_capture(random, packets=random.randrange(20), largest=120)
        capture = agree(tmp_path / "a", damaged(random, bytes(whole.data)))
        if capture is not None:
            read += capture.records
            found = index(tmp_path / "a", range_bytes=random.choice((300, 5000)))
            assert (found.records, found.damage) == (capture.records, capture.damage), case
    assert read > CASES
