"""From deliveries' parts to a trial's: the mean, and what the deliveries around each percentile have in common."""

from __future__ import annotations

import numpy as np

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
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


def summary(parts: np.ndarray) -> dict[str, np.ndarray]:
    """Mean parts by key (`mean`, `p50`, ...).  parts: one row each, one column per delivery, in seconds."""
    if not parts.shape[1]:
        return {}
    latency = parts.sum(axis=0)
    chosen = {key: near(latency, share) for key, share in PERCENTILES.items()}
    return {"mean": parts.mean(axis=1)} | {key: parts[:, which].mean(axis=1) for key, which in chosen.items()}
