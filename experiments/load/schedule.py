"""When an open loop sends, and what every message is; all of it follows from the seed."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, repeat

import numpy as np

from records.sending import Sending

_NS = 1e9
_CHUNK = 4096
_GOLDEN = (math.sqrt(5) - 1) / 2
LOAD = 0x10AD  # so that nothing of a load is drawn as the losses of a link are, which have the same seed
_LETTERS = np.frombuffer(string.ascii_lowercase.encode(), dtype=np.uint8)


def schedule(load: Sending, *, producer: int, seed: int, window_s: tuple[float, float]) -> Iterator[int]:
    """Offsets from go in nanoseconds at which an open loop sends, without end.

    window_s: when the measurement window begins and ends, seconds after go; a ramp goes from one to the other.
    """
    assert load.rate is not None
    turns = _exponential(producer, seed) if load.arrivals == "poisson" else _even(producer)
    at_s = _ramp(load.rate, load.ramp.to, *window_s) if load.ramp else partial(_steady, load.rate)
    messages, pause_s = (load.bursts.messages, load.bursts.pause_s) if load.bursts else (1, 0.0)
    return (round((at_s(turn) + number // messages * pause_s) * _NS) for number, turn in enumerate(turns))


def _even(producer: int) -> Iterator[float]:
    """Turns at a distance of 1, each from its own index so that nothing adds up.

    Producers are shifted by multiples of the golden ratio, which spreads any number of them evenly.
    """
    phase = producer * _GOLDEN % 1.0
    return (index + phase for index in count())


def _exponential(producer: int, seed: int) -> Iterator[float]:
    """Turns whose distances are exponential, of mean 1."""
    generator = np.random.default_rng((seed, producer, 1, LOAD))
    turn = 0.0
    while True:
        for gap in generator.exponential(1, _CHUNK).tolist():
            turn += gap
            yield turn


def _steady(rate: float, turn: float) -> float:
    return turn / rate


def _ramp(rate: float, to: float, start_s: float, end_s: float) -> Callable[[float], float]:
    """When a turn comes: as many turns have passed by then as the rate over time has an area.

    Evenly spread turns are spread as the rate wants it, and turns at exponential
    distances become a Poisson process of that rate (Cinlar, Introduction to Stochastic Processes, 1975, chapter 4).
    """
    length_s, before = end_s - start_s, rate * start_s
    during = (rate + to) / 2 * length_s

    def at_s(turn: float) -> float:
        if turn <= before:
            return turn / rate
        if turn >= before + during:
            return end_s + (turn - before - during) / to
        left = turn - before
        # The root of rate t + (to - rate) t^2 / (2 length) = left, in the form that is exact when the rates are equal.
        return start_s + 2 * left / (rate + math.sqrt(max(rate**2 + 2 * (to - rate) / length_s * left, 0.0)))

    return at_s


def properties(*, upper: int | None, producer: int, seed: int) -> Iterator[int | None]:
    """The property of each message in turn: uniform in [0, upper), or None."""
    if upper is None:
        return repeat(None)
    return _uniform(upper, np.random.default_rng((seed, producer, 0, LOAD)))


def _uniform(upper: int, generator: np.random.Generator) -> Iterator[int]:
    while True:
        yield from generator.integers(upper, size=_CHUNK).tolist()


def bodies(sizes: Mapping[int, float], *, producer: int, seed: int) -> Iterator[bytearray]:
    """The body of each message in turn, one buffer for each size, drawn by their shares.

    Lower-case letters, so that they never look like a marker.
    """
    letters = np.random.default_rng((seed, producer, 2, LOAD)).choice(_LETTERS, max(sizes)).tobytes()
    buffers = [bytearray(letters[:size]) for size in sizes]
    if len(buffers) == 1:
        return repeat(buffers[0])
    return _drawn(buffers, list(sizes.values()), np.random.default_rng((seed, producer, 3, LOAD)))


def _drawn(
    buffers: Sequence[bytearray], shares: Sequence[float], generator: np.random.Generator
) -> Iterator[bytearray]:
    while True:
        for which in generator.choice(len(buffers), _CHUNK, p=shares).tolist():
            yield buffers[which]
