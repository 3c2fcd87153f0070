"""The packets of a capture as byte streams: ordered by flow, with numbers that do not wrap."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from analysis.capture.columns import Packets
from analysis.tcp.before import Before
from analysis.tcp.connections import ACK, FIN, RST, SYN, Flows
from analysis.tcp.segments import SPAN, spread, starts_of, unwrap

MIDDLE = SPAN // 4  # keeps offsets below a flow's first byte positive in a key
NOTHING = -MIDDLE  # an acknowledgement of nothing
_NEAR = 1 << 30  # two offsets so near a third are less than 2**31 apart
_FARTHEST = MIDDLE - (1 << 20)  # an offset that numbers which lie may reach, and still stay in their flow's keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Packets ordered by flow, then by frame, one array each.

    key: flow and frame in one ascending number (flow * frames + frame).  reverse: row of the opposite flow, -1
    when there is none.  begin, end: offsets from the flow's first sequence number (not a reset's, if it has another),
    SYN and FIN counted.  acked: what the packet acknowledges, as an offset in the opposite flow (when the capture has
    none of that, from the first acknowledgement); NOTHING when it does not, or is a reset and claims more than was
    sent.  data: carries payload, SYN or FIN, and is no reset.  plain: none of SYN, FIN and RST.  before: what earlier
    packets, which are not here, have left; None where there were none.
    """

    flow: np.ndarray
    reverse: np.ndarray
    frame: np.ndarray
    key: np.ndarray
    t_ns: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    payload: np.ndarray
    window: np.ndarray
    flags: np.ndarray
    acked: np.ndarray
    data: np.ndarray
    plain: np.ndarray
    frames: int
    before: Before | None = None

    def __len__(self) -> int:
        return len(self.flow)

    @property
    def reset(self) -> np.ndarray:
        """Which packets end the connection."""
        found: np.ndarray = self.flags & RST != 0
        return found


def make_stream(
    packets: Packets, *, flows: Flows, flow: np.ndarray, order: np.ndarray, before: Before | None = None
) -> Stream:
    """Put packets (whose flows are `flow`) into the order `order`, which sorts them by flow and frame."""
    flow = flow[order]
    flags, payload, frame = packets.flags[order], packets.payload[order], packets.frame[order]
    seq = packets.seq[order]
    marked, reset = flags & (SYN | FIN) != 0, flags & RST != 0
    anchors = _anchors(seq, flow, reset, count=len(flows.key))
    if before is not None:
        anchors = _Anchors(number=before.last_seq, offset=before.last_begin)
    begin = _placed(seq, flow, reset, anchors)
    reverse = flows.reverse[flow]
    frames = int(frame.max(initial=0)) + 1
    stream = Stream(
        flow=flow,
        reverse=reverse,
        frame=frame,
        key=flow * frames + frame,
        t_ns=packets.t_ns[order],
        begin=begin,
        end=begin + payload + marked,
        payload=payload,
        window=packets.window[order],
        flags=flags,
        acked=np.full(len(flow), NOTHING),
        data=((payload > 0) | marked) & (flags & RST == 0),
        plain=flags & (SYN | FIN | RST) == 0,
        frames=frames,
        before=before,
    )
    return replace(stream, acked=_acked(stream, packets.ack[order], seq=seq, anchors=anchors))


def take(stream: Stream, rows: np.ndarray) -> Stream:
    """The rows of whole connections, by number or mask."""
    names = [part.name for part in fields(stream) if part.name not in {"frames", "before"}]
    return replace(stream, **{name: getattr(stream, name)[rows] for name in names})


def firsts(stream: Stream) -> np.ndarray:
    """Which packets are the first of their flow in the capture."""
    found = np.zeros(len(stream), dtype=bool)
    if stream.before is None:
        found[starts_of(stream.flow)] = True
    return found


