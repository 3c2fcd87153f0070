"""From deliveries' parts to a trial's: the mean, and what the deliveries around each percentile have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.journey.parts import LATENCY, MEAN, PERCENTILES

# Of all deliveries, so many on each side of a percentile speak for it, at most half of those beyond it.
NEIGHBOURS = 0.01


def near(latency: np.ndarray, share: float) -> np.ndarray:
    """Indices of the deliveries whose rank is near a percentile, at least the nearest one."""
    order = np.argsort(latency, kind="stable")
    middle = share * (len(order) - 1)
    reach = min(NEIGHBOURS, (1 - share) / 2) * len(order)
    low, high = int(np.ceil(middle - reach)), int(np.floor(middle + reach))
    nearest = round(middle)
    found: np.ndarray = order[min(low, nearest) : max(high, nearest) + 1]
    return found


def summary(names: Sequence[str], parts: np.ndarray, latency: np.ndarray) -> dict[str, dict[str, float]]:
    """Means by key (parts.KEYS): of every part, by its name, and of the ledger's latency, which the parts must sum to.

    parts: a row for each name, a column for each delivery, in seconds.  latency: of the same deliveries.
    """
    if not len(latency):
        return {}
    chosen = {MEAN: np.arange(len(latency))} | {key: near(latency, share) for key, share in PERCENTILES.items()}
    return {
        key: dict(zip(names, parts[:, which].mean(axis=1).tolist(), strict=True))
        | {LATENCY: float(latency[which].mean())}
        for key, which in chosen.items()
    }
