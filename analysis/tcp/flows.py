"""Per-flow figures inside a window of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from analysis.arrays import joined
from analysis.tcp.analysis import Analysis
from analysis.tcp.connections import RST
from analysis.tcp.parts import Part
from analysis.tcp.recovery import Episodes
from analysis.tcp.retransmissions import Kind
from analysis.tcp.rtt import RoundTrips, ended_within
from analysis.tcp.segments import starts_of

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTable:
    """One row per directed flow, in the order of `Analysis.flows`; all inside the window.

    packets, wire_bytes, payload_bytes, data_packets (those that carry payload), resets: what the flow sent.
    new_bytes: payload not seen before.  active_s: from the flow's first packet to its last.  goodput_bit_s:
    new payload over that time, NaN when that is nothing.
    retr_or_ooo: data packets sent again or overtaken = retransmissions + out_of_order; fast_retransmissions and
    spurious_retransmissions are among the former.  keep_alives, zero_window_probes: in neither.
    duplicate_acks, zero_windows: what the flow's sender was sent back.
    recovery_s: time in loss recovery; recoveries: episodes that began.
    rtt_*: seconds, Karn-filtered, NaN without a sample; rtt_any_*: with the ambiguous ones, as tshark has them.
    """

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["packets"])


def flow_table(analysis: Analysis, *, start_ns: int, end_ns: int) -> FlowTable:
    """Count what was captured in [start_ns, end_ns), wall clock; round trips count when they end inside."""
    counts = _counts(analysis, start_ns=start_ns, end_ns=end_ns)
    ends = analysis.first_ns, analysis.last_ns
    trips = ended_within(analysis.rtt, flows=len(ends[0]), start_ns=start_ns, end_ns=end_ns)
    return _table(counts, ends, trips, analysis.recovery, start_ns=start_ns, end_ns=end_ns)


def table_of_parts(parts: Iterable[Part], *, start_ns: int, end_ns: int) -> FlowTable:
    """The same of one connection that was analysed in parts, one or more."""
    counts: dict[str, np.ndarray] = {}
    ends: tuple[np.ndarray, np.ndarray] | None = None
    trips, episodes = [], []
    for part in parts:
        more = _counts(part.analysis, start_ns=start_ns, end_ns=end_ns, counted=part.counted)
        counts = {name: counts.get(name, 0) + column for name, column in more.items()}
        mine = part.analysis.first_ns, part.analysis.last_ns
        ends = mine if ends is None else (np.minimum(ends[0], mine[0]), np.maximum(ends[1], mine[1]))
        trips.append(ended_within(part.rtt, flows=len(mine[0]), start_ns=start_ns, end_ns=end_ns))
        episodes.append(part.recovery)
    assert ends is not None, "a connection has a part"
    return _table(counts, ends, joined(trips), joined(episodes), start_ns=start_ns, end_ns=end_ns)


def _table(
    counts: dict[str, np.ndarray], ends: tuple[np.ndarray, np.ndarray], trips: RoundTrips,
    episodes: Episodes, *, start_ns: int, end_ns: int,
) -> FlowTable:  # fmt: skip
    flows = len(counts["packets"])
    columns = counts | _goodput(ends, counts["new_bytes"], start_ns=start_ns, end_ns=end_ns)
    columns |= _recovery(episodes, flows, start_ns=start_ns, end_ns=end_ns)
    columns |= _rtt("rtt", trips.flow[trips.karn], trips.rtt_ns[trips.karn], flows)
    columns |= _rtt("rtt_any", trips.flow, trips.rtt_ns, flows)
    return FlowTable(columns=columns)


def _counts(
    analysis: Analysis, *, start_ns: int, end_ns: int, counted: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    stream, kind, flows = analysis.stream, analysis.kind, len(analysis.flows.key)
    inside = (stream.t_ns >= start_ns) & (stream.t_ns < end_ns)
    if counted is not None:
        inside &= counted
    loaded = stream.payload > 0

    def count(mask: np.ndarray) -> np.ndarray:
        return np.bincount(stream.flow[inside & mask], minlength=flows)

    def total(amount: np.ndarray) -> np.ndarray:
        whole = np.bincount(stream.flow, weights=np.where(inside, amount, 0), minlength=flows)
        return whole.astype(np.int64)

    def answered(mask: np.ndarray) -> np.ndarray:
        back, reverse = count(mask), analysis.flows.reverse
        return np.where(reverse >= 0, back[reverse], 0) if flows else back

    again = {name: count(loaded & (kind == one)) for name, one in Kind.__members__.items()}
    resent = again["RETRANSMISSION"] + again["FAST"] + again["SPURIOUS"]
    return {
        "packets": count(np.ones(len(stream), dtype=bool)),
        "wire_bytes": total(analysis.packets.wire[analysis.order]),
        "payload_bytes": total(stream.payload),
        "new_bytes": total(analysis.new),
        "data_packets": count(loaded),
        "retr_or_ooo": resent + again["OUT_OF_ORDER"],
        "retransmissions": resent,
        "fast_retransmissions": again["FAST"],
        "spurious_retransmissions": again["SPURIOUS"],
        "out_of_order": again["OUT_OF_ORDER"],
        "keep_alives": count(analysis.probes.keep_alive),
        "zero_window_probes": count(analysis.probes.probe),
        "resets": count(stream.flags & RST != 0),
        "duplicate_acks": answered(analysis.duplicate_ack),
        "zero_windows": answered(analysis.probes.zero_window),
    }


def _goodput(
    ends: tuple[np.ndarray, np.ndarray], new: np.ndarray, *, start_ns: int, end_ns: int
) -> dict[str, np.ndarray]:
    active = np.minimum(ends[1], end_ns) - np.maximum(ends[0], start_ns)
    seconds = np.maximum(active, 0) / 1e9
    goodput = np.divide(8.0 * new, seconds, out=np.full(len(new), np.nan), where=seconds > 0)
    return {"active_s": seconds, "goodput_bit_s": goodput}


def _recovery(episodes: Episodes, flows: int, *, start_ns: int, end_ns: int) -> dict[str, np.ndarray]:
    inside = np.minimum(episodes.end_ns, end_ns) - np.maximum(episodes.start_ns, start_ns)
    began = (episodes.start_ns >= start_ns) & (episodes.start_ns < end_ns)
    spent = np.bincount(episodes.flow, weights=np.maximum(inside, 0) / 1e9, minlength=flows)
    return {
        "recovery_s": spent.astype(np.float64),  # of no episodes they would be whole numbers
        "recoveries": np.bincount(episodes.flow[began], minlength=flows),
    }


def _rtt(prefix: str, flow: np.ndarray, rtt_ns: np.ndarray, flows: int) -> dict[str, np.ndarray]:
    order = np.lexsort((rtt_ns, flow))
    flow, value = flow[order], rtt_ns[order] / 1e9
    samples = np.bincount(flow, minlength=flows)
    total = np.bincount(flow, weights=value, minlength=flows)
    mean = np.divide(total, samples, out=np.full(flows, np.nan), where=samples > 0)
    columns = {f"{prefix}_samples": samples, f"{prefix}_mean_s": mean}
    starts = starts_of(flow)
    have = flow[starts]
    for name, share in (QUANTILES | {"max": 1.0}).items():
        # The quantile by linear interpolation between the two ranks around it, for all flows at once.
        # Ranks count from each flow's own first, so that a flow's figures do not depend on those before it.
        place = share * (samples[have] - 1)
        below = np.floor(place)
        low = starts + below.astype(np.int64)
        high = starts + np.ceil(place).astype(np.int64)
        column = np.full(flows, np.nan)
        column[have] = value[low] + (value[high] - value[low]) * (place - below)
        columns[f"{prefix}_{name}_s"] = column
    return columns
