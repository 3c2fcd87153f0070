"""How straight a series is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def r_squared(at: Sequence[float], values: Sequence[float]) -> float:
    """The share of the values' variance that the straight line nearest to them (least squares) explains, 0 to 1.

    0 for values that are all equal: nothing varies that a line could explain.
    """
    x, y = np.asarray(at, dtype=float), np.asarray(values, dtype=float)
    x, y = x - x.mean(), y - y.mean()
    whole = float(y @ y)
    return min(float(x @ y) ** 2 / (float(x @ x) * whole), 1.0) if whole else 0.0
