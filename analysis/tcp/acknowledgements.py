"""What acknowledgements say about the other direction: duplicates, and which one covers a byte first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.tcp.connections import ACK
from analysis.tcp.probes import Probes
from analysis.tcp.segments import SPAN, highest_before, latest, spread, starts_of
from analysis.tcp.stream import MIDDLE, NOTHING, Stream, opposite_before


@dataclass(frozen=True, slots=True, kw_only=True)
class Acks:
    """The acknowledgements that are above every earlier one, ordered by the flow whose data they acknowledge.

    row: in the stream.  place: flow and offset in one ascending number.  time: flow and frame likewise.
    """

    row: np.ndarray
    flow: np.ndarray
    value: np.ndarray
    place: np.ndarray
    time: np.ndarray


def advancing(stream: Stream) -> Acks:
    """The acknowledgements that advance."""
    rows = np.flatnonzero((stream.acked != NOTHING) & (stream.reverse >= 0))
    of, value = stream.reverse[rows], stream.acked[rows]
    starts = starts_of(of)
    level = highest_before(value, starts, first=np.full(len(starts), NOTHING))
    if stream.before is not None:
        level = np.maximum(level, stream.before.water[of])
    better = value > level
    order = np.argsort(of[better], kind="stable")
    rows, of, value = rows[better][order], of[better][order], value[better][order]
    return Acks(row=rows, flow=of, value=value, place=place(of, value), time=of * stream.frames + stream.frame[rows])


def place(flow: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Flow and offset as one number, in the order of flows and then offsets."""
    found: np.ndarray = flow * SPAN + MIDDLE + offset
    return found


def cover(acks: Acks, flow: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Number (in `acks`) of the first acknowledgement of all bytes before `offset`, -1 when none comes."""
    found = np.searchsorted(acks.place, place(flow, offset))
    there = found < len(acks.flow)
    there[there] = acks.flow[found[there]] == flow[there]
    return np.where(there, found, -1)


def water(acks: Acks, stream: Stream, rows: np.ndarray) -> np.ndarray:
    """The offset up to which all was acknowledged before each of `rows` of the stream; NOTHING at first."""
    found = np.searchsorted(acks.time, stream.key[rows]) - 1
    there = found >= 0
    there[there] = acks.flow[found[there]] == stream.flow[rows[there]]
    level = np.full(len(rows), NOTHING)
    level[there] = acks.value[found[there]]
    return level if stream.before is None else np.maximum(level, stream.before.water[stream.flow[rows]])


def duplicates(stream: Stream, probes: Probes) -> np.ndarray:
    """Empty acknowledgements that repeat number and window of the packet before them in their direction.

    The answer to a keep-alive does so too, and is none.
    """
    same = np.zeros(len(stream), dtype=bool)
    same[1:] = (stream.acked[1:] == stream.acked[:-1]) & (stream.window[1:] == stream.window[:-1])
    starts = starts_of(stream.flow)
    same[starts] = _says_again(stream, starts)
    same &= stream.plain & (stream.flags & ACK != 0) & (stream.payload == 0) & (stream.window > 0)
    same &= stream.begin == probes.reached
    rows = np.flatnonzero(same)
    before = opposite_before(stream, rows)
    same[rows] = (before < 0) | ~probes.keep_alive[before]
    return same


def repeats(stream: Stream, duplicate: np.ndarray) -> np.ndarray:
    """How many duplicates of its number a direction has sent, up to and with each packet."""
    fresh = np.ones(len(stream), dtype=bool)
    fresh[1:] = stream.acked[1:] != stream.acked[:-1]
    starts = starts_of(stream.flow)
    fresh[starts] = True
    total = np.cumsum(duplicate)
    since = latest(fresh)
    found: np.ndarray = total - total[since]
    if stream.before is not None and len(starts):
        # A flow's first packet here may go on with what was said before: then it is a duplicate itself, or is not.
        mine = stream.flow[starts]
        goes_on = stream.acked[starts] == stream.before.last_acked[mine]
        more = np.where(goes_on, stream.before.repeats[mine] + duplicate[starts], 0)
        found += np.where(since == spread(starts, starts, len(found)), spread(more, starts, len(found)), 0)
    return found


def _says_again(stream: Stream, starts: np.ndarray) -> np.ndarray:
    """Which of these first packets of their flows here repeat number and window of one that is not here."""
    before, flow = stream.before, stream.flow[starts]
    if before is None:
        return np.zeros(len(starts), dtype=bool)
    found: np.ndarray = (stream.acked[starts] == before.last_acked[flow]) & (
        stream.window[starts] == before.last_window[flow]
    )
    return found
