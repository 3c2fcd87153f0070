"""What chosen flows did bin by bin: packets, bytes, repetitions, and how long any of them was in loss recovery."""

from __future__ import annotations

import numpy as np

from analysis.tcp.analysis import Analysis


def per_bin(analysis: Analysis, chosen: np.ndarray, edges_ns: np.ndarray) -> dict[str, np.ndarray]:
    """Sums over the flows that `chosen` (a mask over flows) names, between neighbouring edges (wall clock, ns).

    packets, wire_bytes; retr_or_ooo counts packets with payload, as the flow table does.
    """
    stream, bins = analysis.stream, len(edges_ns) - 1
    place = np.searchsorted(edges_ns, stream.t_ns, side="right") - 1
    rows = np.flatnonzero(chosen[stream.flow] & (place >= 0) & (place < bins))
    place = place[rows]
    again = analysis.retr_or_ooo[rows] & (stream.payload[rows] > 0)
    wire = analysis.packets.wire[analysis.order[rows]]
    return {
        "packets": np.bincount(place, minlength=bins),
        "wire_bytes": np.bincount(place, weights=wire, minlength=bins),
        "retr_or_ooo": np.bincount(place[again], minlength=bins),
    }


def episodes_of(analysis: Analysis, chosen: np.ndarray) -> np.ndarray:
    """Start and end (wall clock, ns; shape n x 2) of the episodes of loss recovery of the chosen flows."""
    mine = chosen[analysis.recovery.flow]
    return np.stack([analysis.recovery.start_ns[mine], analysis.recovery.end_ns[mine]], axis=1)


def covered_share(intervals: np.ndarray, edges_ns: np.ndarray) -> np.ndarray:
    """Share of each bin that at least one of the intervals (n x 2) covers."""
    widths = np.diff(edges_ns)
    if not len(intervals):
        return np.zeros(len(widths))
    intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reach = np.maximum.accumulate(intervals[:, 1])
    fresh = np.concatenate([[True], intervals[1:, 0] > reach[:-1]])
    starts = intervals[fresh, 0]
    ends = reach[np.append(np.flatnonzero(fresh)[1:] - 1, len(reach) - 1)]
    before = np.concatenate([[0], np.cumsum(ends - starts)])
    at = np.searchsorted(starts, edges_ns, side="right")
    last = np.maximum(at - 1, 0)
    spent = np.where(at > 0, before[last] + np.clip(edges_ns - starts[last], 0, (ends - starts)[last]), 0)
    found: np.ndarray = np.diff(spent) / widths
    return found
