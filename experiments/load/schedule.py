"""When an open loop sends, and what every message is; all of it follows from the seed."""

from __future__ import annotations

import asyncio
import math
import string
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, dropwhile, repeat

import numpy as np

from records.sending import Sending

_NS = 1e9
_CHUNK = 4096
_MOST = 1 << 60  # turns that no run comes to
_NEAR_NS = 1_000_000  # by rounding, times of a ramp can go back, by far less than this
_GOLDEN = (math.sqrt(5) - 1) / 2
LOAD = 0x10AD  # so that nothing of a load is drawn as the losses of a link are, which have the same seed
_LETTERS = np.frombuffer(string.ascii_lowercase.encode(), dtype=np.uint8)


def schedule(load: Sending, *, producer: int, seed: int, window_s: tuple[float, float]) -> Iterator[int]:
    """Offsets from go in nanoseconds at which an open loop sends, without end.

    window_s: when the measurement window begins and ends, seconds after go; a ramp goes from one to the other.
    """
    offset = _offsets(load, window_s)
    if load.arrivals == "poisson":
        return _all_of(_exponential(producer, seed), offset, 0)
    return map(_even(offset, producer), count())


async def schedule_from(
    load: Sending, *, producer: int, seed: int, window_s: tuple[float, float], since_ns: int
) -> Iterator[int]:
    """The same without what is before `since_ns`.

    A producer that joins late has much to leave out while messages wait for the event loop: turns that each follow from
    their number are found by it, and where all have to be drawn the loop has a turn after every few thousand.
    """
    offset, near_ns = _offsets(load, window_s), since_ns - _NEAR_NS
    if load.arrivals == "poisson":
        drawn, first = _exponential(producer, seed), 0
        while offset(first + _CHUNK - 1, float((turns := next(drawn))[-1])) < near_ns:
            first += _CHUNK
            await asyncio.sleep(0)
        found = _all_of(chain([turns], drawn), offset, first)
    else:
        at = _even(offset, producer)
        found = map(at, count(bisect_left(range(_MOST), near_ns, key=at)))
    return dropwhile(lambda at_ns: at_ns < since_ns, found)


def _offsets(load: Sending, window_s: tuple[float, float]) -> Callable[[int, float], int]:
    """When a turn comes, by its number (from 0) and by its place at a rate of 1."""
    assert load.rate is not None
    at_s = _ramp(load.rate, load.ramp.to, *window_s) if load.ramp else partial(_steady, load.rate)
    messages, pause_s = (load.bursts.messages, load.bursts.pause_s) if load.bursts else (1, 0.0)
    return lambda number, turn: round((at_s(turn) + number // messages * pause_s) * _NS)


def _even(offset: Callable[[int, float], int], producer: int) -> Callable[[int], int]:
    """Turns at a distance of 1, each from its own index so that nothing adds up.

    Producers are shifted by multiples of the golden ratio, which spreads any number of them evenly.
    """
    phase = producer * _GOLDEN % 1.0
    return lambda number: offset(number, number + phase)


def _exponential(producer: int, seed: int) -> Iterator[np.ndarray]:
    """Turns whose distances are exponential, of mean 1; many at a time."""
    generator = np.random.default_rng((seed, producer, 1, LOAD))
    turn = 0.0
    while True:
        turns = generator.exponential(1, _CHUNK)
        turns[0] += turn
        np.cumsum(turns, out=turns)  # one after the other, as a loop would add them
        turn = turns[-1]
        yield turns


def _all_of(drawn: Iterable[np.ndarray], offset: Callable[[int, float], int], first: int) -> Iterator[int]:
    return map(offset, count(first), chain.from_iterable(turns.tolist() for turns in drawn))


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
