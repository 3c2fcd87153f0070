"""Reducing the packets of one capture file, or of some of its connections, to rows.

Series and histograms are counts, so those of parts of a file add up to the file's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.capture.addresses import texts as address_texts
from analysis.capture.columns import Packets
from analysis.rows import Rows
from analysis.tcp.analysis import Analysis, analyse
from analysis.tcp.connections import Flows, connection_starts, joined_flows
from analysis.tcp.flows import flow_table, table_of_parts
from analysis.tcp.names import flow_names
from analysis.tcp.parts import Part, analysed
from analysis.tcp.segments import starts_of

TOP = 6  # flows that are drawn, as many as there are colours
RTT_STEPS = 100  # of the histogram of round trips, per factor of ten
_FASTEST_S, _SLOWEST_S = 1e-7, 1e4  # what lies outside is counted at the end
_FEWEST_BINS, _MOST_BINS = 20, 2000
_LONGEST_NS = 365 * 86_400 * 10**9  # a capture that seems to be of 1970 counts from its beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Times of the earliest and the latest TCP packet of a file, wall clock."""

    low_ns: int
    high_ns: int

    @property
    def seconds(self) -> float:
        """From the earliest to the latest."""
        return (self.high_ns - self.low_ns) / 1e9

    @property
    def width_s(self) -> float:
        """Width of a bin of the series: a second; less for captures below 20 s, more for those above half an hour."""
        if self.seconds < _FEWEST_BINS:
            return float(10.0 ** max(np.floor(np.log10(max(self.seconds, 1e-9) / _FEWEST_BINS)), -6))
        return float(max(1.0, 10.0 ** np.ceil(np.log10(self.seconds / _MOST_BINS))))


NO_TIMES = "its packets have no times"


def span(packets: Packets) -> Span | None:
    """Of all packets that have a time, None when there are none.

    0 is no time (some records of pcapng have none), but where times count from the capture's beginning.
    """
    t_ns = packets.t_ns[packets.t_ns > 0]
    if len(t_ns) and t_ns.max() < _LONGEST_NS:
        t_ns = packets.t_ns
    return Span(low_ns=int(t_ns.min()), high_ns=int(t_ns.max())) if len(t_ns) else None