def opposite_before(stream: Stream, rows: np.ndarray) -> np.ndarray:
    """Row of the last packet that came the other way before each of `rows`; -1 when there was none."""
    reverse = stream.reverse[rows]
    found = np.searchsorted(stream.key, reverse * stream.frames + stream.frame[rows]) - 1
    known = (reverse >= 0) & (found >= 0)
    known[known] = stream.flow[found[known]] == reverse[known]
    return np.where(known, found, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Anchors:
    """For each flow a number whose offset is known, by which those that have no other before them are placed."""

    number: np.ndarray
    offset: np.ndarray


def _anchors(numbers: np.ndarray, flow: np.ndarray, reset: np.ndarray, *, count: int) -> _Anchors:
    """The first number of each of `count` flows is at 0: that of a reset only where the flow has nothing else."""
    found = np.zeros(count, dtype=np.uint32)
    for rows in (np.arange(len(flow)), np.flatnonzero(~reset)) if reset.any() else (slice(None),):
        starts = starts_of(flow[rows])
        found[flow[rows][starts]] = numbers[rows][starts]
    return _Anchors(number=found, offset=np.zeros(count, dtype=np.int64))


def _placed(numbers: np.ndarray, flow: np.ndarray, reset: np.ndarray, anchors: _Anchors) -> np.ndarray:
    """Offsets of 32-bit numbers, each by the one before it in its flow (RFC 1982).

    Nothing is placed by a reset's number, which may be anything (RFC 9293, 3.10.7.1): two of them that are far apart
    would move all that follows by 4 GB.
    """
    found = np.empty(len(numbers), dtype=np.int64)
    calm, loose = np.flatnonzero(~reset), np.flatnonzero(reset)
    plain, of = (numbers[calm], flow[calm]) if len(loose) else (numbers, flow)
    starts = starts_of(of)
    ahead = anchors.offset[of[starts]] + _signed(plain[starts] - anchors.number[of[starts]])
    found[calm] = unwrap(plain, starts) + spread(ahead, starts, len(plain))
    number, offset = anchors.number[flow[loose]], anchors.offset[flow[loose]]
    last = np.searchsorted(calm, loose) - 1
    near = np.flatnonzero(last >= 0)
    near = near[of[last[near]] == flow[loose[near]]]
    number[near], offset[near] = plain[last[near]], found[calm[last[near]]]
    found[loose] = offset + _signed(numbers[loose] - number)
    return np.clip(found, -_FARTHEST, _FARTHEST)


def _signed(difference: np.ndarray) -> np.ndarray:
    found: np.ndarray = difference.view(np.int32).astype(np.int64)
    return found


def _acked(stream: Stream, ack: np.ndarray, *, seq: np.ndarray, anchors: _Anchors) -> np.ndarray:
    """What each packet acknowledges, by where the opposite flow stands then; a flow without one by its own numbers."""
    found = np.full(len(ack), NOTHING, dtype=np.int64)
    says = stream.flags & ACK != 0
    alone, rows = np.flatnonzero(says & (stream.reverse < 0)), np.flatnonzero(says & (stream.reverse >= 0))
    if len(alone):
        mine = ack[alone], stream.flow[alone], stream.reset[alone]
        base = _anchors(*mine, count=len(anchors.number))
        if stream.before is not None:
            base = _Anchors(number=stream.before.last_ack, offset=stream.before.last_acked)
        found[alone] = _placed(*mine, base)
    of = stream.reverse[rows]
    ahead = _signed(ack[rows] - anchors.number[of])
    # Near the anchor, in a flow that stays near it, every packet of the flow leads to the same offset.
    far = np.flatnonzero(_strays(stream, anchors)[of] | (np.abs(ahead) >= _NEAR))
    offset = anchors.offset[of] + ahead
    calm = np.flatnonzero(~stream.reset) if len(far) or stream.reset[rows].any() else rows[:0]
    last = _last_of(stream, calm, rows[far])
    known = last >= 0
    last = calm[last[known]]
    offset[far[known]] = stream.begin[last] + _signed(ack[rows[far[known]]] - seq[last])
    found[rows] = np.clip(offset, -_FARTHEST, _FARTHEST)
    _forget_lies(found, stream, calm, rows[stream.reset[rows]])
    return found


def _strays(stream: Stream, anchors: _Anchors) -> np.ndarray:
    """Which flows leave the neighbourhood of their anchors."""
    found = np.zeros(len(anchors.number), dtype=bool)
    far = stream.begin - anchors.offset[stream.flow]
    found[stream.flow[(np.abs(far) >= _NEAR) & ~stream.reset]] = True
    return found


def _last_of(stream: Stream, calm: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The last of the rows `calm` that came the other way before each of `rows`, by its number among them; or -1."""
    if not len(rows):
        return rows
    of = stream.reverse[rows]
    found = np.searchsorted(stream.key[calm], of * stream.frames + stream.frame[rows]) - 1
    known = found >= 0
    known[known] = stream.flow[calm[found[known]]] == of[known]
    return np.where(known, found, -1)


def _forget_lies(found: np.ndarray, stream: Stream, calm: np.ndarray, resets: np.ndarray) -> None:
    """A reset that acknowledges what was never sent acknowledges nothing."""
    if not len(resets):
        return
    of = stream.flow[calm]
    starts = starts_of(of)
    base = spread(np.arange(len(starts)) * SPAN, starts, len(of))
    highest = np.maximum.accumulate(stream.end[calm] + base) - base
    last = _last_of(stream, calm, resets)
    reached = np.full(len(resets), NOTHING)
    reached[last >= 0] = highest[last[last >= 0]]
    if stream.before is not None:
        reached = np.maximum(reached, stream.before.sent[stream.reverse[resets]])
    found[resets[found[resets] > reached]] = NOTHING
