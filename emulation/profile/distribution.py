"""Delay distributions as netem takes them: equally likely values of mean 0, in units of a jitter, times 8192."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from emulation.profile.direction import DirectionProfile, JitterTable

SCALE = 8192
_MOST = 32767
_SIZE = 4096
_PARETO_SHAPE = 3.0  # as in iproute2's pareto.dist: a heavy tail whose variance exists


def table(side: DirectionProfile) -> tuple[float, np.ndarray]:
    """The jitter (s) to ask netem for, and the distribution of a direction's jitter in its units, int16.

    16 bits end at four units, and a heavy tail does not: its unit is larger than its standard deviation.  (The end of
    iproute2's own pareto.dist is cut off, which leaves three quarters of the deviation.)
    """
    unit, values = _units(side.jitter_distribution)
    return side.jitter * unit, values


@lru_cache(maxsize=16)
def _units(chosen: str | JitterTable) -> tuple[float, np.ndarray]:
    """How much larger netem's unit is than the jitter, and the distribution in that unit."""
    if isinstance(chosen, JitterTable):
        return 1.0, np.asarray(chosen.values, dtype=np.int16)
    values = _VALUES[chosen]((np.arange(_SIZE) + 0.5) / _SIZE)
    unit = max(float(np.abs(values).max()) * SCALE / _MOST, 1.0)
    return unit, np.round(values / unit * SCALE).astype(np.int16)


def drawn(side: DirectionProfile) -> np.ndarray:
    """Equally likely delays (s) of a direction."""
    jitter, values = table(side)
    found: np.ndarray = side.delay + jitter * values / SCALE
    return found


def longest(side: DirectionProfile) -> float:
    """The longest delay (s) that a packet of a direction can meet."""
    return float(drawn(side).max()) if side.jitter else side.delay


def _uniform(shares: np.ndarray) -> np.ndarray:
    """From -1 to 1: the jitter is the half width."""
    return 2 * shares - 1


def _normal(shares: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri  # noqa: PLC0415 - takes a quarter of a second, which most commands can do without

    return _standard(ndtri(shares))


def _pareto(shares: np.ndarray) -> np.ndarray:
    return _standard((1 - shares) ** (-1 / _PARETO_SHAPE))


def _standard(values: np.ndarray) -> np.ndarray:
    """Shifted and stretched to mean 0 and standard deviation 1."""
    found: np.ndarray = (values - values.mean()) / values.std()
    return found


_VALUES = {"uniform": _uniform, "normal": _normal, "pareto": _pareto}
