"""Uploads by TCP cubic over the line's air, in virtual time: nothing in it is late, and nothing is left to chance.

Of cubic (RFC 9438) what matters for how two of them share a queue: slow start that ends when round trips grow,
the cubic and the Reno-friendly window, one reduction for each window in which something was lost.  A receiver
acknowledges every second frame, and acknowledgements use the same air.
"""

from __future__ import annotations

from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple

from emulation.line.air import NEVER, Air, Price, Sender, price

MS, S = 10**6, 10**9
FRAME, ACK, BODY = 1514, 66, 1448
_BETA, _C = 0.7, 0.4  # RFC 9438, 4.6 and 5
_START_WINDOW = 10.0  # RFC 6928
_DELAYED = 2  # RFC 1122, 4.2.3.2: an acknowledgement for every second frame
_NO_ROUND_TRIP_YET = 200 * MS


class Packet(NamedTuple):
    """size: bytes.  sent: number and moment of the frame, or of those that are acknowledged."""

    size: int
    sent: tuple[tuple[int, int], ...]


class Frame(bytes):
    """What an air takes: as long as its packet, with nothing in it."""

    packet: Packet

    @classmethod
    def of(cls, packet: Packet) -> Frame:
        """A frame that carries a packet."""
        found = cls(packet.size)
        found.packet = packet
        return found


class Lane:
    """One direction of a flow."""

    def __init__(self, sender: Sender, cost: Price, flow: Flow, *, up: bool) -> None:
        self.sender, self.price, self.flow, self.up = sender, cost, flow, up


class Flow:
    """An upload that always has something to send."""

    up: Lane
    down: Lane

    def __init__(self) -> None:
        self.window, self.threshold, self.most = _START_WINDOW, 1e9, 0.0
        self.epoch, self.plateau, self.friendly = -1, 0.0, 0.0
        self.under_way = self.next = self.got = self.dropped = 0
        self.round_trip = self.least = 0
        self.reduced_at = -1
        self.unanswered: list[tuple[int, int]] = []

    def acknowledged(self, now: int, sent_ns: int) -> None:
        """A frame that was sent at that moment has arrived."""
        self.under_way -= 1
        self.round_trip = now - sent_ns
        self.least = min(self.least or self.round_trip, self.round_trip)
        if self.window < self.threshold:
            self.window += 1
            if self.window > 16 and self.round_trip > self.least + max(4 * MS, min(self.least // 8, 16 * MS)):
                self.threshold = self.window
            return
        if self.epoch < 0:
            self.epoch, self.friendly = now, self.window
            self.plateau = (max(self.most - self.window, 0.0) / _C) ** (1 / 3)
            self.most = max(self.most, self.window)
        since = (now - self.epoch + self.least) / S
        self.friendly += 3 * (1 - _BETA) / (1 + _BETA) / self.window
        target = max(self.most + _C * (since - self.plateau) ** 3, self.friendly)
        self.window += min((target - self.window) / self.window, 0.5) if target > self.window else 0.01 / self.window

    def lost(self, number: int) -> None:
        """It has noticed that a frame was lost."""
        self.under_way -= 1
        if number > self.reduced_at:
            self.reduced_at, self.epoch = self.next, -1
            self.most = self.window if self.window >= self.most else self.window * (1 + _BETA) / 2
            self.window = self.threshold = max(self.window * _BETA, 2.0)


class Uploads:
    """Two of them through one air.  apart: each station and the access point take turns packet by packet."""

    def __init__(
        self, *, rate: float, delay_ns: int, queue_s: float, host_ns: int, chance_ns: int, apart: bool, seed: int = 1
    ) -> None:
        self.flows = [Flow(), Flow()]
        self._delay, self._host, self._chance, self._random = delay_ns, host_ns, chance_ns, Random(seed)
        self._events: list[tuple[int, int, tuple[Any, ...]]] = []
        self._order = 0
        self._air: Air[Lane] = Air(self._left)
        limit, cost = int(queue_s * rate / 8), price(rate, 0.0)
        shared, access_point = Sender(limit_bytes=limit), Sender(limit_bytes=limit)
        for flow in self.flows:
            flow.up = Lane(Sender(limit_bytes=limit) if apart else shared, cost, flow, up=True)
            flow.down = Lane(access_point if apart else shared, cost, flow, up=False)

    def run(self, seconds: int) -> list[tuple[float, float]]:
        """Goodput of both in each second, bit/s."""
        for flow in self.flows:
            self._send(0, flow)
        found: list[tuple[float, float]] = []
        before, now = [0, 0], 0
        while len(found) < seconds:
            now = min(self._air.due(), self._events[0][0] if self._events else NEVER)
            while now >= (len(found) + 1) * S:
                got = [flow.got for flow in self.flows]
                found.append(tuple((one - was) * BODY * 8.0 for one, was in zip(got, before, strict=True)))  # type: ignore[arg-type]
                before = got
            self._air.advance(now)
            while self._events and self._events[0][0] <= now:
                self._happen(now, *heappop(self._events)[2])
        return found

    def _happen(self, now: int, what: str, lane: Lane, packet: Packet) -> None:
        flow = lane.flow
        if what == "lost":
            flow.lost(packet.sent[0][0])
        elif lane.up:
            flow.got += 1
            flow.unanswered += packet.sent
            if len(flow.unanswered) >= _DELAYED or flow.under_way < 4:
                answer, flow.unanswered = Packet(ACK, tuple(flow.unanswered)), []
                # An acknowledgement that finds no room is made good by the next.
                if not self._air.arrive(now, flow.down, Frame.of(answer)):
                    flow.unanswered = list(answer.sent)
            return
        else:
            for _, sent_ns in packet.sent:
                flow.acknowledged(now, sent_ns)
        self._send(now, flow)

    def _send(self, now: int, flow: Flow) -> None:
        while flow.under_way < int(flow.window):
            packet = Packet(FRAME, ((flow.next, now),))
            flow.next += 1
            flow.under_way += 1
            if not self._air.arrive(now, flow.up, Frame.of(packet)):
                flow.dropped += 1
                self._push(now + (flow.round_trip or _NO_ROUND_TRIP_YET), "lost", flow.up, packet)

    def _left(self, now: int, lane: Lane, data: bytes) -> None:
        assert isinstance(data, Frame)
        host = self._host + (self._random.randrange(self._chance) if self._chance else 0)
        self._push(now + self._delay + host, "in", lane, data.packet)

    def _push(self, at: int, *what: object) -> None:
        self._order += 1
        heappush(self._events, (at, self._order, what))
