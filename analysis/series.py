"""What happened second by second, from go to the end of the drain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.medium import overhead, part_of, queue_rate
from analysis.rates import OVERHEAD, RATE, Points, rate_series
from records.airtime import Steps, capacity, carried, constant
from records.link import LinkProof
from records.manifest import Window
from records.window_metrics import Ledger

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
    """Utilisation of the busiest queue of each part of all media, and bytes waiting in all their queues (bin means).

    steps: the rates of queues whose rate changes; they have a series of their own (see rate_series).
    """
    rows = _sampled(resources)
    bins = edges(window)
    busiest: dict[str, dict[float, float]] = {}
    waiting: dict[float, float] = {}
    for medium, queue in _of_media(_queues(rows), proof):
        name = queue.rpartition("/")[2]
        rate = queue_rate(medium, name)
        if rate is not None:
            part = busiest.setdefault(f"utilisation_{part_of(name)}", {})
            own = (steps or {}).get(queue, constant(rate, overhead(medium, name)))
            for t, share in _utilisation(rows, queue, window, bins, own):
                part[t] = max(part.get(t, 0.0), share)
        held = _of(rows, queue, "backlog_bytes")
        for t, held_bytes in _means(rows.t_ns[held], rows.value[held], window, bins):
            waiting[t] = waiting.get(t, 0.0) + held_bytes
    series = {part: sorted(points.items()) for part, points in busiest.items() if points}
    series |= {"backlog_bytes": sorted(waiting.items())} if waiting else {}
    return series | rate_series(steps or {}, float(bins[0]), float(bins[-1]))


def window_uses(resources: pa.Table, window: Window, steps: Mapping[str, Steps]) -> dict[str, float]:
    """Bits carried by bits that could have been, of the queues that change and whose frames cost more than bits.

    What such a frame costs depends on when it was sent, and a window's sums do not say that.
    """
    rows, bins, found = _sampled(resources), np.array([0.0, window.seconds]), {}
    for queue in _queues(rows):
        if queue not in steps or not steps[queue].overhead.any():
            continue
        for _, share in _utilisation(rows, queue, window, bins, steps[queue]):
            found[queue] = share
    return found


@dataclass(frozen=True, slots=True)
class _Sampled:
    """of: by subject and metric the rows of its samples, in their order."""

    t_ns: np.ndarray
    value: np.ndarray
    of: Mapping[tuple[str, str], np.ndarray]


_NO_ROWS = np.empty(0, dtype=np.int64)


def _sampled(resources: pa.Table) -> _Sampled:
    set_ = pc.is_in(resources.column("metric"), pa.array([RATE, OVERHEAD]))
    sampled = resources.filter(pc.invert(set_)).combine_chunks()
    names = [sampled.column(name).combine_chunks().dictionary_encode() for name in ("subject", "metric")]
    # By one key for all, since stations come to hundreds, and each has queues of its own.
    subject, metric = (one.indices.to_numpy().astype(np.int64) for one in names)
    key = subject * len(names[1].dictionary) + metric
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    each = (divmod(one, len(names[1].dictionary)) for one in keys.tolist())
    subjects, metrics = (one.dictionary.to_pylist() for one in names)
    of = {(subjects[a], metrics[b]): some for (a, b), some in zip(each, np.split(order, first[1:]), strict=False)}
    return _Sampled(t_ns=sampled.column("t_ns").to_numpy(), value=sampled.column("value").to_numpy(), of=of)


def _queues(rows: _Sampled) -> list[str]:
    """Of all segments; of others than the first as `<segment>/<queue>`."""
    return sorted({name.removeprefix("queue:") for name, _ in rows.of if name.startswith("queue:")})


def _of_media(queues: Sequence[str], proof: LinkProof) -> Iterator[tuple[LinkProof, str]]:
    """Those of media that stations hang on, with the medium's own proof; not those of links between routers."""
    of = {"" if medium is proof else medium.segment: medium for medium in proof.media}
    for queue in queues:
        segment = queue.rpartition("/")[0]
        if segment in of:
            yield of[segment], queue


def _of(rows: _Sampled, queue: str, metric: str) -> np.ndarray:
    return rows.of.get((f"queue:{queue}", metric), _NO_ROWS)


def _utilisation(rows: _Sampled, queue: str, window: Window, bins: np.ndarray, steps: Steps) -> Points:
    """Between samples a queue is taken to send at a steady share of its rate, whatever that is at the time."""
    sent, frames = _of(rows, queue, "sent_bytes"), _of(rows, queue, "sent_packets")
    if len(sent) < 2:
        return []
    order = np.argsort(rows.t_ns[sent], kind="stable")
    t = (rows.t_ns[sent][order] - window.start_ns) / _NS
    # Samples of both counters are of one time; without overhead it does not matter how many frames there were.
    packets = rows.value[frames][order] if steps.overhead.any() else np.zeros(len(t))
    could = capacity(steps, bins)
    at_edge = np.interp(could, capacity(steps, t), carried(steps, t, rows.value[sent][order], packets))
    sampled = (bins[:-1] >= t[0] - _SHORTEST) & (bins[1:] <= t[-1] + _SHORTEST)
    if len(steps.rate) > 1:
        sampled &= np.diff(could) >= _FULL_FRAME_BITS
    share = np.diff(at_edge)[sampled] / np.diff(could)[sampled]
    return _points(((bins[1:] + bins[:-1]) / 2)[sampled], share)


def _means(t_ns: np.ndarray, values: np.ndarray, window: Window, bins: np.ndarray) -> Points:
    t = (t_ns - window.start_ns) / _NS
    counts = np.histogram(t, bins)[0]
    totals = np.histogram(t, bins, weights=values)[0]
    have = counts > 0
    return _points(((bins[1:] + bins[:-1]) / 2)[have], totals[have] / counts[have])


def _points(x: np.ndarray, y: np.ndarray) -> Points:
    return list(zip(x.tolist(), y.tolist(), strict=True))
