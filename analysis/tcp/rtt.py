"""Round-trip times: from a segment's first transmission to the acknowledgement of its last byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.tcp.acknowledgements import Acks, cover, place, water
from analysis.tcp.probes import Probes
from analysis.tcp.segments import first_at_least
from analysis.tcp.stream import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One row per acknowledgement that ends exactly on a segment which was not acknowledged yet.

    flow: the flow of the data.  frame, t_ns: of the acknowledgement.  karn: the acknowledgement covers no
    byte that was sent twice, so the time is unambiguous (Karn and Partridge 1987; RFC 6298, section 3).
    Without that filter the samples are tshark's.
    """

    flow: np.ndarray
    frame: np.ndarray
    t_ns: np.ndarray
    rtt_ns: np.ndarray
    karn: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """What is left of samples for means and quantiles: they are many.  flow: in a narrow type."""

    flow: np.ndarray
    rtt_ns: np.ndarray
    karn: np.ndarray


def ended_within(samples: Samples, *, flows: int, start_ns: int, end_ns: int) -> RoundTrips:
    """Those whose acknowledgement came in [start_ns, end_ns).  flows: how many there are."""
    chosen = (samples.t_ns >= start_ns) & (samples.t_ns < end_ns)
    return RoundTrips(
        flow=samples.flow[chosen].astype(np.min_scalar_type(flows)),
        rtt_ns=samples.rtt_ns[chosen],
        karn=samples.karn[chosen],
    )


def rtt_samples(stream: Stream, *, probes: Probes, acks: Acks) -> Samples:
    """Samples of all flows, those of acknowledgements that advance before the others."""
    rows = np.flatnonzero(stream.data & (stream.reverse >= 0))
    known = water(acks, stream, rows) >= stream.end[rows]
    segment, answer = _advancing_pairs(stream, rows[~known], acks)
    late_segment, late_answer = _repeated_pairs(stream, rows[known])
    again = stream.data & ((stream.begin < probes.reached) | probes.probe)
    doubtful = _covers_repetition(stream, np.flatnonzero(again), acks)
    karn = np.concatenate([~doubtful[answer], np.zeros(len(late_answer), dtype=bool)])
    segment = np.concatenate([segment, late_segment])
    answer = np.concatenate([acks.row[answer], late_answer])
    return Samples(
        flow=stream.flow[segment],
        frame=stream.frame[answer],
        t_ns=stream.t_ns[answer],
        rtt_ns=stream.t_ns[answer] - stream.t_ns[segment],
        karn=karn,
    )


def _advancing_pairs(stream: Stream, rows: np.ndarray, acks: Acks) -> tuple[np.ndarray, np.ndarray]:
    """Segments and the number in `acks` of the acknowledgement that ends on them; the first segment of each."""
    answer = cover(acks, stream.flow[rows], stream.end[rows])
    exact = answer >= 0
    exact[exact] = acks.value[answer[exact]] == stream.end[rows[exact]]
    segment = np.full(len(acks.row), -1)
    # Where an index is repeated numpy keeps what was assigned last, so the earliest segment goes last.
    segment[answer[exact][::-1]] = rows[exact][::-1]
    answered = np.flatnonzero(segment >= 0)
    return segment[answered], answered


def _repeated_pairs(stream: Stream, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for segments seen after all of them was acknowledged: the next acknowledgement that covers them."""
    if not len(rows):
        return rows, rows
    start = np.searchsorted(stream.key, stream.reverse[rows] * stream.frames + stream.frame[rows])
    answer = first_at_least(stream.acked, start=start, bound=stream.end[rows])
    there = answer < len(stream)
    there[there] = (stream.flow[answer[there]] == stream.reverse[rows[there]]) & (
        stream.acked[answer[there]] == stream.end[rows[there]]
    )
    answer, first = np.unique(answer[there], return_index=True)
    return rows[there][first], answer


def _covers_repetition(stream: Stream, rows: np.ndarray, acks: Acks) -> np.ndarray:
    """Which acknowledgements newly cover bytes that had been sent twice by then.

    The acknowledgements of a flow cut its bytes into ranges; a repetition of [begin, end) touches those from
    the first that ends above `begin` to the first that ends at or above `end`.
    """
    edges = np.zeros(len(acks.row) + 1, dtype=np.int64)
    rows = rows[stream.end[rows] > water(acks, stream, rows)]  # of the others nothing is left to acknowledge
    flow = stream.flow[rows]
    low = np.searchsorted(acks.place, place(flow, stream.begin[rows]), side="right")
    high = np.searchsorted(acks.place, place(flow, stream.end[rows]), side="left")
    later = np.searchsorted(acks.time, stream.key[rows], side="right")
    last = np.searchsorted(acks.flow, flow, side="right") - 1
    low, high = np.maximum(low, later), np.minimum(high, last)
    touches = low <= high
    np.add.at(edges, low[touches], 1)
    np.add.at(edges, high[touches] + 1, -1)
    found: np.ndarray = np.cumsum(edges[:-1]) > 0
    return found
