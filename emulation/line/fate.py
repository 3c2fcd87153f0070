"""What happens to a packet after the medium, by its number: delay, order, copies, damage.  Pure.

Losses are not drawn here: both ways of making a link take them from the lists of emulation.plan.loss.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from emulation.line.draws import TWO_32, Draws, threshold
from emulation.profile import distribution
from emulation.profile.direction import DirectionProfile

# Which of a packet's draws decides what.
_COPY, _DELAY, _DELAY_OF_COPY, _OVERTAKE, _DAMAGE, _WHERE = range(6)
_ETHERNET_HEADER = 14
# The settings that fates follow from.
_DECIDING = ("delay", "jitter", "jitter_distribution", "reorder", "duplicate", "corrupt")


class Fate(NamedTuple):
    """delay_ns: after the medium; 0 of those that overtake.  copy_ns: the delay of its copy, None = no copy.

    overtakes: it does not wait for the delay.  damage: chooses the bit to turn over (see `damaged`), None = none.
    """

    delay_ns: int
    copy_ns: int | None = None
    overtakes: bool = False
    damage: int | None = None


class Odds:
    """What settings make of a packet's draws.  usual: the fate where nothing is left to chance."""

    __slots__ = ("_copy", "_damage", "_delays", "_overtake", "plain", "usual")

    def __init__(self, settings: DirectionProfile) -> None:
        self._copy, self._overtake, self._damage = (
            threshold(share) for share in (settings.duplicate, settings.reorder, settings.corrupt)
        )
        self._delays = _delays(settings)
        self.usual = Fate(round(settings.delay * 1e9))
        self.plain = not (self._copy or self._overtake or self._damage or settings.jitter)

    def fate(self, draws: Draws, number: int) -> Fate:
        """The fate of packet `number` (from 0) of the sequence that `draws` is of."""
        if self.plain:
            return self.usual
        words = draws.of(number)
        delays = self._delays
        size = len(delays)
        overtakes = words[_OVERTAKE] < self._overtake
        return Fate(
            0 if overtakes else delays[words[_DELAY] * size // TWO_32],
            delays[words[_DELAY_OF_COPY] * size // TWO_32] if words[_COPY] < self._copy else None,
            overtakes,
            words[_WHERE] if words[_DAMAGE] < self._damage else None,
        )


def odds(settings: DirectionProfile) -> Odds:
    """The odds of settings, made once for all that differ in rate or losses only: a table takes milliseconds."""
    return _odds(tuple([getattr(settings, name) for name in _DECIDING]))


@lru_cache(maxsize=1024)
def _odds(values: tuple[Any, ...]) -> Odds:
    return Odds(DirectionProfile.model_construct(**dict(zip(_DECIDING, values, strict=True))))


def _delays(settings: DirectionProfile) -> tuple[int, ...]:
    """Equally likely delays in ns, none of them negative."""
    drawn = distribution.drawn(settings) if settings.jitter else np.array([settings.delay])
    return tuple(np.maximum(np.round(drawn * 1e9), 0).astype(np.int64).tolist())


def damaged(frame: bytes, draw: int) -> bytes:
    """The frame with one bit behind its Ethernet header turned over; as it was where nothing is behind it."""
    bits = (len(frame) - _ETHERNET_HEADER) * 8
    if bits <= 0:
        return frame
    bit = _ETHERNET_HEADER * 8 + draw % bits
    found = bytearray(frame)
    found[bit >> 3] ^= 1 << (bit & 7)
    return bytes(found)


def fates(settings: DirectionProfile, *, seed: int, name: str, packets: int) -> Iterator[Fate]:
    """The fates of the first `packets` of a sequence under settings that do not change."""
    odds, draws = Odds(settings), Draws(seed, name)
    return (odds.fate(draws, number) for number in range(packets))


def digest(sequences: Mapping[str, DirectionProfile], *, seed: int, packets: int) -> str:
    """SHA-256 over the fates of the first `packets` of each sequence (name to settings), in the order of their names.

    Equal digests: equal fates, on whatever machine they were computed.
    """
    found = hashlib.sha256()
    for name in sorted(sequences):
        found.update(name.encode() + b"\0")
        for one in fates(sequences[name], seed=seed, name=name, packets=packets):
            found.update(repr(tuple(one)).encode())
    return found.hexdigest()
