"""Metrics of one trial from its ledger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from analysis.statistics import Percentile, percentile
from results.figures import Ledger, inside, longest_silence, read_ledger, window_metrics
from results.ledger import reconcile
from results.manifest import Consumer, Window

__all__ = [
    "ECDF_POINTS", "PERCENTILES", "Ledger", "account_metrics", "latency_ecdf", "latency_percentiles",
    "longest_silence", "read_ledger", "window_metrics",
]  # fmt: skip

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
ECDF_POINTS = 200


def account_metrics(published: pa.Table, delivered: pa.Table, consumers: Sequence[Consumer]) -> dict[str, float | None]:
    """What became of the messages of the whole trial, as shares (see results.ledger.Reconciliation)."""
    found = reconcile(published, delivered, consumers)

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


def latency_ecdf(ledger: Ledger, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """At most 200 points of the distribution of latency inside the window: shares and seconds."""
    latency = ledger.latency[inside(ledger.t_recv, window)] / 1e9
    if not len(latency):
        return np.empty(0), np.empty(0)
    shares = np.linspace(0, 1, min(len(latency), ECDF_POINTS))
    return shares, np.quantile(latency, shares)


def latency_percentiles(ledger: Ledger, window: Window) -> dict[str, Percentile]:
    """Percentiles of latency inside the window in seconds, all messages pooled; empty when there is none."""
    latency = np.sort(ledger.latency[inside(ledger.t_recv, window)] / 1e9)
    return {name: percentile(latency, share) for name, share in PERCENTILES.items()} if len(latency) else {}
