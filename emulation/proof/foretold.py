"""When probe packets must arrive by their fates, where these are known beforehand.  Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from emulation.line.air import NEVER, price
from emulation.line.fate import Fate
from emulation.proof.asked import Asked
from emulation.proof.probe import Arrivals

# Two packets that come to a direction nearer together than this, on real clocks, may have come the other way round.
_NEAR_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Foretold:
    """Arrivals that a burst must lead to, in the order of their packets; a copy comes before its packet.

    number: of the packet.  sent_ns, at_ns: when it went out, and when it arrives (wall clock).  damage: chooses the bit
    that is turned over (emulation.line.fate.damaged), -1 = none; of several directions the last one's.  unsure: packets
    whose numbers in a later direction's list another one may have.
    """

    number: np.ndarray
    sent_ns: np.ndarray
    at_ns: np.ndarray
    damage: np.ndarray
    unsure: frozenset[int] = frozenset()

    def received(self) -> Foretold:
        """Those that a socket receives: not the damaged ones, whose checksums are wrong."""
        sound = self.damage < 0
        return Foretold(self.number[sound], self.sent_ns[sound], self.at_ns[sound], self.damage[sound], self.unsure)


class _Frame(NamedTuple):
    """A frame that comes to a direction.  order: of frames that come at once.  which: packet of the burst."""

    at_ns: int
    order: int
    place: int
    which: int
    size: int
    damage: int


@dataclass(slots=True)
class _Queue:
    """Frames that wait for an air.  ready_ns: when its own rate lets it send again.  tag: its place in the turns."""

    waiting: deque[_Frame] = field(default_factory=deque)
    ready_ns: int = 0
    tag: int = 0


@dataclass(slots=True)
class _Air:
    """Queues that take turns packet by packet.  free_ns: when the frame that is being sent is over."""

    queues: list[_Queue] = field(default_factory=list)
    free_ns: int = 0
    served: int = 0

    def next(self) -> tuple[int, _Queue | None]:
        """When which queue sends next."""
        found = [
            (max(self.free_ns, one.ready_ns, one.waiting[0].at_ns), max(self.served, one.tag), place)
            for place, one in enumerate(self.queues)
            if one.waiting
        ]
        if not found:
            return NEVER, None
        at, _, place = min(found)
        return at, self.queues[place]


@dataclass(slots=True)
class _Hop:
    """One direction: its air, the queue that it waits in there, and the fates of what comes, in order."""

    asked: Asked
    air: _Air
    queue: _Queue
    fates: Iterator[Fate | None]
    last_ns: int = 0
    before: tuple[int, int] = (0, -1)  # when which packet came last

    def send(self, start: int, frame: _Frame) -> Iterator[tuple[int, int]]:
        """When what becomes of a frame comes out, and which bit of it is turned over."""
        price_of, own_of = (price(one.rate, one.frame_overhead) for one in (self.asked.air, self.asked.side))
        cost, own = price_of.of(frame.size), own_of.of(frame.size)
        leaves = self.air.free_ns = start + cost
        self.air.served = max(self.air.served, self.queue.tag)
        self.queue.tag = self.air.served + 1
        if own > cost:  # what its own rate allowed while it waited for the air is made up for, by a frame at most
            self.queue.ready_ns = max(self.queue.ready_ns, start - own if frame.at_ns < start else start) + own
        fate = next(self.fates)
        if fate is None:
            return
        damage = -1 if fate.damage is None else fate.damage
        waiting = [] if fate.copy_ns is None else [(fate.copy_ns, -1)]
        waiting += [] if fate.overtakes else [(fate.delay_ns, damage)]
        for delay_ns, harm in waiting:
            at = max(leaves + delay_ns, self.last_ns) if self.asked.side.keep_order else leaves + delay_ns
            self.last_ns = at
            yield at, harm
        if fate.overtakes:
            yield leaves, damage


def foretell(asked: Asked, arrivals: Arrivals) -> Foretold:
    """What must come of the packets of a burst, which has its link to itself.

    Where fates are not known (asked.seeded) it is what would come of lists, rates and delays alone.
    """
    hops = _hops(asked, arrivals)
    airs = list({id(hop.air): hop.air for hop in hops}.values())
    went = zip(arrivals.went_ns.tolist(), arrivals.went_bytes.tolist(), strict=True)
    coming = [_Frame(sent, order, 0, order, size, -1) for order, (sent, size) in enumerate(went)]
    order, rows, unsure = len(coming), list[tuple[int, int, int, int]](), set[int]()
    while True:
        start, queue = min((air.next() for air in airs), key=lambda one: one[0])
        if coming and coming[0].at_ns <= start:
            frame = heappop(coming)
            unsure |= _mistakable(hops, frame)
            hops[frame.place].queue.waiting.append(frame)
            continue
        if queue is None:
            break
        frame = queue.waiting.popleft()
        for at, harm in hops[frame.place].send(start, frame):
            damage = frame.damage if harm < 0 else harm
            if frame.place + 1 < len(hops):
                heappush(coming, _Frame(at, order, frame.place + 1, frame.which, frame.size, damage))
                order += 1
            else:
                rows.append((arrivals.first + frame.which, int(arrivals.went_ns[frame.which]), at, damage))
    rows.sort(key=lambda row: row[0])
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    numbers = frozenset(arrivals.first + which for which in unsure)
    return Foretold(table[:, 0], table[:, 1], table[:, 2], table[:, 3], numbers)


def _hops(asked: Asked, arrivals: Arrivals) -> list[_Hop]:
    """A queue for each group of stations on one air, else, and where turns are taken, for each direction."""
    shared, first, most, found = _Air(), arrivals.first, arrivals.sent, list[_Hop]()
    for one in asked.hops:
        air = shared if asked.one_air else _Air()
        same = [hop.queue for hop in found if hop.air is air and hop.asked.loss.group == one.loss.group]
        same = same if asked.one_queue else []
        queue = same[0] if same else _Queue()
        if not same:
            air.queues.append(queue)
        found.append(_Hop(one, air, queue, one.fates(first, most)))
        first, most = one.passed(first), 2 * most  # each may be copied
    return found


def _mistakable(hops: list[_Hop], frame: _Frame) -> set[int]:
    """Packets that come to a direction so near together that each may have the other's number there."""
    hop = hops[frame.place]
    (then, other), hop.before = hop.before, (frame.at_ns, frame.which)
    if not frame.place or hops[frame.place - 1].asked.keeps_order:
        return set()
    return {other, frame.which} if other not in (-1, frame.which) and frame.at_ns - then < _NEAR_NS else set()


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
