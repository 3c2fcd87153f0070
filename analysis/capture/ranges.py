"""Exact ranges of a capture file: each holds whole records and can be read alone, in another process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.capture.blocks import LARGEST_BLOCK
from analysis.capture.format import Interface, State
from analysis.capture.records import describe
from analysis.capture.source import find, load, read_start
from analysis.capture.stretch import Found
from records.location import Place, size_of

RANGE_BYTES = 64 << 20
_BATCH = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Bytes [start, end) of a file: `records` packet records, the first of them number `first_frame` of the file.

    state: what must be known of the bytes before them.  first_ns, last_ns: times of the first and the last record,
    low_ns, high_ns: the earliest and the latest of all (a capture need not be in order of time), wall clock, ns; a
    record without a time counts as 0, as it does in `Packets`.  All are 0 where there is no record.
    """

    start: int
    end: int
    first_frame: int
    records: int
    state: State
    first_ns: int
    last_ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """ranges: in file order, together every whole record before any damage.  damage: as read_capture says it.

    digests: of the bytes of each range (`digest`), where whoever made the index wanted them.
    """

    ranges: tuple[Range, ...]
    damage: str | None
    digests: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Records of all ranges."""
        return sum(piece.records for piece in self.ranges)


def index(
    path: Place, *, range_bytes: int = RANGE_BYTES, seen: Callable[[int, np.ndarray, int], None] | None = None
) -> Index:
    """Cut a capture file into exact ranges of at most about `range_bytes`.

    The file is walked once, one range in memory at a time, every record's header checked.  Raises NotACapture
    and OSError as read_capture does.
    seen: is given all bytes behind the file's header, some more than once: the byte at which they begin, what is
    looked through for a range, and how many bytes of that are the range (0: there is none).
    """
    begin = read_start(path)
    at, state, frame, window = begin.at, begin.state, 0, range_bytes
    ranges: list[Range] = []
    with path.open("rb") as file:
        size = size_of(file)
        while at < size:
            data = load(file, start=at, end=at + window)
            found = find(data, start=0, state=state, base=at)
            records, end, fault, times = _checked(data, found, base=at)
            if seen is not None:
                seen(at, data, end)
            if end:
                piece = Range(start=at, end=at + end, first_frame=frame, records=records, state=state, **times)
                ranges.append(piece)
                frame += records
            if fault is not None:
                return Index(ranges=tuple(ranges), damage=fault)
            if not len(data):
                return Index(ranges=tuple(ranges), damage=f"the file has become shorter than {size} bytes")
            last = at + len(data) >= size
            if found.fault is not None and (last or not found.cut or (not end and window > LARGEST_BLOCK)):
                return Index(ranges=tuple(ranges), damage=found.fault)
            # A record longer than the window: a longer window holds it.
            window = range_bytes if end else window * 4
            at, state = at + end, found.state
    return Index(ranges=tuple(ranges), damage=None)


def _checked(data: np.ndarray, found: Found, *, base: int) -> tuple[int, int, str | None, dict[str, int]]:
    """How many records are right, the byte after them, what is wrong there, and the times of a Range."""
    records, times = 0, dict.fromkeys(("first_ns", "last_ns", "low_ns", "high_ns"), 0)
    for stretch in found.stretches:
        for start in range(0, len(stretch.offsets), _BATCH):
            part = describe(data, stretch, start=start, stop=start + _BATCH, front=0, base=base)
            if len(part):
                low, high = int(part.t_ns.min()), int(part.t_ns.max())
                times = {
                    "first_ns": times["first_ns"] if records else int(part.t_ns[0]),
                    "last_ns": int(part.t_ns[-1]),
                    "low_ns": min(times["low_ns"], low) if records else low,
                    "high_ns": max(times["high_ns"], high) if records else high,
                }
            records += len(part)
            if part.fault is not None:
                return records, int(stretch.offsets[start + len(part)]), part.fault, times
    return records, found.end, None, times


def digest(data: np.ndarray) -> str:
    """BLAKE2b of bytes, 128 bits, hexadecimal: it tells whether they have changed."""
    return hashlib.blake2b(data.data, digest_size=16).hexdigest()


def to_json(piece: Range) -> str:
    """A range as text, to travel between processes."""
    return json.dumps(asdict(piece))


def from_json(text: str) -> Range:
    """What to_json made; ValueError, KeyError or TypeError when it is something else."""
    return from_plain(json.loads(text))


def from_plain(plain: Mapping[str, Any]) -> Range:
    """The range of which `plain` is the asdict; raises as from_json does."""
    state = dict(plain["state"])
    interfaces = tuple(Interface(**one) for one in state.pop("interfaces"))
    return Range(**{**plain, "state": State(**state, interfaces=interfaces)})
