"""How the records of a format follow each other: what the walks of scan.py and lockstep.py must know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from analysis.capture.format import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Whole records, one after the other.

    offsets: byte of each one's header.  end: the byte after the last.  fault: what is wrong there, None when
    nothing is.  cut: the bytes end there too early, and more of them could make it whole.
    """

    offsets: np.ndarray
    end: int
    fault: str | None = None
    cut: bool = False


class Framing(Protocol):
    """How the records of a format follow each other.  `words` is a 32-bit number at every byte of the data."""

    @property
    def order(self) -> Order: ...

    @property
    def head_bytes(self) -> int:
        """Bytes that must be there to know a record's length."""

    def walk(self, view: memoryview, *, start: int, end: int, stops: frozenset[int]) -> tuple[list[int], int]:
        """Record by record from `start`, one at least, until `end`, a place of `stops` or what is no whole record;
        and where that is."""

    def fault(self, view: memoryview, *, at: int, end: int) -> tuple[str | None, bool]:
        """What is wrong with the record at `at` that is not whole, and whether it is merely cut."""

    def steps(self, words: np.ndarray, here: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
        """From records at `here`: where the next ones start, and which records are whole."""

    def candidates(self, words: np.ndarray, *, start: int, stop: int) -> np.ndarray:
        """Places of [start, stop) at which a record might start, by a first rough look."""

    def likely(self, words: np.ndarray, here: np.ndarray) -> np.ndarray:
        """Which of the places look like a record's header."""


def walk(data: np.ndarray, *, start: int, end: int, framing: Framing) -> Scan:
    """Walk record by record."""
    view = data.data
    offsets, at = framing.walk(view, start=start, end=end, stops=frozenset())
    fault, cut = framing.fault(view, at=at, end=end)
    return Scan(offsets=np.array(offsets, dtype=np.int64), end=at, fault=fault, cut=cut)
