"""Per-flow figures inside a window of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.capture.segments import starts_of
from analysis.capture.tcp import Analysis

QUANTILES = {"rtt_p50_s": 0.5, "rtt_p95_s": 0.95}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTable:
    """One row per directed flow, in the order of `Analysis.flows`; bytes and packets inside the window.

    data_packets carry payload.  duplicate_acks: what the flow's sender was sent back.  rtt_*: Karn-filtered,
    seconds, NaN without a sample; rtt_any_*: with the ambiguous ones, from the first transmission.
    """

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["packets"])


def flow_table(analysis: Analysis, *, start_ns: int, end_ns: int) -> FlowTable:
    """Count what was captured in [start_ns, end_ns), wall clock; round trips count when they end inside."""
    flows = len(analysis.flows.key)
    t_ns = analysis.packets.t_ns[analysis.order]
    inside = (t_ns >= start_ns) & (t_ns < end_ns)
    payload = analysis.packets.payload[analysis.order]
    every = np.ones(len(payload), dtype=bool)

    def count(mask: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        chosen = inside & mask
        found: np.ndarray = np.bincount(
            analysis.flow[chosen], weights=None if weights is None else weights[chosen], minlength=flows
        ).astype(np.int64)
        return found

    back = count(analysis.duplicate_ack)
    reverse = analysis.flows.reverse
    columns = {
        "packets": count(every),
        "wire_bytes": count(every, analysis.packets.wire[analysis.order]),
        "payload_bytes": count(every, payload),
        "data_packets": count(payload > 0),
        "retr_or_ooo": count(analysis.retr_or_ooo & (payload > 0)),
        "duplicate_acks": np.where(reverse >= 0, back[reverse], 0) if flows else back,
    }
    rtt = analysis.rtt
    timely = (rtt.t_ns >= start_ns) & (rtt.t_ns < end_ns)
    columns |= _rtt_columns(rtt.flow[timely & rtt.karn], rtt.rtt_ns[timely & rtt.karn], flows)
    unfiltered = _rtt_columns(rtt.flow[timely], rtt.rtt_ns[timely], flows)
    columns |= {"rtt_any_samples": unfiltered["rtt_samples"], "rtt_any_mean_s": unfiltered["rtt_mean_s"]}
    return FlowTable(columns=columns)


def _rtt_columns(flow: np.ndarray, rtt_ns: np.ndarray, flows: int) -> dict[str, np.ndarray]:
    order = np.lexsort((rtt_ns, flow))
    flow, value = flow[order], rtt_ns[order] / 1e9
    samples = np.bincount(flow, minlength=flows)
    total = np.bincount(flow, weights=value, minlength=flows)
    mean = np.divide(total, samples, out=np.full(flows, np.nan), where=samples > 0)
    columns = {"rtt_samples": samples, "rtt_mean_s": mean}
    starts = starts_of(flow)
    have = flow[starts]
    for name, share in QUANTILES.items():
        # The quantile by linear interpolation between the two ranks around it, for all flows at once.
        # Ranks count from each flow's own first, so that a flow's figures do not depend on those before it.
        place = share * (samples[have] - 1)
        below = np.floor(place)
        low = starts + below.astype(np.int64)
        high = starts + np.ceil(place).astype(np.int64)
        column = np.full(flows, np.nan)
        column[have] = value[low] + (value[high] - value[low]) * (place - below) if len(have) else np.nan
        columns[name] = column
    return columns
