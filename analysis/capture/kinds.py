"""What a record turned out to be: a TCP or UDP packet, or a kind of something else that is only counted."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Kind(IntEnum):
    """PACKET: decoded.  CUT: the snap length cut a header.  MALFORMED: a header contradicts itself or its frame.
    FRAGMENT: a later fragment of an IP packet, without its ports.  VLAN: more than two tags.
    """

    PACKET = 0
    ARP = 1
    ICMP = 2
    ICMPV6 = 3
    VLAN = 4
    FRAGMENT = 5
    CUT = 6
    MALFORMED = 7
    OTHER = 8


def add_counts(kinds: np.ndarray, counts: dict[str, int]) -> None:
    """Add to `counts` how many of each kind there are, packets apart."""
    for kind, number in enumerate(np.bincount(kinds, minlength=len(Kind)).tolist()):
        if number and kind != Kind.PACKET:
            name = Kind(kind).name.lower()
            counts[name] = counts.get(name, 0) + number
