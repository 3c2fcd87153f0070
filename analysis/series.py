"""What happened second by second, from go to the end of the drain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.ledger import Ledger
from analysis.medium import overhead, part_of, queue_rate
from analysis.rates import RATE, Points, Steps, capacity, constant, rate_series
from results.link import LinkProof
from results.manifest import Window

_SHORTEST = 0.2  # a first or last bin shorter than this share of a second says too little to be drawn
_NS = 1_000_000_000
_FULL_FRAME_BITS = 12_112  # 1514 bytes: where the rate changes, a bin that could not carry one has no use to speak of

Series = dict[str, Points]


def edges(window: Window) -> np.ndarray:
    """Bin edges in seconds from the window's start; bins are whole seconds, cut at go and at the drain's end."""
    low, high = (window.go_ns - window.start_ns) / _NS, (window.drained_ns - window.start_ns) / _NS
    inner = np.arange(np.ceil(low + _SHORTEST), np.floor(high - _SHORTEST) + 1)
    return np.concatenate([[low], inner, [high]]) if high > low else np.array([low, low + 1.0])


def ledger_series(ledger: Ledger, window: Window) -> Series:
    """Answered sends and first deliveries per second: (middle of the bin in seconds, rate)."""
    bins = edges(window)
    return {
        "published_per_s": _rates(ledger.t_ack, window, bins),
        "delivered_per_s": _rates(ledger.t_recv, window, bins),
    }


def _rates(t_ns: np.ndarray, window: Window, bins: np.ndarray) -> Points:
    counts = np.histogram((t_ns - window.start_ns) / _NS, bins)[0]
    return _points((bins[1:] + bins[:-1]) / 2, counts / np.diff(bins))


def queue_series(
    resources: pa.Table, proof: LinkProof, window: Window, steps: Mapping[str, Steps] | None = None
) -> Series:
    """Utilisation of the busiest queue of each part of the medium, and bytes waiting in all queues (bin means).

    steps: the rates of queues whose rate changes; they have a series of their own (see rate_series).
    """
    sampled = resources.filter(pc.not_equal(resources.column("metric"), RATE))
    rows = {name: sampled.column(name).to_numpy(zero_copy_only=False) for name in sampled.schema.names}
    bins = edges(window)
    busiest: dict[str, dict[float, float]] = {}
    waiting: dict[float, float] = {}
    for subject in sorted({name for name in rows["subject"].tolist() if name.startswith("queue:")}):
        queue = subject.removeprefix("queue:")
        mine = rows["subject"] == subject
        rate = queue_rate(proof, queue)
        if rate is not None:
            sent = mine & (rows["metric"] == "sent_bytes")
            part = busiest.setdefault(f"utilisation_{part_of(queue)}", {})
            rates = (steps or {}).get(queue, constant(rate))
            carried = rows["value"][sent]
            if each := overhead(proof, queue):  # occupies the medium like bytes do; samples of both are of one time
                carried = carried + rows["value"][mine & (rows["metric"] == "sent_packets")] * each * rate / 8
            for t, share in _utilisation(rows["t_ns"][sent], carried, window, bins, rates):
                part[t] = max(part.get(t, 0.0), share)
        held = mine & (rows["metric"] == "backlog_bytes")
        for t, held_bytes in _means(rows["t_ns"][held], rows["value"][held], window, bins):
            waiting[t] = waiting.get(t, 0.0) + held_bytes
    series = {name: sorted(points.items()) for name, points in busiest.items() if points}
    series |= {"backlog_bytes": sorted(waiting.items())} if waiting else {}
    return series | rate_series(steps or {}, float(bins[0]), float(bins[-1]))


def _utilisation(t_ns: np.ndarray, sent_bytes: np.ndarray, window: Window, bins: np.ndarray, steps: Steps) -> Points:
    """Between samples a queue is taken to send at a steady share of its rate, whatever that is at the time."""
    if len(t_ns) < 2:
        return []
    order = np.argsort(t_ns, kind="stable")
    t = (t_ns[order] - window.start_ns) / _NS
    could = capacity(steps, bins)
    at_edge = np.interp(could, capacity(steps, t), sent_bytes[order])
    sampled = (bins[:-1] >= t[0] - _SHORTEST) & (bins[1:] <= t[-1] + _SHORTEST)
    if len(steps.rate) > 1:
        sampled &= np.diff(could) >= _FULL_FRAME_BITS
    share = np.diff(at_edge)[sampled] * 8 / np.diff(could)[sampled]
    return _points(((bins[1:] + bins[:-1]) / 2)[sampled], share)


def _means(t_ns: np.ndarray, values: np.ndarray, window: Window, bins: np.ndarray) -> Points:
    t = (t_ns - window.start_ns) / _NS
    counts = np.histogram(t, bins)[0]
    totals = np.histogram(t, bins, weights=values)[0]
    have = counts > 0
    return _points(((bins[1:] + bins[:-1]) / 2)[have], totals[have] / counts[have])


def _points(x: np.ndarray, y: np.ndarray) -> Points:
    return list(zip(x.tolist(), y.tolist(), strict=True))
