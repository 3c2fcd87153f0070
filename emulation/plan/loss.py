"""Seeded loss: a model and a seed become the list of packets to drop, so that a trial can be replayed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from emulation.profile.lossmodel import MAX_LIST, GilbertElliott, LossModel, RecordedLosses, describe, share_of
from records.directions import DIRECTIONS, Direction

MIN_MODULUS, MAX_MODULUS = 1 << 16, MAX_LIST
_SMALLEST_FRAME_BITS = 60 * 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededLosses:
    """Packet i of a direction is dropped when i mod `modulus` is in `indices` (sorted, int64).

    group: of stations with the same settings, 0 = those without settings of their own.  state: 0 = the losses
    that the link begins with; later ones, of a timeline, count their packets for themselves.  station: whose packets
    alone are counted, '' = those of the whole group, one after the other as they come.
    """

    direction: Direction
    model: str
    share: float
    seed: int
    modulus: int
    indices: np.ndarray
    group: int = 0
    state: int = 0
    station: str = ""

    @property
    def name(self) -> str:
        """`uplink`; for other groups and states `uplink-<group>-<state>`, and of one station `...-<station>`."""
        numbered = f"{self.direction}-{self.group}-{self.state}"
        if self.station:
            return f"{numbered}-{self.station}"
        return numbered if self.group | self.state else self.direction

    @property
    def digest(self) -> str:
        """SHA-256 of the indices as little-endian 64-bit integers: equal lists have equal digests."""
        return hashlib.sha256(self.indices.astype("<i8").tobytes()).hexdigest()

    def dropped_of(self, seen: int) -> int:
        """How many of the first `seen` packets are dropped."""
        rounds, rest = divmod(seen, self.modulus)
        return rounds * len(self.indices) + int(np.searchsorted(self.indices, rest))

    def lists(self, numbers: np.ndarray) -> np.ndarray:
        """Which of the packets `numbers` (from 0) are dropped, as booleans."""
        places = numbers % self.modulus
        if not len(self.indices):
            return np.zeros(places.shape, dtype=bool)
        # By halves: the list, which may be a hundred times longer than what is asked for, is neither sorted nor copied.
        nearest = np.searchsorted(self.indices, places)
        found: np.ndarray = self.indices[np.minimum(nearest, len(self.indices) - 1)] == places
        return found


def expand(
    model: LossModel,
    *,
    seed: int,
    direction: Direction,
    modulus: int,
    group: int = 0,
    state: int = 0,
    station: str = "",
) -> SeededLosses:
    """The list of a model; the same seed gives the same list on every machine, and each station one of its own.

    A longer list begins with the shorter one (the generator is PCG64, drawn in order).
    """
    words = [seed, DIRECTIONS.index(direction), *([group, state] if group | state or station else [])]
    words += [int.from_bytes(station.encode())] if station else []
    streams = np.random.SeedSequence(words)
    if isinstance(model, RecordedLosses):
        modulus, indices = model.packets, np.unique(np.asarray(model.lost, dtype=np.int64))
    elif isinstance(model, GilbertElliott):
        indices = _gilbert_elliott(model, streams, modulus)
    else:
        stream = np.random.Generator(np.random.PCG64(streams))
        indices = np.flatnonzero(stream.random(modulus) < model) if model else np.empty(0, np.int64)
    return SeededLosses(
        direction=direction,
        model=describe(model),
        share=share_of(model),
        seed=seed,
        modulus=modulus,
        indices=indices,
        group=group,
        state=state,
        station=station,
    )


def _gilbert_elliott(model: GilbertElliott, streams: np.random.SeedSequence, modulus: int) -> np.ndarray:
    """Stays in the two states are geometric; they and the losses inside them come from streams of their own."""
    stays, losses = (np.random.Generator(np.random.PCG64(one)) for one in streams.spawn(2))
    bad = np.zeros(0, dtype=bool)
    while len(bad) < modulus:
        lengths = np.stack([stays.geometric(model.p, 1024), stays.geometric(model.r, 1024)], axis=1).ravel()
        lengths = np.minimum(lengths, modulus)
        if lengths.sum() > 8 * modulus:  # long stays: a block of them need not be written out in full
            lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), 2 * modulus)) + 1]
        bad = np.concatenate([bad, np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)])
    chance = np.where(bad[:modulus], model.loss_bad, model.loss_good)
    return np.flatnonzero(losses.random(modulus) < chance)


def modulus_for(*, rate: float | None, seconds: float, lists: int = 1) -> int:
    """Length of the list: a power of two that `seconds` of the smallest frames at `rate` fit in, 2^16 to 2^20.

    lists: how many of its kind the kernel has to hold; more than two share the length of two, down to 2^16 each.
    """
    packets = MAX_MODULUS if rate is None else rate * seconds / _SMALLEST_FRAME_BITS
    power = int(np.ceil(np.log2(max(packets, MIN_MODULUS))))
    longest = max(2 * MAX_MODULUS >> (lists - 1).bit_length(), MIN_MODULUS)
    return min(1 << power, MAX_MODULUS, longest)
