"""The first round trip of a connection: from its SYN to the acknowledgement that ends the handshake."""

from __future__ import annotations

import numpy as np

from analysis.tcp.connections import ACK, SYN
from analysis.tcp.stream import Stream

_NEVER = np.iinfo(np.int64).max


def handshake_ns(stream: Stream, *, unknown: int) -> np.ndarray:
    """For each flow, how long its connection's handshake took (ns); `unknown` where it was not seen.

    From the last SYN before the first acknowledgement that follows both SYN and SYN-ACK, to that.
    """
    flows = int(stream.flow.max(initial=-1)) + 1
    found = np.full(flows, unknown, dtype=np.int64)
    step = stream.flags & (SYN | ACK)
    if not (step == (SYN | ACK)).any():
        return found
    connection = np.where(stream.reverse >= 0, np.minimum(stream.flow, stream.reverse), stream.flow)
    both = np.maximum(
        _first(stream, step == SYN, connection=connection, flows=flows),
        _first(stream, step == SYN | ACK, connection=connection, flows=flows),
    )
    done = _first(stream, (step == ACK) & (stream.frame > both[connection]), connection=connection, flows=flows)
    opening = np.flatnonzero((step == SYN) & (stream.frame < done[connection]))
    began = np.full(flows, -1, dtype=np.int64)
    np.maximum.at(began, connection[opening], stream.frame[opening])
    whole = np.flatnonzero(done != _NEVER)
    found[whole] = _times(stream, done[whole]) - _times(stream, began[whole])
    lead = np.flatnonzero(stream.flow != connection)
    found[stream.flow[lead]] = found[connection[lead]]
    return found


def _times(stream: Stream, frames: np.ndarray) -> np.ndarray:
    """When these frames were captured (ns): a byte for each of the capture, and no time for those not asked for."""
    asked = np.zeros(stream.frames, dtype=bool)
    asked[frames] = True
    rows = np.flatnonzero(asked[stream.frame])
    rows = rows[np.argsort(stream.frame[rows])]
    found: np.ndarray = stream.t_ns[rows[np.searchsorted(stream.frame[rows], frames)]]
    return found


def _first(stream: Stream, mask: np.ndarray, *, connection: np.ndarray, flows: int) -> np.ndarray:
    first = np.full(flows, _NEVER)
    rows = np.flatnonzero(mask)
    np.minimum.at(first, connection[rows], stream.frame[rows])
    return first
