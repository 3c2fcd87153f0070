"""When probe packets must arrive by their fates, where these are known beforehand.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulation.asked import Asked
from emulation.line.air import price
from emulation.probe import Arrivals


@dataclass(frozen=True, slots=True)
class Foretold:
    """Arrivals that a burst must lead to, in the order of their packets; a copy comes before its packet.

    number: of the packet.  sent_ns, at_ns: when it went out, and when it arrives (wall clock).  damage: chooses the bit
    that is turned over (emulation.line.fate.damaged), -1 = none.
    """

    number: np.ndarray
    sent_ns: np.ndarray
    at_ns: np.ndarray
    damage: np.ndarray

    def received(self) -> Foretold:
        """Those that a socket receives: not the damaged ones, whose checksums are wrong."""
        sound = self.damage < 0
        return Foretold(self.number[sound], self.sent_ns[sound], self.at_ns[sound], self.damage[sound])


def foretell(asked: Asked, arrivals: Arrivals) -> Foretold:
    """What must come of the packets of a burst, which has its link to itself."""
    air, own = (price(one.rate, one.frame_overhead) for one in (asked.air, asked.side))
    free = last = 0
    rows: list[tuple[int, int, int, int]] = []
    fates = asked.fates(arrivals.first, arrivals.sent)
    went = zip(arrivals.went_ns.tolist(), arrivals.went_bytes.tolist(), strict=True)
    for number, ((sent, size), fate) in enumerate(zip(went, fates, strict=True), arrivals.first):
        start = max(sent, free)
        leaves, free = start + air.of(size), start + max(air.of(size), own.of(size))
        if fate is None:
            continue
        waiting = [] if fate.copy_ns is None else [(fate.copy_ns, -1)]
        waiting += [] if fate.overtakes else [(fate.delay_ns, -1 if fate.damage is None else fate.damage)]
        for delay_ns, damage in waiting:
            at = max(leaves + delay_ns, last) if asked.side.keep_order else leaves + delay_ns
            last = at
            rows.append((number, sent, at, damage))
        if fate.overtakes:
            rows.append((number, sent, leaves, -1 if fate.damage is None else fate.damage))
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return Foretold(table[:, 0], table[:, 1], table[:, 2], table[:, 3])


def pairs(foretold: Foretold, arrivals: Arrivals) -> tuple[np.ndarray, np.ndarray]:
    """Arrivals that were foretold: places in `foretold` and in `arrivals`, the n-th of a packet with its n-th."""
    (due, due_keys), (came, came_keys) = (
        _keyed(one.number, at) for one, at in ((foretold, foretold.at_ns), (arrivals, arrivals.received_ns))
    )
    _, mine, theirs = np.intersect1d(due_keys, came_keys, assume_unique=True, return_indices=True)
    return due[mine], came[theirs]


def _keyed(number: np.ndarray, at_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places by packet and time, and a key for each: the packet, and how many of it came before."""
    order = np.lexsort((at_ns, number))
    ordered = number[order]
    before = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return order, ordered * 1024 + before
