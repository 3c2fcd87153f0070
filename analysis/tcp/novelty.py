"""How much of a packet's payload was new: not seen here before."""

from __future__ import annotations

import numpy as np

from analysis.tcp.acknowledgements import place
from analysis.tcp.connections import SYN
from analysis.tcp.probes import Probes
from analysis.tcp.segments import SPAN, earliest_cover, starts_of
from analysis.tcp.stream import MIDDLE, Stream, firsts

Gaps = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Flow, start and end of each."""


def new_bytes(stream: Stream, probes: Probes) -> np.ndarray:
    """Payload bytes of each packet that no packet before it carried (int64).

    What stands above all that was reached is new.  What stands below is new where it fills a gap that no
    packet filled before: the bytes behind are cut at all edges of gaps and of such packets, and each piece in a
    gap goes to the first packet over it.  A probe's byte is offered, not sent, and is never new.
    """
    low = stream.begin + (stream.flags & SYN != 0)
    high = low + stream.payload
    useful = stream.data & (stream.payload > 0) & ~probes.probe
    found = np.where(useful, np.maximum(high - np.maximum(low, probes.reached), 0), 0)
    first = firsts(stream)
    found[first & useful] = stream.payload[first & useful]
    behind = np.flatnonzero(useful & (low < probes.reached) & ~first)
    if len(behind):
        top = np.minimum(high[behind], probes.reached[behind])
        found += _fill(stream, probes, rows=behind, low=low[behind], high=top)
    return found


def _fill(stream: Stream, probes: Probes, *, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    edges, owner, jumped = _pieces(stream.flow[rows], low, high, rows=rows, gaps=_gaps(stream, probes))
    pieces = np.flatnonzero((owner >= 0) & jumped)
    filled = np.bincount(owner[pieces], weights=edges[pieces + 1] - edges[pieces], minlength=len(stream))
    found: np.ndarray = filled.astype(np.int64)
    return found


def open_gaps(stream: Stream, probes: Probes, *, rows: np.ndarray) -> Gaps:
    """What the packets of a mask, and those before them, have jumped over, and have not brought."""
    low = stream.begin + (stream.flags & SYN != 0)
    brings = np.flatnonzero(rows & stream.data & (stream.payload > 0) & ~probes.probe)
    flow, low, high = stream.flow[brings], low[brings], (low + stream.payload)[brings]
    edges, owner, jumped = _pieces(flow, low, high, rows=brings, gaps=_gaps(stream, probes, rows=rows))
    pieces = np.flatnonzero((owner < 0) & jumped)
    of = edges[pieces] // SPAN
    return of, edges[pieces] - of * SPAN - MIDDLE, edges[pieces + 1] - of * SPAN - MIDDLE


def _pieces(
    flow: np.ndarray, low: np.ndarray, high: np.ndarray, *, rows: np.ndarray, gaps: Gaps
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flows and offsets cut at all edges: where pieces begin, the first of `rows` over each, whether it is in a gap."""
    gap_flow, gap_low, gap_high = gaps
    starts, ends = place(flow, low), place(flow, high)
    gap_starts, gap_ends = place(gap_flow, gap_low), place(gap_flow, gap_high)
    edges = np.unique(np.concatenate([starts, ends, gap_starts, gap_ends]))
    owner = earliest_cover(np.searchsorted(edges, starts), np.searchsorted(edges, ends), number=rows, count=len(edges))
    depth = np.zeros(len(edges), dtype=np.int64)
    np.add.at(depth, np.searchsorted(edges, gap_starts), 1)
    np.add.at(depth, np.searchsorted(edges, gap_ends), -1)
    return edges, owner, np.cumsum(depth) > 0


def _gaps(stream: Stream, probes: Probes, *, rows: np.ndarray | None = None) -> Gaps:
    """What was jumped over, by the packets of a mask only; what lies before a flow's first packet is one gap, too."""
    jumping = (stream.begin > probes.reached) & ~stream.reset
    jumps = np.flatnonzero(jumping if rows is None else jumping & rows)
    if (before := stream.before) is not None:
        flow = np.concatenate([before.gap_flow, stream.flow[jumps]])
        low = np.concatenate([before.gap_low, probes.reached[jumps]])
        return flow, low, np.concatenate([before.gap_high, stream.begin[jumps]])
    starts = starts_of(stream.flow)
    flow = np.concatenate([stream.flow[starts], stream.flow[jumps]])
    low = np.concatenate([np.full(len(starts), -MIDDLE), probes.reached[jumps]])
    # A reset's number says nothing: behind one that comes first, the next packet jumps from the very beginning.
    head = np.where(stream.reset[starts], -MIDDLE, stream.begin[starts])
    high = np.concatenate([head, stream.begin[jumps]])
    return flow, low, high
