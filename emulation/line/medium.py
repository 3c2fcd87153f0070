"""All of an access point's medium in virtual time: frames go in at ports and come out of ports.  Pure.

A frame meets, in this order: its queue, the air, the losses, and then delay, order, copies and damage.  Packets are
numbered by the list of losses that they meet, as they leave the air, those of an outage too; that number decides all of
a packet's fate.  Moments and durations are ns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush

from emulation.line.air import NEVER, Air, Price, Sender
from emulation.line.draws import Draws
from emulation.line.fate import Fate, damaged, odds
from emulation.plan.loss import SeededLosses
from emulation.profile.direction import DirectionProfile

WIRED = 0  # the port of the wired side; a station's port is its place in the layout, from 1
_IP = (b"\x08\x00", b"\x86\xdd")
_TYPE = slice(12, 14)
TO_A_GROUP = 1  # the lowest bit of an address's first byte (IEEE 802)


class Counted:
    """A list of losses and the packets that met it: seen, dropped by it, and dark, taken by an outage instead.

    draws: what else happens to its packets follows from these.
    """

    __slots__ = ("dark", "draws", "dropped", "losses", "lost", "modulus", "seen")

    def __init__(self, losses: SeededLosses) -> None:
        self.losses = losses
        self.draws = Draws(losses.seed, losses.name)
        self.lost = frozenset(losses.indices.tolist())
        self.modulus = losses.modulus
        self.seen = self.dropped = self.dark = 0


class Lane:
    """One direction of one station's link.

    station: its port.  port: where the frames come out.  air: None = the rate has no limit.  losses: shared by the
    lanes whose packets are numbered together.  dark: nothing gets through.  heard: of frames that many stations hear at
    once, the lanes of these, each of which has losses of its own.
    """

    __slots__ = (
        "air",
        "dark",
        "heard",
        "keep_order",
        "last_ns",
        "losses",
        "odds",
        "port",
        "price",
        "sender",
        "station",
    )

    def __init__(self, *, station: int, port: int, air: Air[Lane] | None, sender: Sender) -> None:
        self.station, self.port, self.air, self.sender = station, port, air, sender
        self.heard: Sequence[Lane] = ()
        self.last_ns = 0

    def set(self, settings: DirectionProfile, price: Price, losses: Counted, *, dark: bool) -> None:
        """What holds for the packets that leave the air from here on, and the price of what is sent."""
        self.price, self.losses, self.dark = price, losses, dark
        self.keep_order = settings.keep_order
        self.odds = odds(settings)


class Medium:
    """Takes frames in at ports, and says which come out of which port when.

    up, down: a lane for each station, in the order of their ports.  stations: MAC address to port.  airs: those of the
    lanes, each once.  to_all: for frames to a group that take an air once, a lane for each port that they come from,
    the wired one first; () = each station's copy is a frame of its own.
    """

    def __init__(
        self, *, up: Sequence[Lane], down: Sequence[Lane], airs: Sequence[Air[Lane]], stations: Mapping[bytes, int],
        to_all: Sequence[Lane] = (),
    ) -> None:  # fmt: skip
        self._to_all = to_all
        self._up, self._down, self._airs, self._stations = up, down, airs, stations
        self._busy: list[tuple[int, int, Air[Lane]]] = []  # moment, place and air, of each air that has one to come
        for place, air in enumerate(airs):
            air.place = place
        self._next_ns = NEVER  # when something happens next
        self._out: list[tuple[int, int, int, bytes]] = []  # moment, order, port, frame
        self._again: list[tuple[int, int, Lane, bytes]] = []  # frames from station to station, on their way down
        self._order = 0

    def arrive(self, now: int, port: int, data: bytes) -> None:
        """A frame arrives at a port."""
        if self._next_ns <= now:
            self.advance(now)
        if port != WIRED:
            self._enter(now, self._up[port - 1], data)
        else:
            for lane in self._towards(data, None):
                self._enter(now, lane, data)
        self._next_ns = self._next()

    def due(self) -> int:
        """When something happens next, or comes out; NEVER when nothing does before another frame arrives."""
        out = self._out
        return out[0][0] if out and out[0][0] < self._next_ns else self._next_ns

    def advance(self, now: int) -> None:
        """Do all that happens up to `now`, in the order in which it does."""
        busy, again = self._busy, self._again
        moment = self._next_ns
        while moment <= now:
            while busy and busy[0][0] <= moment:
                at, _, air = heappop(busy)
                if air.watched == at:
                    air.watched = NEVER
                    air.advance(moment)
                    self._watch(air)
            while again and again[0][0] <= moment:
                at, _, lane, data = heappop(again)
                self._enter(at, lane, data)
            moment = self._next()
        self._next_ns = moment

    def come_out(self, now: int) -> Iterable[tuple[int, int, bytes]]:
        """What has come out up to `now`: moment, port, frame."""
        out = self._out
        while out and out[0][0] <= now:
            moment, _, port, data = heappop(out)
            yield moment, port, data

    def on_the_way(self) -> int:
        """How many frames have left the air, and have not come out."""
        return len(self._out) + len(self._again)

    def change(self, now: int, apply: Callable[[], None], held: Mapping[Air[Lane], bool]) -> None:
        """Change lanes at a moment (`apply` does); frames that wait or travel keep their place."""
        self.advance(now)
        done = False

        def once() -> None:
            nonlocal done
            if not done:
                done = True
                apply()

        for air in self._airs:
            air.change(now, once, held=held.get(air, False))
            self._watch(air)
        once()
        self._next_ns = self._next()

    def left(self, now: int, lane: Lane, data: bytes) -> None:
        """A frame has left the air: what the airs of this medium call."""
        if lane.heard:
            for one in lane.heard:
                self.left(now, one, data)
            return
        fate = self._fate(lane, data)
        if fate is None:
            return
        if fate is lane.odds.usual:
            self._later(now, lane, fate.delay_ns, data)
            return
        if fate.copy_ns is not None:
            self._later(now, lane, fate.copy_ns, data)
        if fate.damage is not None:
            data = damaged(data, fate.damage)
        if fate.overtakes:
            self._give(now, lane, data)
        else:
            self._later(now, lane, fate.delay_ns, data)

    def _next(self) -> int:
        busy, again = self._busy, self._again
        while busy and busy[0][2].watched != busy[0][0]:
            heappop(busy)  # of an air whose moment has changed since
        moment = busy[0][0] if busy else NEVER
        return again[0][0] if again and again[0][0] < moment else moment

    def _watch(self, air: Air[Lane]) -> None:
        """Note when something happens next on an air that was told of something: with hundreds, asking all is slow."""
        moment = air.due()
        if moment != air.watched:
            air.watched = moment
            if moment != NEVER:
                heappush(self._busy, (moment, air.place, air))

    def _enter(self, now: int, lane: Lane, data: bytes) -> None:
        air = lane.air
        if air is None:
            self.left(now, lane, data)
        else:
            air.arrive(now, lane, data)
            self._watch(air)

    def _fate(self, lane: Lane, data: bytes) -> Fate | None:
        """None: it is lost.  What is not IP is neither numbered nor lost, as in the nftables stage."""
        if data[_TYPE] not in _IP:
            return lane.odds.usual
        losses = lane.losses
        number, losses.seen = losses.seen, losses.seen + 1
        if number % losses.modulus in losses.lost:
            losses.dropped += 1
            return None
        if lane.dark:
            losses.dark += 1
            return None
        return lane.odds.fate(losses.draws, number)

    def _later(self, now: int, lane: Lane, delay_ns: int, data: bytes) -> None:
        at = now + delay_ns
        if lane.keep_order:
            at = lane.last_ns = max(at, lane.last_ns)
        self._give(at, lane, data)

    def _give(self, at: int, lane: Lane, data: bytes) -> None:
        if lane.port == WIRED and (data[0] & TO_A_GROUP or data[:6] in self._stations):
            for down in self._towards(data, lane.station):
                self._order += 1
                heappush(self._again, (at, self._order, down, data))
            if not data[0] & TO_A_GROUP:
                return
        self._order += 1
        heappush(self._out, (at, self._order, lane.port, data))

    def _towards(self, data: bytes, sender: int | None) -> Iterable[Lane]:
        """The lanes down to whom a frame is addressed: a station's, or every one but the sender's for a group."""
        if data[0] & TO_A_GROUP:
            if self._to_all:
                return (self._to_all[sender or WIRED],)
            return [lane for port, lane in enumerate(self._down, 1) if port != sender]
        port = self._stations.get(data[:6])
        return () if port is None or port == sender else (self._down[port - 1],)
