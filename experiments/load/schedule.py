"""When an open loop sends, and what with; everything follows from the seed."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator
from itertools import count, repeat

import numpy as np

_NS = 1e9
_CHUNK = 4096
_GOLDEN = (math.sqrt(5) - 1) / 2
_LETTERS = np.frombuffer(string.ascii_lowercase.encode(), dtype=np.uint8)


def constant(*, rate: float, producer: int) -> Iterator[int]:
    """Offsets from go in nanoseconds, `rate` per second, each from its own index so that nothing adds up.

    Producers are shifted by multiples of the golden ratio, which spreads any number of them evenly.
    """
    phase = producer * _GOLDEN % 1.0
    return (round((index + phase) / rate * _NS) for index in count())


def poisson(*, rate: float, producer: int, seed: int) -> Iterator[int]:
    """Offsets from go in nanoseconds with exponential gaps of mean 1 / rate seconds."""
    generator = np.random.default_rng((seed, producer, 1))
    t = 0.0
    while True:
        for gap in generator.exponential(1 / rate, _CHUNK).tolist():
            t += gap
            yield round(t * _NS)


def properties(*, upper: int | None, producer: int, seed: int) -> Iterator[int | None]:
    """The property of each message in turn: uniform in [0, upper), or None."""
    if upper is None:
        return repeat(None)
    return _uniform(upper, np.random.default_rng((seed, producer, 0)))


def _uniform(upper: int, generator: np.random.Generator) -> Iterator[int]:
    while True:
        yield from generator.integers(upper, size=_CHUNK).tolist()


def padding(*, size: int, producer: int, seed: int) -> bytes:
    """Body bytes: lower-case letters, so that they never look like a marker."""
    generator = np.random.default_rng((seed, producer, 2))
    return generator.choice(_LETTERS, size).tobytes()
