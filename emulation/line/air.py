"""One transmission capacity in virtual time: whose frame is sent when.  Pure: the caller says what time it is.

All follows from the moments at which frames arrive, so that a late caller delays what it is told and moves no frame
that comes after it.  Moments and durations are ns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

NEVER = 1 << 62
Turns = Literal["packets", "airtime"]


class Price(NamedTuple):
    """What a frame takes of an air: overhead_ns, and ns_per_byte for each of its bytes."""

    overhead_ns: int
    ns_per_byte: float

    def of(self, size: int) -> int:
        """Airtime of a frame of `size` bytes, in ns."""
        return self.overhead_ns + round(size * self.ns_per_byte)


def price(rate: float | None, overhead_s: float) -> Price:
    """At `rate` bit/s (None: unlimited, and a frame takes no time) with `overhead_s` for each frame."""
    return Price(0, 0.0) if rate is None else Price(round(overhead_s * 1e9), 8e9 / rate)


class Contender:
    """Who takes turns with others.  tag: how much it has been served, on the air's scale."""

    __slots__ = ("tag",)

    def __init__(self) -> None:
        self.tag = 0


class Sender:
    """A queue of frames that waits for an air.

    limit_bytes, limit_packets: what may wait, None = no such limit.  own: what its frames take of a capacity of the
    sender's own beside the air's, None = it has none.  contender: whose turns it uses, None = turns of its own.
    """

    __slots__ = ("backlog_bytes", "contender", "limit_bytes", "limit_packets", "own", "queue", "ready_ns")

    def __init__(
        self,
        *,
        limit_bytes: int | None = None,
        limit_packets: int | None = None,
        own: Price | None = None,
        contender: Contender | None = None,
    ) -> None:
        self.limit_bytes, self.limit_packets, self.own = limit_bytes, limit_packets, own
        self.contender = contender or Contender()
        self.queue: deque[tuple[Any, bytes]] = deque()
        self.backlog_bytes = 0
        self.ready_ns = 0  # from when on its own capacity is free

    def has_room(self, size: int) -> bool:
        """Whether another frame may wait."""
        if self.limit_packets is not None:
            return len(self.queue) < self.limit_packets
        return self.limit_bytes is None or self.backlog_bytes + size <= self.limit_bytes

    def set_own(self, now: int, own: Price | None) -> None:
        """Change its own capacity at a moment (ns): bits that it still owes are owed at the new rate."""
        if self.own and own and self.own.ns_per_byte and self.ready_ns > now:
            self.ready_ns = now + round((self.ready_ns - now) * own.ns_per_byte / self.own.ns_per_byte)
        self.own = own


class Lane(Protocol):
    """What a frame belongs to: its price may change while it waits or is sent."""

    sender: Sender
    price: Price


L = TypeVar("L", bound=Lane)


