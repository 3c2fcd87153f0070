"""The rates of the link's queues over time, where a timeline changes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.medium import part_of
from results.manifest import Window

RATE = "rate_bit_per_s"  # metric of the resources table
_MOST = 100  # steps that a plot can show; of more, means over as many equal spans are kept
_NS = 1_000_000_000

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Steps:
    """since_s: seconds after the window's start, ascending.  rate: bit/s from then on; the first holds before, too."""

    since_s: np.ndarray
    rate: np.ndarray


def constant(rate: float) -> Steps:
    """A rate (bit/s) that never changes."""
    return Steps(np.zeros(1), np.array([rate]))


def rate_steps(resources: pa.Table, window: Window) -> dict[str, Steps]:
    """Queue to its rate over time; only queues whose rate a timeline changes."""
    table = resources.filter(pc.equal(resources.column("metric"), RATE)).combine_chunks()
    queue = pc.utf8_replace_slice(table.column("subject"), 0, len("queue:"), "").to_numpy(zero_copy_only=False)
    names, which = np.unique(queue.astype(str), return_inverse=True)
    t_s = (table.column("t_ns").to_numpy() - window.start_ns) / _NS
    order = np.lexsort((t_s, which))
    cuts = np.searchsorted(which[order], np.arange(1, len(names)))
    rate = table.column("value").to_numpy()
    parts = (
        zip(names.tolist(), np.split(t_s[order], cuts), np.split(rate[order], cuts), strict=True) if names.size else ()
    )
    return {name: Steps(since_s, rates) for name, since_s, rates in parts}


def capacity(steps: Steps, t_s: np.ndarray) -> np.ndarray:
    """Bits that could pass from the first step until `t_s` (negative before it)."""
    passed = np.concatenate([[0.0], np.cumsum(steps.rate[:-1] * np.diff(steps.since_s))])
    at = np.maximum(np.searchsorted(steps.since_s, t_s, side="right") - 1, 0)
    bits: np.ndarray = passed[at] + steps.rate[at] * (t_s - steps.since_s[at])
    return bits


def mean_rate(steps: Steps, window: Window) -> float:
    """Mean rate in bit/s over the window."""
    return float(np.diff(capacity(steps, np.array([0.0, window.seconds])))[0]) / window.seconds


def rate_series(steps: Mapping[str, Steps], low_s: float, high_s: float) -> dict[str, Points]:
    """Steps to draw, (seconds after the window's start, bit/s from then on), from low_s to high_s.

    `rate_<part>` of the first queue of each part of the medium; queues that differ from it have a series
    `rate_<queue>`.
    """
    series: dict[str, Points] = {}
    seen: set[tuple[str, bytes]] = set()
    for queue, found in steps.items():
        part = part_of(queue)
        if (part, found.rate.tobytes()) not in seen:
            name = f"rate_{part}" if f"rate_{part}" not in series else f"rate_{queue}"
            series[name] = _points(found, low_s, high_s)
            seen.add((part, found.rate.tobytes()))
    return series


def _points(steps: Steps, low_s: float, high_s: float) -> Points:
    first = max(int(np.searchsorted(steps.since_s, low_s, side="right")) - 1, 0)
    last = int(np.searchsorted(steps.since_s, high_s))
    since_s, rate = np.maximum(steps.since_s[first:last], low_s), steps.rate[first:last]
    if len(rate) > _MOST:
        edges = np.linspace(low_s, high_s, _MOST + 1)
        since_s, rate = edges[:-1], np.diff(capacity(steps, edges)) / np.diff(edges)
    points = list(zip(since_s.tolist(), rate.tolist(), strict=True))
    return [*points, (high_s, points[-1][1])] if points else []
