"""Exact pieces of a capture file, each of which a task can decode alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from analysis.capture.columns import HEADROOM, columns, first_bad_time, headers
from analysis.capture.format import HEADER_BYTES, read_format
from analysis.capture.reader import Capture
from analysis.capture.scan import scan

RANGE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Bytes [start, end) of a file: whole records, of which the first is number `first_frame` of the file."""

    start: int
    end: int
    first_frame: int


def to_json(piece: Range) -> str:
    """A range as text, to travel between processes."""
    return json.dumps(asdict(piece))


def from_json(text: str) -> Range:
    """What to_json made."""
    return Range(**json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """All whole records of a file in ranges, in order; damage: what is wrong after them, None when nothing is."""

    ranges: tuple[Range, ...]
    damage: str | None


def index(path: Path, *, range_bytes: int = RANGE_BYTES) -> Index:
    """Cut a capture into ranges of about `range_bytes`, found by walking all of its records.

    Raises NotACapture when it is another kind of file, OSError when it cannot be read.
    """
    size = path.stat().st_size
    data = np.zeros(size + HEADROOM, dtype=np.uint8)
    with path.open("rb") as file:
        size = file.readinto(data[:size].data)
    form = read_format(data[: min(size, HEADER_BYTES)].tobytes(), str(path))
    found = scan(data, size=size, form=form)
    offsets, damage = found.offsets, found.damage
    bad = first_bad_time(headers(data, offsets, form), form)
    if bad is not None:
        damage = f"record at byte {offsets[bad]} has a time whose fraction is not below one second"
        end, offsets = int(offsets[bad]), offsets[:bad]
    elif len(offsets):
        end = int(offsets[-1]) + 16 + int(headers(data, offsets[-1:], form)["kept"][0])
    if not len(offsets):
        return Index(ranges=(), damage=damage)
    edges = np.arange(int(offsets[0]), end, range_bytes)
    firsts = np.unique(np.searchsorted(offsets, edges))
    firsts = firsts[firsts < len(offsets)]
    stops = [*offsets[firsts[1:]].tolist(), end]
    ranges = tuple(
        Range(start=start, end=stop, first_frame=frame)
        for start, stop, frame in zip(offsets[firsts].tolist(), stops, firsts.tolist(), strict=True)
    )
    return Index(ranges=ranges, damage=damage)


def read_range(path: Path, piece: Range) -> Capture:
    """Decode one range; `frame` counts from the file's first record, `at` from the file's first byte."""
    length = piece.end - piece.start
    data = np.zeros(HEADER_BYTES + length + HEADROOM, dtype=np.uint8)
    with path.open("rb") as file:
        file.readinto(data[:HEADER_BYTES].data)
        file.seek(piece.start)
        read = file.readinto(data[HEADER_BYTES : HEADER_BYTES + length].data)
    if read != length:
        raise OSError(f"{path}: bytes {piece.start} to {piece.end} are not all there any more")
    form = read_format(data[:HEADER_BYTES].tobytes(), str(path))
    found = scan(data, size=HEADER_BYTES + length, form=form)
    packets, others = columns(headers(data, found.offsets, form), data=data, offsets=found.offsets, form=form)
    packets = replace(packets, frame=packets.frame + piece.first_frame, at=packets.at + piece.start - HEADER_BYTES)
    return Capture(packets=packets, data=data, records=len(found.offsets), others=others, damage=found.damage)
