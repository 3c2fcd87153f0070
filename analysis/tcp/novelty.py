"""How much of a packet's payload was new: not seen here before."""

from __future__ import annotations

import numpy as np

from analysis.tcp.acknowledgements import place
from analysis.tcp.connections import SYN
from analysis.tcp.probes import Probes
from analysis.tcp.segments import earliest_cover, starts_of
from analysis.tcp.stream import MIDDLE, Stream


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
    first = np.zeros(len(stream), dtype=bool)
    first[starts_of(stream.flow)] = True
    found[first & useful] = stream.payload[first & useful]
    behind = np.flatnonzero(useful & (low < probes.reached) & ~first)
    if len(behind):
        top = np.minimum(high[behind], probes.reached[behind])
        found += _fill(stream, probes, rows=behind, low=low[behind], high=top)
    return found


def _fill(stream: Stream, probes: Probes, *, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    gap_flow, gap_low, gap_high = _gaps(stream, probes)
    flow = stream.flow[rows]
    starts, ends = place(flow, low), place(flow, high)
    gap_starts, gap_ends = place(gap_flow, gap_low), place(gap_flow, gap_high)
    edges = np.unique(np.concatenate([starts, ends, gap_starts, gap_ends]))
    owner = earliest_cover(np.searchsorted(edges, starts), np.searchsorted(edges, ends), number=rows, count=len(edges))
    depth = np.zeros(len(edges), dtype=np.int64)
    np.add.at(depth, np.searchsorted(edges, gap_starts), 1)
    np.add.at(depth, np.searchsorted(edges, gap_ends), -1)
    pieces = np.flatnonzero((owner >= 0) & (np.cumsum(depth) > 0))
    filled = np.bincount(owner[pieces], weights=edges[pieces + 1] - edges[pieces], minlength=len(stream))
    found: np.ndarray = filled.astype(np.int64)
    return found


def _gaps(stream: Stream, probes: Probes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flow, start and end of what was jumped over; what lies before a flow's first packet is one gap, too."""
    jumps = np.flatnonzero((stream.begin > probes.reached) & ~stream.reset)
    starts = starts_of(stream.flow)
    flow = np.concatenate([stream.flow[starts], stream.flow[jumps]])
    low = np.concatenate([np.full(len(starts), -MIDDLE), probes.reached[jumps]])
    # A reset's number says nothing: behind one that comes first, the next packet jumps from the very beginning.
    head = np.where(stream.reset[starts], -MIDDLE, stream.begin[starts])
    high = np.concatenate([head, stream.begin[jumps]])
    return flow, low, high
