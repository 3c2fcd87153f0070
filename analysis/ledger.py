"""Metrics of one trial from its ledger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from analysis.statistics import Percentile, percentile
from records.audience import Audience
from records.ledger import reconcile
from records.waits import Figure, Lengths

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
ECDF_POINTS = 200


def account_metrics(published: pa.Table, delivered: pa.Table, them: Sequence[Audience]) -> dict[str, float | None]:
    """What became of the messages of the whole trial, as shares (see records.ledger.Reconciliation)."""
    found = reconcile(published, delivered, them)

    def share(number: int, of: int) -> float | None:
        return number / of if of else None

    return {
        "loss_share": share(found.lost, found.expected),
        "in_doubt_share": share(found.in_doubt, found.expected),
        "duplicate_share": share(found.duplicates, found.delivered),
        "reordered_share": share(found.reordered, found.delivered),
        "refused": float(found.refused),
        "expected": float(found.expected),
        "lost": float(found.lost),
        "in_doubt": float(found.in_doubt),
        "duplicates": float(found.duplicates),
        "reordered": float(found.reordered),
        "foreign": float(found.foreign),
    }


def latency_ecdf(lengths: Lengths) -> tuple[np.ndarray, np.ndarray]:
    """At most 200 points of the distribution of latency: shares of all that was sent, and seconds.

    What never came is in no point: the last share is that of what came.
    """
    came = lengths.ended_s
    if not len(came):
        return np.empty(0), np.empty(0)
    shares = np.linspace(0, 1, min(len(came), ECDF_POINTS)) if len(came) > 1 else np.ones(1)
    return shares * len(came) / len(lengths), np.quantile(came, shares)


def latency_percentiles(lengths: Lengths) -> dict[str, tuple[Figure, Percentile]]:
    """Percentiles of latency in seconds, all messages pooled; empty when there is none.

    Of the interval, an end that lies among what never came is None; the lower one is then a lower bound, too.
    """
    found = {}
    for name, share in PERCENTILES.items():
        if (value := lengths.quantile(share)) is not None:
            low, high = percentile(lengths.least_s, share), percentile(lengths.most_s, share)
            end = high.high if high.high is not None and np.isfinite(high.high) else None
            found[name] = value, Percentile(value=value.value, low=low.low, high=end)
    return found
