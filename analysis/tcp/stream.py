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
_FARTHEST = MIDDLE - (1 << 20)  # an offset that numbers which lie may reach, and still stay in their flow's keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Packets ordered by flow, then by frame, one array each.

    key: flow and frame in one ascending number (flow * frames + frame).  reverse: row of the opposite flow, -1
    when there is none.  begin, end: offsets from the flow's first sequence number, SYN and FIN counted.  acked:
    what the packet acknowledges, as an offset in the opposite flow (when the capture has none of
    that, from the first acknowledgement); NOTHING when it does not.  data: carries
    payload, SYN or FIN, and is no reset.  plain: none of SYN, FIN and RST.  before: what earlier packets, which are not
    here, have left; None where there were none.
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
    starts = starts_of(flow)
    flags, payload, frame = packets.flags[order], packets.payload[order], packets.frame[order]
    seq = packets.seq[order]
    marked = flags & (SYN | FIN) != 0
    begin = unwrap(seq, starts)
    if before is not None:
        begin += spread(before.begin[flow[starts]], starts, len(begin))
    begin = np.clip(begin, -_FARTHEST, _FARTHEST)
    reverse = flows.reverse[flow]
    frames = int(frame.max(initial=0)) + 1
    return Stream(
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
        acked=_acked(
            packets.ack[order], stream_flow=flow, flags=flags, reverse=reverse, first_seq=seq[starts], before=before
        ),
        data=((payload > 0) | marked) & (flags & RST == 0),
        plain=flags & (SYN | FIN | RST) == 0,
        frames=frames,
        before=before,
    )


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


def _acked(
    ack: np.ndarray, *, stream_flow: np.ndarray, flags: np.ndarray, reverse: np.ndarray, first_seq: np.ndarray,
    before: Before | None,
) -> np.ndarray:  # fmt: skip
    found = np.full(len(ack), NOTHING, dtype=np.int64)
    rows = np.flatnonzero(flags & ACK != 0)
    starts = starts_of(stream_flow[rows])
    if before is not None:
        base = before.acked[stream_flow[rows[starts]]]
    else:
        of = reverse[rows[starts]]
        base = np.where(of >= 0, (ack[rows[starts]] - first_seq[of]).view(np.int32).astype(np.int64), 0)
    offset = unwrap(ack[rows], starts) + spread(base, starts, len(rows))
    found[rows] = np.clip(offset, -_FARTHEST, _FARTHEST)
    return found
