"""What the packets of a connection that are no longer held have left behind, for those that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Of the flows of one connection, all of which have had packets; an element for each, but for the gaps.

    last_seq, last_ack: numbers of its last packet, which is no reset and acknowledges.  last_begin, last_acked: their
    offsets.  last_window: of the same packet.  sent: the highest end of its packets, reached: the same without probes.
    raised_ns: when that was raised last.  water: up to where they were acknowledged.  repeats: how many duplicates it
    had sent since it acknowledged something else.  handshake_ns: of its connection.  recovered: frame that ended the
    last recovery which was counted, -1 where there is none. gap_flow, gap_low, gap_high: offsets that were jumped over
    and have not come since.
    """

    last_seq: np.ndarray
    last_ack: np.ndarray
    last_begin: np.ndarray
    sent: np.ndarray
    reached: np.ndarray
    raised_ns: np.ndarray
    water: np.ndarray
    last_acked: np.ndarray
    last_window: np.ndarray
    repeats: np.ndarray
    handshake_ns: np.ndarray
    recovered: np.ndarray
    gap_flow: np.ndarray
    gap_low: np.ndarray
    gap_high: np.ndarray