class Air(Generic[L]):
    """Sends one frame after another; tells `finish` the moment, the lane and the frame when one is over.

    Between contenders it takes turns by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): a turn is a
    packet, or as much airtime as any other contender's.  A frame that finds the air free is sent at once.
    """

    __slots__ = (
        "_active",
        "_data",
        "_ends",
        "_finish",
        "_free_ns",
        "_held",
        "_lane",
        "_left",
        "_order",
        "_price",
        "_served",
        "_since",
        "_turns",
        "_waiting",
        "overflowed",
        "place",
        "sent",
        "sent_bytes",
        "watched",
    )

    def __init__(self, finish: Callable[[int, L, bytes], None], *, turns: Turns = "packets") -> None:
        self._finish, self._turns = finish, turns
        self._lane: L | None = None  # of the frame that is being sent
        self._data = b""
        self._left = 0.0  # bytes of it, from moment `_since` on
        self._since = 0
        self._price = Price(0, 0.0)
        self._ends = NEVER
        self._free_ns = 0
        self._held = False
        self._served = 0  # the tag of the contender that was served last
        self._order = 0
        self._active: list[tuple[int, int, Sender]] = []  # by tag
        self._waiting: list[tuple[int, int, Sender]] = []  # until their own capacity is free
        self.sent = self.sent_bytes = self.overflowed = 0
        # Its owner's: which of its airs this is, and when it knows that something happens next.
        self.place, self.watched = 0, NEVER

    def arrive(self, now: int, lane: L, data: bytes) -> bool:
        """A frame arrives; False when there is no room for it."""
        self.advance(now)
        sender = lane.sender
        if self._lane is None and not self._held and not sender.queue and sender.ready_ns <= now:
            self._begin(now, sender, lane, data)
            return True
        if not sender.has_room(len(data)):
            self.overflowed += 1
            return False
        if not sender.queue:
            sender.ready_ns = max(sender.ready_ns, now)
            self._enlist(sender)
        sender.queue.append((lane, data))
        sender.backlog_bytes += len(data)
        return True

    def due(self) -> int:
        """When something happens next; NEVER when nothing does before another frame arrives."""
        if self._lane is not None:
            return self._ends
        return self._waiting[0][0] if self._waiting and not self._held else NEVER

    def advance(self, now: int) -> None:
        """Do all that happens up to `now`."""
        while True:
            if self._lane is not None:
                if self._ends > now:
                    return
                lane, data, ends = self._lane, self._data, self._ends
                self._lane, self._free_ns = None, ends
                self._finish(ends, lane, data)
            if self._held or not (self._active or self._waiting):
                return
            start = self._free_ns if self._active else max(self._free_ns, self._waiting[0][0])
            if start > now:
                return
            while self._waiting and self._waiting[0][0] <= start:
                self._activate(heappop(self._waiting)[2])
            sender = self._next_sender()
            lane, data = sender.queue.popleft()
            sender.backlog_bytes -= len(data)
            self._begin(start, sender, lane, data, waited=True)
            if sender.queue:
                self._enlist(sender)

    def change(self, now: int, apply: Callable[[], None], *, held: bool = False) -> None:
        """Change prices or limits (`apply` does) at a moment; what is left of the frame being sent is at the new price.

        held: from here on nothing is sent.
        """
        self.advance(now)
        self._left, self._since = self.left_bytes(now), max(self._since, now)
        if self._held and not held:
            self._free_ns = max(self._free_ns, now)
        self._held = held
        apply()
        self._waiting = [(sender.ready_ns, order, sender) for _, order, sender in self._waiting]
        heapify(self._waiting)
        if self._lane is not None:
            self._price = self._lane.price
            self._ends = NEVER if held else self._since + round(self._left * self._price.ns_per_byte)
        self.advance(now)

    def backlog_bytes(self) -> int:
        """What waits, but for the frame that is being sent."""
        return sum(sender.backlog_bytes for _, _, sender in (*self._active, *self._waiting))

    def left_bytes(self, now: int) -> float:
        """What is still to be sent, at a moment up to which the air was advanced, of the frame that is being sent."""
        if self._lane is None:
            return 0.0
        if self._held or now <= self._since or not self._price.ns_per_byte:
            return self._left
        return self._left - (now - self._since) / self._price.ns_per_byte

    def _enlist(self, sender: Sender) -> None:
        """A sender that has frames waits for its turn, or for its own capacity first."""
        if sender.ready_ns > self._free_ns and sender.own is not None:
            self._order += 1
            heappush(self._waiting, (sender.ready_ns, self._order, sender))
        else:
            self._activate(sender)

    def _activate(self, sender: Sender) -> None:
        self._order += 1
        heappush(self._active, (max(self._served, sender.contender.tag), self._order, sender))

    def _next_sender(self) -> Sender:
        """Whose turn it is.

        A queue whose contender was served from another one meanwhile waits for the next turn, and has it before that.
        """
        while True:
            tag, order, sender = heappop(self._active)
            if sender.contender.tag <= tag:
                return sender
            heappush(self._active, (max(self._served, sender.contender.tag), order, sender))

    def _begin(self, start: int, sender: Sender, lane: L, data: bytes, *, waited: bool = False) -> None:
        """waited: in a queue, so that the sender's own capacity may have been free for it before the air was.

        It is made up for, by a frame at most: a sender among others has its rate, too.
        """
        size = len(data)
        paid = lane.price
        self._lane, self._data, self._price = lane, data, paid
        self._left = float(size)
        self._since = start + paid.overhead_ns
        self._ends = start + paid.of(size)
        contender = sender.contender
        self._served = max(self._served, contender.tag)
        contender.tag = self._served + (1 if self._turns == "packets" else paid.of(size))
        if sender.own is not None:
            cost = sender.own.of(size)
            sender.ready_ns = max(sender.ready_ns, start - cost if waited else start) + cost
        self.sent += 1
        self.sent_bytes += size
