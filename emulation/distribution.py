"""Delay distributions as netem takes them: equally likely values of mean 0, in units of the jitter, times 8192."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from emulation.direction import DirectionProfile, JitterTable

SCALE = 8192
_SIZE = 4096
_PARETO_SHAPE = 3.0  # as in iproute2's pareto.dist: a heavy tail whose variance exists


def table(side: DirectionProfile) -> np.ndarray:
    """The distribution of a direction's jitter, int16."""
    chosen = side.jitter_distribution
    if isinstance(chosen, JitterTable):
        return np.asarray(chosen.values, dtype=np.int16)
    shares = (np.arange(_SIZE) + 0.5) / _SIZE
    values = {"uniform": _uniform, "normal": ndtri, "pareto": _pareto}[chosen](shares)
    found: np.ndarray = np.clip(np.round(values * SCALE), -32768, 32767).astype(np.int16)
    return found


def _uniform(shares: np.ndarray) -> np.ndarray:
    """From -1 to 1: the jitter is the half width."""
    return 2 * shares - 1


def _pareto(shares: np.ndarray) -> np.ndarray:
    """Mean 0, standard deviation 1.  netem's 16 bits cut it off at four standard deviations."""
    a = _PARETO_SHAPE
    mean, deviation = a / (a - 1), np.sqrt(a / ((a - 1) ** 2 * (a - 2)))
    values: np.ndarray = ((1 - shares) ** (-1 / a) - mean) / deviation
    return values
