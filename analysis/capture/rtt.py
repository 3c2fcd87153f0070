"""Round-trip times: from a segment's first transmission to the acknowledgement of its last byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.capture.segments import SPAN, highest_before, spread, starts_of, unwrap

_MIDDLE = SPAN // 4  # keeps offsets below a flow's first byte positive in a key


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One row per acknowledgement that ends exactly on a segment.

    flow: the flow of the data.  frame, t_ns: of the acknowledgement.  karn: the acknowledgement covers no
    byte that was sent twice, so the time is unambiguous (Karn and Partridge 1987; RFC 6298, section 3).
    """

    flow: np.ndarray
    frame: np.ndarray
    t_ns: np.ndarray
    rtt_ns: np.ndarray
    karn: np.ndarray


def rtt_samples(
    *, flow: np.ndarray, reverse: np.ndarray, first_seq: np.ndarray, frame: np.ndarray, t_ns: np.ndarray,
    begin: np.ndarray, end: np.ndarray, data: np.ndarray, retr: np.ndarray, ack: np.ndarray, is_ack: np.ndarray,
) -> Samples:  # fmt: skip
    """Samples of all flows.  Arrays are ordered by flow, then frame; begin, end: offsets from the first byte.

    first_seq: each flow's first sequence number, from which `begin` counts.
    """
    rows = np.flatnonzero(is_ack & (reverse[flow] >= 0))
    of = reverse[flow[rows]]  # the flow whose data is acknowledged
    value = _unwrapped_acks(ack[rows], of=of, first_seq=first_seq)
    advances = _advances(value, starts_of(of))
    order = np.argsort(of[advances], kind="stable")
    rows, of, value = rows[advances][order], of[advances][order], value[advances][order]
    acked = _key(of, value)
    sent, first = _first_transmissions(np.flatnonzero(data), flow=flow, end=end)
    at = np.searchsorted(sent, acked)
    at[at == len(sent)] = 0
    segment = first[at] if len(first) else np.zeros(len(rows), dtype=np.int64)
    matches = np.zeros(len(rows), dtype=bool)
    if len(sent):
        matches = (sent[at] == acked) & (frame[segment] < frame[rows])
    ambiguous = _covers_retransmission(
        np.flatnonzero(retr), flow=flow, begin=begin, end=end, frame=frame, acked=acked, of=of, ack_frame=frame[rows]
    )
    return Samples(
        flow=of[matches],
        frame=frame[rows][matches],
        t_ns=t_ns[rows][matches],
        rtt_ns=t_ns[rows][matches] - t_ns[segment[matches]],
        karn=~ambiguous[matches],
    )


def _key(flow: np.ndarray, offset: np.ndarray) -> np.ndarray:
    found: np.ndarray = flow * SPAN + _MIDDLE + offset
    return found


def _unwrapped_acks(ack: np.ndarray, *, of: np.ndarray, first_seq: np.ndarray) -> np.ndarray:
    starts = starts_of(of)
    base = (ack[starts] - first_seq[of[starts]]).view(np.int32).astype(np.int64)
    found: np.ndarray = unwrap(ack, starts) + spread(base, starts, len(ack))
    return found


def _advances(value: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Acknowledgements above every earlier one of their flow."""
    found: np.ndarray = value > highest_before(value, starts, first=np.full(len(starts), -_MIDDLE))
    return found


def _first_transmissions(rows: np.ndarray, *, flow: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys of segment ends, and the row of each end's first segment."""
    key = _key(flow[rows], end[rows])
    order = np.argsort(key, kind="stable")
    firsts = starts_of(key[order])
    return key[order][firsts], rows[order][firsts]


def _covers_retransmission(
    rows: np.ndarray, *, flow: np.ndarray, begin: np.ndarray, end: np.ndarray, frame: np.ndarray,
    acked: np.ndarray, of: np.ndarray, ack_frame: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Which acknowledgements newly cover bytes that had been sent twice by then.

    The acknowledgements of a flow cut its bytes into ranges; a retransmission of [begin, end) touches those
    from the first that ends above `begin` to the first that ends at or above `end`.
    """
    count = len(acked)
    edges = np.zeros(count + 1, dtype=np.int64)
    low = np.searchsorted(acked, _key(flow[rows], begin[rows]), side="right")
    high = np.searchsorted(acked, _key(flow[rows], end[rows]), side="left")
    frames = int(frame.max(initial=0)) + 1
    later = np.searchsorted(of * frames + ack_frame, flow[rows] * frames + frame[rows], side="right")
    last = np.searchsorted(of, flow[rows], side="right") - 1
    low, high = np.maximum(low, later), np.minimum(high, last)
    touches = low <= high
    np.add.at(edges, low[touches], 1)
    np.add.at(edges, high[touches] + 1, -1)
    found: np.ndarray = np.cumsum(edges[:-1]) > 0
    return found
