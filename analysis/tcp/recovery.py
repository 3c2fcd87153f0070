"""Time in loss recovery, as the packets show it at this place.

An episode begins with the first packet that is sent again, and ends when an acknowledgement covers all that
had been sent when it began (the recovery point of RFC 6675, section 5); repetitions meanwhile belong to it.
An overtaken packet begins none, unless bytes of it had been here before.  When all was acknowledged already,
nothing is being recovered.  Without that acknowledgement an episode lasts until its connection's last packet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.tcp.acknowledgements import Acks, cover, water
from analysis.tcp.probes import Probes
from analysis.tcp.retransmissions import Kind
from analysis.tcp.stream import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Episodes:
    """One row per episode, ordered by flow and start; those of a flow do not overlap.

    row: of the packet that begins it, in the stream.  end_frame: of the acknowledgement that ends it, -1 without one.
    """

    flow: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    row: np.ndarray
    end_frame: np.ndarray


def find_episodes(
    stream: Stream, *, probes: Probes, acks: Acks, kind: np.ndarray, new: np.ndarray, last_ns: np.ndarray
) -> Episodes:
    """Episodes of all flows.  kind, new: of each packet.  last_ns: time of each flow's last packet."""
    again = (kind != Kind.NONE) & ((kind != Kind.OUT_OF_ORDER) | (new < stream.payload))
    rows = np.flatnonzero(again)
    rows = rows[water(acks, stream, rows) < probes.reached[rows]]
    if stream.before is not None:  # what belongs to an episode that was counted begins none
        rows = rows[stream.frame[rows] > stream.before.recovered[stream.flow[rows]]]
    flow = stream.flow[rows]
    covered = cover(acks, flow, probes.reached[rows])
    acknowledged = acks.row[covered] if len(acks.row) else covered
    begins = _openings(stream, rows, end_frame=np.where(covered >= 0, stream.frame[acknowledged], stream.frames))
    start = stream.t_ns[rows]
    reverse = stream.reverse[rows]
    over = np.maximum(last_ns[flow], np.where(reverse >= 0, last_ns[reverse], start))
    end = np.where(covered >= 0, stream.t_ns[acknowledged], over)
    return Episodes(
        flow=flow[begins],
        start_ns=start[begins],
        end_ns=np.maximum(start, end)[begins],
        row=rows[begins],
        end_frame=np.where(covered >= 0, stream.frame[acknowledged], -1)[begins],
    )


def _openings(stream: Stream, rows: np.ndarray, *, end_frame: np.ndarray) -> np.ndarray:
    """Which repetitions open an episode: the first of a flow, and each first one after the end of an episode.

    Which comes next after each is known at once; those that are reached from the firsts are marked by jumps
    that double in length.
    """
    count = len(rows)
    after = np.searchsorted(stream.key[rows], stream.flow[rows] * stream.frames + end_frame, side="right")
    there = after < count
    there[there] = stream.flow[rows[after[there]]] == stream.flow[rows[there]]
    jump = np.append(np.where(there, after, count), count)
    marked = np.ones(count + 1, dtype=bool)
    marked[1:count] = stream.flow[rows[1:]] != stream.flow[rows[:-1]]
    while (jump[:count] != count).any():
        marked[jump[marked]] = True
        jump = jump[jump]
    return marked[:count]
