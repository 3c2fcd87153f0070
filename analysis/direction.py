"""What the flows of one direction did in one trial, over all captures: the trial's own figures and its seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from analysis.rows import Rows
from analysis.series import edges
from analysis.tcp.series import covered_share
from records.manifest import Window

_PER_SECOND = {"packets": "packets_per_s", "wire_bytes": "wire_bytes_per_s", "retr_or_ooo": "retr_per_s"}


@dataclass(slots=True)
class Direction:
    """Sums over the flows of one direction.  edges_ns: of the trial's seconds, on the captures' clock."""

    edges_ns: np.ndarray
    data_packets: int = 0
    new_bytes: int = 0
    retr_or_ooo: int = 0
    rtt_samples: int = 0
    rtt_total_s: float = 0.0
    recovery_packet_s: float = 0.0  # time in recovery, times data packets, of each flow
    bins: dict[str, np.ndarray] = field(default_factory=dict)
    in_recovery: list[np.ndarray] = field(default_factory=list)


def bin_edges(window: Window, offset_ns: int) -> np.ndarray:
    """Edges of the trial's seconds by the captures' clock, which is ahead of the window's by `offset_ns`."""
    found: np.ndarray = window.start_ns + offset_ns + np.round(edges(window) * 1e9).astype(np.int64)
    return found


def add_flows(
    direction: Direction, column: Mapping[str, np.ndarray], bins: Mapping[str, np.ndarray], in_recovery: np.ndarray
) -> None:
    """Add the flows of a capture.  column: of analysis.tcp.flows.FlowTable.  bins: by per_bin, over the edges.

    in_recovery: start and end of their episodes (n x 2), by the captures' clock.
    """
    direction.data_packets += int(column["data_packets"].sum())
    direction.new_bytes += int(column["new_bytes"].sum())
    direction.retr_or_ooo += int(column["retr_or_ooo"].sum())
    direction.rtt_samples += int(column["rtt_samples"].sum())
    direction.rtt_total_s += float(np.nansum(column["rtt_samples"] * column["rtt_mean_s"]))
    direction.recovery_packet_s += float((column["recovery_s"] * column["data_packets"]).sum())
    for name, counts in bins.items():
        direction.bins[name] = direction.bins.get(name, 0) + counts
    direction.in_recovery.append(in_recovery)


def direction_rows(name: str, direction: Direction, window: Window, rows: Rows) -> None:
    """Add a direction's trial metrics and series; none where no packet was captured."""
    if direction.data_packets and window.seconds > 0:
        packets = direction.data_packets
        rows.add("trial", f"data_packets_{name}", value=float(packets))
        rows.add("trial", f"tcp_payload_{name}_bit_s", value=8 * direction.new_bytes / window.seconds)
        rows.add("trial", f"retr_or_ooo_{name}", value=float(direction.retr_or_ooo))
        rows.add("trial", f"retr_share_{name}", value=direction.retr_or_ooo / packets)
        rows.add("trial", f"recovery_share_{name}", value=direction.recovery_packet_s / packets / window.seconds)
    if direction.rtt_samples:
        rows.add("trial", f"rtt_mean_{name}_s", value=direction.rtt_total_s / direction.rtt_samples)
    if not direction.bins:
        return
    bins = edges(window)
    middles, widths = ((bins[1:] + bins[:-1]) / 2).tolist(), np.diff(bins)
    series = {f"{shown}_{name}": direction.bins[counted] / widths for counted, shown in _PER_SECOND.items()}
    series[f"recovery_{name}"] = covered_share(np.concatenate(direction.in_recovery), direction.edges_ns)
    for metric, values in series.items():
        for t, value in zip(middles, values.tolist(), strict=True):
            rows.add("second", metric, t=t, value=value)
