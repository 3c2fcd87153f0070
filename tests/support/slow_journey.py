"""What a leg of the journey is, byte by byte: slow, and short enough to be seen to be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Bytes [begin, end) of a stream that enter the medium at `left`, and leave it at `arrived` (None: lost)."""

    begin: int
    end: int
    left: float
    arrived: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    left: float
    sent: float
    arrived: float
    copies: float


def leg(sendings: Sequence[Sending], begin: int, end: int) -> Leg | None:
    """The leg of the message at [begin, end); None when not all of the stream up to its end has arrived."""
    sent: dict[int, list[float]] = {}
    came: dict[int, tuple[float, float]] = {}
    for one in sendings:
        for byte in range(one.begin, one.end):
            sent.setdefault(byte, []).append(one.left)
            if one.arrived is not None:
                came[byte] = min(came.get(byte, (one.arrived, one.left)), (one.arrived, one.left))
    if any(byte not in came for byte in range(end)):
        return None
    left = min(sent[end - 1])
    arrived, by = max(came[byte] for byte in range(end))
    copies = sum(len(sent[byte]) for byte in range(begin, end)) / (end - begin)
    return Leg(left=left, sent=max(by, left), arrived=arrived, copies=copies)
