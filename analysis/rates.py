"""The rates of the link's queues over time, where a timeline changes them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.medium import overhead, part_of
from records.airtime import Steps, capacity
from records.link import LinkProof
from records.manifest import Window

RATE, OVERHEAD = "rate_bit_per_s", "frame_overhead_s"  # metrics of the resources table
_MOST = 100  # steps that a plot can show; of more, means over as many equal spans are kept
_NS = 1_000_000_000

Points = list[tuple[float, float]]


def rate_steps(resources: pa.Table, window: Window, proof: LinkProof) -> dict[str, Steps]:
    """Queue to its rate and overhead over time; only queues of which a timeline changes one of them.

    Trials from before overheads were recorded have the link's own (see `overhead_is_known`).
    """
    found = _series(resources, window, OVERHEAD)
    return {
        name: Steps(since_s, rate, found[name][1] if name in found else np.array([overhead(proof, name)]))
        for name, (since_s, rate) in _series(resources, window, RATE).items()
    }


def _series(resources: pa.Table, window: Window, metric: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Queue to times (seconds after the window's start) and values of one metric, in order."""
    table = resources.filter(pc.equal(resources.column("metric"), metric)).combine_chunks()
    queue = pc.utf8_replace_slice(table.column("subject"), 0, len("queue:"), "").to_numpy(zero_copy_only=False)
    names, which = np.unique(queue.astype(str), return_inverse=True)
    t_s = (table.column("t_ns").to_numpy() - window.start_ns) / _NS
    order = np.lexsort((t_s, which))
    cuts = np.searchsorted(which[order], np.arange(1, len(names)))
    values = table.column("value").to_numpy()
    if not names.size:
        return {}
    parts = zip(np.split(t_s[order], cuts), np.split(values[order], cuts), strict=True)
    return dict(zip(names.tolist(), parts, strict=True))


def overhead_is_known(resources: pa.Table, proof: LinkProof) -> bool:
    """Whether it was recorded when a timeline changed a frame's overhead; it was not always."""
    return not proof.changes_overhead or bool(pc.any(pc.equal(resources.column("metric"), OVERHEAD)).as_py())


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
