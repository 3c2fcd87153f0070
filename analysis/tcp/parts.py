"""A long connection, analysed a part at a time, to the figures that it has when it is analysed at once.

A part is analysed with the packets before it that still matter: those that are not acknowledged, and what is compared
with what comes next.  All else that earlier packets have left is in a few numbers for each direction (Before).  What
has its answer in a later part is counted there.  Parts end where neither side has closed its window, so that no probe
waits for an answer; one without such an end grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from analysis.arrays import joined
from analysis.capture.columns import Packets
from analysis.tcp.acknowledgements import repeats
from analysis.tcp.analysis import Analysis, analyse_flows
from analysis.tcp.before import Before
from analysis.tcp.connections import ACK, FIN, RST, SYN, Flows
from analysis.tcp.novelty import open_gaps
from analysis.tcp.recovery import Episodes
from analysis.tcp.retransmissions import handshakes, raised_ns
from analysis.tcp.rtt import RoundTrips, Samples
from analysis.tcp.segments import latest
from analysis.tcp.stream import NOTHING, opposite_before

_NEVER = np.iinfo(np.int64).max
T = TypeVar("T", Samples, RoundTrips, Episodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """counted: a mask over the rows of `analysis`: the others have been counted.  rtt, recovery: of this part."""

    analysis: Analysis
    counted: np.ndarray
    rtt: Samples
    recovery: Episodes


def analysed(packets: Packets, flows: Flows, flow: np.ndarray, *, most: int) -> Iterator[Part]:
    """The parts of one connection, each of about `most` packets.

    packets: in file order, with what a Stream is made of.  flows: its one or two directions; flow: of each packet, in
    any type.
    """
    count, context, begin, before = len(packets), 0, 0, None
    told = _Told.of(flows)
    first_end = _settled(packets, flow, len(flows.key))
    while begin < count:
        end = _end(packets, flow, len(flows.key), at=max(begin + most, first_end))
        run = analyse_flows(packets.between(context, end), flows, flow[context:end].astype(np.int64), before)
        last = end == count
        yield Part(
            analysis=run,
            counted=run.order >= begin - context,
            rtt=_chosen(run.rtt, run.rtt.frame >= packets.frame[begin]),
            recovery=told.of_part(run, last=last),
        )
        if last:
            return
        if mine := _keep_from(run, calm=_calm(packets, flow, len(flows.key), context, end)):
            before = _left(run, mine)
            context += mine
        if before is not None:
            before = replace(before, recovered=told.until.copy())
        begin = end


@dataclass(slots=True, kw_only=True)
class _Told:
    """Which episodes of recovery have been counted.

    until: frame that ended the last one of each flow.  lasting: when those began that nothing ends, as there are no
    acknowledgements, by flow.
    """

    reverse: np.ndarray
    until: np.ndarray
    lasting: dict[int, int]

    @classmethod
    def of(cls, flows: Flows) -> _Told:
        return cls(reverse=flows.reverse, until=np.full(len(flows.key), -1, dtype=np.int64), lasting={})

    def of_part(self, run: Analysis, *, last: bool) -> Episodes:
        """Those that are to be counted with a part."""
        found, open_ = run.recovery, run.recovery.end_frame < 0
        until = self.until[found.flow]
        mine = _chosen(found, (last & open_ & (until < _NEVER)) | (found.end_frame > until))
        endless = np.flatnonzero(open_ & (self.reverse[found.flow] < 0))
        if last:
            more = [(flow, start, max(start, int(run.last_ns[flow]))) for flow, start in self.lasting.items()]
            return _with(mine, more)
        for row in endless.tolist():
            self.lasting[int(found.flow[row])] = int(found.start_ns[row])
            self.until[found.flow[row]] = _NEVER
        np.maximum.at(self.until, found.flow, found.end_frame)
        return mine


def _with(episodes: Episodes, more: list[tuple[int, int, int]]) -> Episodes:
    """With those of these flows, starts and ends, which no acknowledgement ended."""
    flow, start, end = (np.array([one[place] for one in more], dtype=np.int64) for place in range(3))
    none = np.full(len(more), -1, dtype=np.int64)
    return joined([episodes, Episodes(flow=flow, start_ns=start, end_ns=end, row=none, end_frame=none)])


def _settled(packets: Packets, flow: np.ndarray, flows: int) -> int:
    """So many packets at least are in the first part: all that open the connection, and one of each direction.

    It is no reset, if there is another: offsets are placed by it.
    """
    step = packets.flags & (SYN | ACK)
    opening = np.flatnonzero(packets.flags & SYN)
    found = [int(opening[-1]) + 1 if len(opening) else 0]
    calm = packets.flags & RST == 0
    found += [int(np.argmax((flow == one) & calm)) + 1 for one in range(flows)]
    if (step[opening] == SYN).any() and (step[opening] == SYN | ACK).any():
        both = max(int(opening[np.argmax(step[opening] == kind)]) for kind in (SYN, SYN | ACK))
        ended = np.flatnonzero(step[both + 1 :] == ACK)
        found.append(both + 2 + int(ended[0]) if len(ended) else 0)
    return max(found)


def _end(packets: Packets, flow: np.ndarray, flows: int, *, at: int) -> int:
    """The first place from `at` on where a part can end."""
    count, back = len(packets), 64
    while at < count:
        low = max(0, at - back)
        high = min(count, at + back)
        calm = _calm(packets, flow, flows, low, high)[at - low :]
        if calm.any():
            return at + int(np.argmax(calm))
        if low == 0:
            at = high
        back *= 4
    return count


def _calm(packets: Packets, flow: np.ndarray, flows: int, low: int, high: int) -> np.ndarray:
    """Whether a part can end before each of these packets: each direction's last one is plain, and no window closed.

    False where that packet is before `low`.
    """
    flags = packets.flags[low:high]
    plain = (flags & (SYN | FIN | RST | ACK) == ACK) & (packets.window[low:high] > 0) & (packets.payload[low:high] != 1)
    found = np.ones(high - low, dtype=bool)
    for one in range(flows):
        mine = flow[low:high] == one
        if not mine.any():
            return np.zeros(high - low, dtype=bool)
        ok = plain[latest(mine)]
        ok[: int(np.argmax(mine))] = False
        found[1:] &= ok[:-1]
    found[:1] = False
    return found


def _keep_from(run: Analysis, *, calm: np.ndarray) -> int:
    """From which packet of the run on all are needed by those that follow; calm: where that may be."""
    stream, needed = run.stream, [len(run.packets)]
    for one, opposite in enumerate(run.flows.reverse.tolist()):
        rows = np.flatnonzero(stream.flow == one)
        place = run.order[rows]
        needed.append(int(place[-1]))
        if opposite >= 0:
            needed += _unanswered(run, rows, np.flatnonzero(stream.flow == opposite))
    waiting = (run.recovery.end_frame < 0) & (run.flows.reverse[run.recovery.flow] >= 0)
    begun = run.recovery.row[waiting]  # with what tells that something is sent again
    for rows in (begun, opposite_before(stream, begun)):
        needed += run.order[rows[rows >= 0]].tolist()
    return int(latest(calm)[min(needed)])  # 0 where nothing before is calm


def _unanswered(run: Analysis, rows: np.ndarray, answers: np.ndarray) -> list[int]:
    """The first packet of a flow with bytes that no later packet of the other has acknowledged."""
    stream = run.stream
    data = rows[stream.data[rows]]
    later = np.searchsorted(run.order[answers], run.order[data])
    highest = np.append(np.maximum.accumulate(stream.acked[answers][::-1])[::-1], NOTHING)
    open_ = data[highest[later] < stream.end[data]]
    return [int(place) for place in run.order[open_[:1]]]


def _left(run: Analysis, keep_from: int) -> Before:
    """What the packets of a run before that one have left to it and all that follow."""
    stream, old = run.stream, run.stream.before
    gone = run.order < keep_from
    again, took, at_ns = repeats(stream, run.duplicate_ack), handshakes(stream), raised_ns(stream, run.probes)
    found: defaultdict[str, list[int]] = defaultdict(list)
    for one, opposite in enumerate(run.flows.reverse.tolist()):
        rows = np.flatnonzero(stream.flow == one)
        first = int(rows[np.argmax(~gone[rows])])
        mine, theirs = rows[gone[rows]], np.flatnonzero((stream.flow == opposite) & gone)
        ends = stream.end[mine[~stream.reset[mine]]]
        found["sent"].append(int(ends.max(initial=NOTHING if old is None else int(old.sent[one]))))
        found["reached"].append(int(run.probes.reached[first]))
        found["raised_ns"].append(int(at_ns[first]))
        known = NOTHING if old is None else int(old.water[one])
        found["water"].append(int(max(known, stream.acked[theirs].max(initial=NOTHING))))
        here = mine[-1] if len(mine) else None
        for name, column, earlier in (
            ("last_seq", run.packets.seq[run.order], old and old.last_seq),
            ("last_ack", run.packets.ack[run.order], old and old.last_ack),
            ("last_begin", stream.begin, old and old.last_begin),
            ("last_acked", stream.acked, old and old.last_acked),
            ("last_window", stream.window, old and old.last_window),
            ("repeats", again, old and old.repeats),
        ):
            found[name].append(int(column[here] if here is not None else earlier[one]))  # type: ignore[index]
        found["handshake_ns"].append(int(took[one]))
    gap_flow, gap_low, gap_high = open_gaps(stream, run.probes, rows=gone)
    numbers = {name: np.array(found.pop(name), dtype=np.uint32) for name in ("last_seq", "last_ack")}
    return Before(
        **numbers,
        **{name: np.array(values, dtype=np.int64) for name, values in found.items()},
        recovered=np.full(len(run.flows.key), -1, dtype=np.int64),
        gap_flow=gap_flow,
        gap_low=gap_low,
        gap_high=gap_high,
    )


def _chosen(rows: T, mask: np.ndarray) -> T:
    return type(rows)(**{part.name: getattr(rows, part.name)[mask] for part in fields(rows)})
