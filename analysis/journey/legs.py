"""One direction of the way: when a message left, when the copy that counted left, when all of it had arrived."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from analysis.journey.intervals import Intervals
from analysis.journey.passages import Passages
from analysis.journey.places import ENTER, LEAVE, LINKS, SERVER
from records.directions import Direction

UNKNOWN = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """Wall-clock nanoseconds for each message; UNKNOWN where the captures do not tell.

    left: the last byte first entered the medium.  sent: the packet entered it whose arrival completed the stream up
    to the message's end, or `left` when that packet had entered it before.  arrived: that packet left the medium.
    server: at the server's own port, of an uplink message the moment when the stream was complete, of a downlink
    one the last byte's first departure.  links[i, j]: nanoseconds from one end of link i to the other by the same
    moments, of message j; 0 where it was not seen at both.  copies: transmissions of the message's bytes, on average.
    """

    left: np.ndarray
    sent: np.ndarray
    arrived: np.ndarray
    server: np.ndarray
    links: np.ndarray
    copies: np.ndarray

    def take(self, which: np.ndarray) -> Leg:
        """Those of the messages at these places."""
        return Leg(**{one.name: getattr(self, one.name)[..., which] for one in fields(self)})


def legs(
    passages: Passages, streams: Intervals, direction: Direction, *, flow: np.ndarray, begin: np.ndarray,
    end: np.ndarray,
) -> Leg:  # fmt: skip
    """The legs of the messages that stand at [begin, end) of their flows' streams."""
    at = streams.at(flow, end - 1)
    # Padded: a row that is missing is the one behind the last.
    t_ns = np.append(passages.t_ns, UNKNOWN)
    twin = np.append(passages.twin, -1)
    left = t_ns[streams.first[ENTER[direction], at]]
    last = streams.ready[LEAVE[direction], at]
    sender = twin[last]
    sent = np.where(sender >= 0, t_ns[sender], UNKNOWN)
    known = (left != UNKNOWN) & (sent != UNKNOWN)
    seen = streams.ready if direction == "uplink" else streams.first
    ends = t_ns[seen[LINKS:, at]]
    one, other = ends[::2], ends[1::2]
    length = np.maximum(end - begin, 1)
    return Leg(
        left=left,
        sent=np.where(known, np.maximum(sent, left), UNKNOWN),
        arrived=t_ns[last],
        server=t_ns[seen[SERVER, at]],
        links=np.where((one != UNKNOWN) & (other != UNKNOWN), np.abs(other - one), 0),
        copies=(streams.sent_before(flow, end) - streams.sent_before(flow, begin)) / length,
    )


def turned(passages: Passages, streams: Intervals, *, flow: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Of messages between stations: when the packet whose arrival completed the stream turned from its way up to its
    way down (places.between_stations); UNKNOWN where that was not seen.
    """
    first = np.full(len(passages) + 1, len(passages))  # of each packet where it entered, the row where it turned
    there = np.flatnonzero((passages.place == SERVER) & (passages.twin >= 0))
    np.minimum.at(first, passages.twin[there], there)
    twin = np.append(passages.twin, -1)
    sender = twin[streams.ready[LEAVE["uplink"], streams.at(flow, end - 1)]]
    found: np.ndarray = np.append(passages.t_ns, UNKNOWN)[first[np.where(sender >= 0, sender, len(passages))]]
    return found
