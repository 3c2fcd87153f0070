"""Packets that do not go on where their flow had got to: sent again, or overtaken on the way.

Seen from one place the two look alike, so tshark's rules tell them apart, by what came back and by how much
time has passed (packet-tcp.c of 4.0; held against it by the tests).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from analysis.tcp.acknowledgements import Acks, repeats, water
from analysis.tcp.handshake import handshake_ns
from analysis.tcp.probes import Probes
from analysis.tcp.segments import latest, spread, starts_of
from analysis.tcp.stream import Stream, firsts, opposite_before

_FAST_NS = 20_000_000  # a repetition this soon after duplicate acknowledgements answers them
_OVERTAKEN_NS = 3_000_000  # how late a packet may be that was overtaken, when the handshake was not seen


class Kind(IntEnum):
    """What a packet that does not go on is.  SPURIOUS: all of it had been acknowledged."""

    NONE = 0
    RETRANSMISSION = 1
    FAST = 2
    SPURIOUS = 3
    OUT_OF_ORDER = 4


def kinds(stream: Stream, *, probes: Probes, acks: Acks, duplicate: np.ndarray) -> np.ndarray:
    """The Kind of every packet (uint8)."""
    found = np.zeros(len(stream), dtype=np.uint8)
    behind = stream.data & ~probes.keep_alive & (stream.begin < probes.reached)
    # One byte back with more behind it is how data goes on after a probe.
    behind &= (stream.payload <= 1) | (stream.begin != probes.reached - 1)
    _name_spurious(found, stream, probes, acks)
    rows = np.flatnonzero(behind & (found == Kind.NONE))
    found[rows] = Kind.RETRANSMISSION
    late_ns = stream.t_ns[rows] - raised_ns(stream, probes)[rows]
    soon = late_ns < handshakes(stream)[stream.flow[rows]]
    found[rows[soon & (stream.end[rows] != probes.reached[rows])]] = Kind.OUT_OF_ORDER
    found[rows[_answers_duplicates(stream, rows, duplicate)]] = Kind.FAST
    return found


def handshakes(stream: Stream) -> np.ndarray:
    """How long the handshake of each flow's connection took, or what is taken for it where it was not seen (ns)."""
    return handshake_ns(stream, unknown=_OVERTAKEN_NS) if stream.before is None else stream.before.handshake_ns


def _name_spurious(found: np.ndarray, stream: Stream, probes: Probes, acks: Acks) -> None:
    rows = np.flatnonzero(stream.data & (stream.payload > 0) & ~probes.keep_alive)
    whole = stream.begin[rows] + stream.payload[rows]
    rows = rows[whole <= water(acks, stream, rows)]
    before = opposite_before(stream, rows)
    found[rows[stream.begin[rows] + stream.payload[rows] <= stream.acked[before]]] = Kind.SPURIOUS


def raised_ns(stream: Stream, probes: Probes) -> np.ndarray:
    """When, before each packet, its flow was raised last; of a flow's first packet its own time."""
    raises = (stream.end > probes.reached) & ~stream.reset & ~probes.probe
    starts = starts_of(stream.flow)
    at_start = stream.t_ns[starts]
    if stream.before is not None:
        at_start = stream.before.raised_ns[stream.flow[starts]]
    raises |= firsts(stream)
    since = latest(raises)
    here = raises[since] & (since >= spread(starts, starts, len(stream)))
    level = np.where(here, stream.t_ns[since], spread(at_start, starts, len(stream)))
    found = np.empty_like(level)
    found[1:] = level[:-1]
    found[starts] = at_start
    return found


def _answers_duplicates(stream: Stream, rows: np.ndarray, duplicate: np.ndarray) -> np.ndarray:
    before = opposite_before(stream, rows)
    asked = (before >= 0) & (stream.acked[before] == stream.begin[rows])
    soon = stream.t_ns[rows] - stream.t_ns[before] < _FAST_NS
    found: np.ndarray = asked & soon & (repeats(stream, duplicate)[before] >= 2)
    return found
