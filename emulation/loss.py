"""Seeded loss: a model and a seed become the list of packets to drop, so that a trial can be replayed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

Direction = Literal["uplink", "downlink"]
DIRECTIONS: tuple[Direction, Direction] = ("uplink", "downlink")
MIN_MODULUS, MAX_MODULUS = 1 << 16, 1 << 20
_SMALLEST_FRAME_BITS = 60 * 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededLosses:
    """Packet i of a direction is dropped when i mod `modulus` is in `indices` (sorted, int64)."""

    direction: Direction
    share: float
    seed: int
    modulus: int
    indices: np.ndarray

    @property
    def digest(self) -> str:
        """SHA-256 of the indices as little-endian 64-bit integers: equal lists have equal digests."""
        return hashlib.sha256(self.indices.astype("<i8").tobytes()).hexdigest()

    def dropped_of(self, seen: int) -> int:
        """How many of the first `seen` packets are dropped."""
        rounds, rest = divmod(seen, self.modulus)
        return rounds * len(self.indices) + int(np.searchsorted(self.indices, rest))


def expand(*, share: float, seed: int, direction: Direction, modulus: int) -> SeededLosses:
    """Independent losses with probability `share`; the same seed gives the same list on every machine.

    A longer list begins with the shorter one (the generator is PCG64, drawn in order).
    """
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, DIRECTIONS.index(direction)])))
    indices = np.flatnonzero(stream.random(modulus) < share) if share else np.empty(0, np.int64)
    return SeededLosses(direction=direction, share=share, seed=seed, modulus=modulus, indices=indices)


def modulus_for(*, rate: float | None, seconds: float) -> int:
    """Length of the list: a power of two that `seconds` of the smallest frames at `rate` fit in, 2^16 to 2^20."""
    packets = MAX_MODULUS if rate is None else rate * seconds / _SMALLEST_FRAME_BITS
    power = int(np.ceil(np.log2(max(packets, MIN_MODULUS))))
    return min(1 << power, MAX_MODULUS)