def add_packets(rows: Rows, packets: Packets, *, within: Span, v6: Mapping[int, bytes]) -> None:
    """Add rows of tables flow, second and rtt for the TCP `packets` of a capture whose packets span `within`.

    flow: one row per directed flow and figure; src, dst: the address as text, the port as value.
    second: per bin (t: its start in seconds after the capture's first packet), for all flows and, with a key,
    for the largest.  rtt: how many unambiguous round trips are at most t seconds and above the t before.
    """
    analysis = analyse(packets)
    if not len(analysis.flows.key):
        return
    keys = _flow_rows(rows, analysis, within, v6)
    count = len(keys)
    wire = np.bincount(analysis.flow, weights=packets.wire[analysis.order], minlength=count)
    largest = sorted(range(count), key=lambda row: (-wire[row], keys[row]))[:TOP]
    chosen: dict[str | None, np.ndarray | None] = {None: None}
    chosen |= {keys[row]: analysis.flow == row for row in largest}
    for key, mask in chosen.items():
        _second_rows(rows, analysis, within, key=key, mask=mask)
    rtt = analysis.rtt
    for key, row in [(None, None), *((keys[row], row) for row in largest)]:
        mine = rtt.karn if row is None else rtt.karn & (rtt.flow == row)
        _rtt_rows(rows, rtt.rtt_ns[mine], key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """All packets between two ports, in file order; addresses and ports are not in the columns.

    ends: address and port of either.  backward: which packets go from the second to the first.
    """

    packets: Packets
    ends: tuple[tuple[int, int], tuple[int, int]]
    backward: np.ndarray


def add_long(rows: Rows, between: Between, *, within: Span, v6: Mapping[int, bytes], most: int) -> None:
    """The same for all packets between two ports, a part of about `most` packets at a time."""
    packets = between.packets
    edges = [*connection_starts(packets, between.backward), len(packets)]
    held = [_connection(between, low, high, number) for number, (low, high) in enumerate(pairwise(edges))]
    all_flows = joined_flows([flows for flows, _ in held])
    ends = [_texts(side, v6) for side in (all_flows.src, all_flows.dst)]
    keys = flow_names(all_flows, *ends)
    at = 0
    for (flows, flow), (low, high) in zip(held, pairwise(edges), strict=True):
        count = len(flows.key)
        mine = packets.between(low, high)
        first, last = _ends(mine.t_ns, flow, count)
        parts = analysed(mine, flows, flow, most=most)
        table = table_of_parts(
            (_told(rows, part, within, keys[at : at + count]) for part in parts),
            start_ns=within.low_ns, end_ns=within.high_ns + 1,
        )  # fmt: skip
        own = {"first_s": (first - within.low_ns) / 1e9, "active_s": (last - first) / 1e9}
        named = list(zip(keys, *ends, strict=True))[at : at + count]
        _add_flows(rows, named, flows, {**own, **table.columns})
        at += count


def _connection(between: Between, low: int, high: int, number: int) -> tuple[Flows, np.ndarray]:
    """The directions of one connection, and which of them each of its packets goes."""
    directions = np.unique(between.backward[low:high]).astype(np.int64)
    (src, sport), (dst, dport) = (np.array(between.ends)[side].T for side in (directions, 1 - directions))
    reverse = np.array([1, 0] if len(directions) == 2 else [-1])
    flows = Flows(key=number * 2 + directions, src=src, dst=dst, sport=sport, dport=dport, reverse=reverse)
    return flows, (between.backward[low:high] != bool(directions[0])).astype(np.uint8)


def _ends(t_ns: np.ndarray, flow: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The earliest and the latest time of each flow; no more than one flow's times are copied."""
    found = np.empty((2, count), dtype=np.int64)
    for one in range(count):
        mine = t_ns[flow == one]
        found[:, one] = mine.min(), mine.max()
    return found[0], found[1]


def _told(rows: Rows, part: Part, within: Span, keys: Sequence[str]) -> Part:
    """Add what a part adds to the series and to the histogram of round trips; gives the part."""
    analysis = part.analysis
    for key, row in [(None, None), *((key, row) for row, key in enumerate(keys))]:
        mask = part.counted if row is None else part.counted & (analysis.flow == row)
        _second_rows(rows, analysis, within, key=key, mask=mask)
        samples = part.rtt.karn if row is None else part.rtt.karn & (part.rtt.flow == row)
        _rtt_rows(rows, part.rtt.rtt_ns[samples], key=key)
    return part


def _flow_rows(rows: Rows, analysis: Analysis, within: Span, v6: Mapping[int, bytes]) -> list[str]:
    flows, t_ns = analysis.flows, analysis.packets.t_ns[analysis.order]
    ends = [_texts(flows.src, v6), _texts(flows.dst, v6)]
    keys = flow_names(flows, *ends)
    starts = starts_of(analysis.flow)
    first, last = np.minimum.reduceat(t_ns, starts), np.maximum.reduceat(t_ns, starts)
    columns = flow_table(analysis, start_ns=within.low_ns, end_ns=within.high_ns + 1).columns
    own = {"first_s": (first - within.low_ns) / 1e9, "active_s": (last - first) / 1e9}
    _add_flows(rows, list(zip(keys, *ends, strict=True)), flows, {**own, **columns})
    return keys


def _add_flows(
    rows: Rows, named: Sequence[tuple[str, str, str]], flows: Flows, columns: Mapping[str, np.ndarray]
) -> None:
    """named: each flow's name, and its addresses as text."""
    keys = [name for name, _, _ in named]
    for metric, side, ports in (("src", 1, flows.sport), ("dst", 2, flows.dport)):
        texts = [one[side] for one in named]
        rows.add_all("flow", metric, key=keys, value=ports.astype(np.float64), text=texts)
    for metric, column in columns.items():
        rows.add_all("flow", metric, key=keys, value=column.astype(np.float64))


def _texts(addresses: np.ndarray, v6: Mapping[int, bytes]) -> list[str]:
    kinds, which = np.unique(addresses, return_inverse=True)
    texts = [f"[{text}]" if ":" in text else text for text in address_texts(kinds, v6)]
    return [texts[row] for row in which.tolist()]


def _second_rows(rows: Rows, analysis: Analysis, within: Span, *, key: str | None, mask: np.ndarray | None) -> None:
    timed = analysis.packets.t_ns[analysis.order] >= within.low_ns
    pick = np.flatnonzero(timed if mask is None else timed & mask)
    order = analysis.order[pick]
    width_ns = round(within.width_s * 1e9)
    bins, which = np.unique((analysis.packets.t_ns[order] - within.low_ns) // width_ns, return_inverse=True)
    payload = analysis.packets.payload[order]
    series = {
        "packets": None,
        "wire_bytes": analysis.packets.wire[order],
        "payload_bytes": payload,
        "retr_or_ooo": analysis.retr_or_ooo[pick] & (payload > 0),
    }
    for metric, weights in series.items():
        counts = np.bincount(which, weights=weights, minlength=len(bins))
        rows.add_all("second", metric, key=key, t=bins * within.width_s, value=counts.astype(np.float64))


def _rtt_rows(rows: Rows, rtt_ns: np.ndarray, *, key: str | None) -> None:
    seconds = np.clip(rtt_ns / 1e9, _FASTEST_S, _SLOWEST_S)
    steps, counts = np.unique(np.ceil(np.log10(seconds) * RTT_STEPS), return_counts=True)
    rows.add_all("rtt", "samples", key=key, t=10 ** (steps / RTT_STEPS), value=counts.astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a file holds: whole records, how many of them are of each kind, and at which interfaces TCP was seen."""

    records: int
    kinds: dict[str, int]
    interfaces: frozenset[int]


def interfaces(packets: Packets) -> frozenset[int]:
    """The interfaces, by their numbers in the file, at which packets were seen."""
    return frozenset(np.unique(packets.interface).tolist())


def add_totals(rows: Rows, totals: Totals, within: Span | None) -> None:
    """Add rows of tables capture and packets."""
    rows.add("capture", "records", value=float(totals.records))
    rows.add("capture", "interfaces", value=float(len(totals.interfaces)))
    for kind, number in totals.kinds.items():
        rows.add("packets", kind, value=float(number))
    if within is not None:
        rows.add("capture", "low_ns", text=str(within.low_ns))  # a float would lose nanoseconds
        rows.add("capture", "high_ns", text=str(within.high_ns))
