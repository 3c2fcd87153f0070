"""Both ends of a tunnel without a network: tests hold the way between them."""

from __future__ import annotations

import math
from collections import deque
from itertools import count

from stacks.iris import relay
from stacks.iris.direct import Direct
from stacks.iris.frames import Message, Peer
from stacks.iris.relay import TunnelAccept, TunnelAllow, TunnelData, TunnelOffered, TunnelOpen
from stacks.iris.tunnels import Tunnels
from stacks.iris.ways import HELD_BYTES
from stacks.iris.wheel import Wheel

ROOM = 64 * 1024 * 1024


class Line:
    """One side of a connection.  coming: frames on the way to it."""

    def __init__(self) -> None:
        self.end: Direct | None = None
        self.other: Line = self
        self.coming: deque[bytes] = deque()
        self.reads, self.there = True, True
        self.under_way = 0  # bytes to the other side

    def send(self, *parts: bytes, beside: bytes = b"") -> None:
        if self.there:
            self.other.coming.append(b"".join((*parts, beside)))
            self.under_way += len(self.other.coming[-1])
            if self.end is not None and self.under_way > HELD_BYTES:
                self.end.full()

    def hold(self) -> None:
        self.reads = False

    def go_on(self) -> None:
        self.reads = True

    def cut(self) -> None:
        for side in (self, self.other):
            side.there = False

    def pass_on(self) -> bool:
        """Let one frame come, or the end of the connection; whether there was anything."""
        if self.end is None or not self.reads:
            return False
        if not self.there:
            end, self.end = self.end, None
            end.lost()
            return True
        if not self.coming:
            return False
        frame = self.coming.popleft()
        self.end.came([frame])
        self.other.under_way -= len(frame)
        if self.other.end is not None and not self.other.under_way:
            self.other.end.room()
        return True


class Ends:
    """Nodes 1 and 2, each with one application, number 7.  said: what each application is told.  way: what is sent over
    the overlay.  lines: both sides of a direct tunnel's connection, that of node 2, which makes it, first.

    full: whether applications have room for nothing.  silence_s: for how long the nodes' connection is silent.
    """

    def __init__(self, *, ack_every: int = 1, direct: bool = False) -> None:
        self.now, self.full, self.silence_s = 0.0, False, math.inf
        self.said: dict[int, list[relay.Message]] = {1: [], 2: []}
        self.way: list[Message] = []
        self.lines: list[Line] = []
        self.reaching: list[tuple[Peer, int, Direct]] = []
        self.wheels = {node: Wheel(0.0) for node in (1, 2)}
        self.tunnels = {
            node: Tunnels(
                send=self.way.append,
                tell=lambda _, message, node=node: self.tell(node, message),
                reach=lambda place, number, end: self.reaching.append((place, number, end)),
                clock=lambda: self.now,
                wheel=self.wheels[node],
                numbers=count(100 * node),
                ack_every=ack_every,
                direct=direct,
                silence_s=lambda _: self.silence_s,
            )
            for node in (1, 2)
        }
        for node, tunnels in self.tunnels.items():
            tunnels.own = Peer(node, f"10.0.0.{node}", 1)

    def tell(self, node: int, message: relay.Message) -> bool:
        if not self.full:
            self.said[node].append(message)
        return not self.full

    def offered(self, timeout_ms: int = 1000, *, number: int = 1) -> Ends:
        """Application 1 has asked for a tunnel, and 2 may take it."""
        self.tunnels[1].open(7, TunnelOpen(number, "c", timeout_ms), (5,))
        self.tunnels[2].offer(7, self.way.pop())
        return self

    def opened(self) -> Ends:
        (offer,) = self.offered().said[2]
        assert isinstance(offer, TunnelOffered)
        self.tunnels[2].ask(7, TunnelAccept(offer.build, 9))
        self.pass_on()
        assert self.live == [1, 1]
        for said in self.said.values():
            said.clear()
        return self

    @property
    def live(self) -> list[int]:
        return [len(tunnels) for tunnels in self.tunnels.values()]

    def connect(self) -> None:
        """Node 2 has reached the other."""
        place, number, end = self.reaching.pop(0)
        self.lines = [here, there] = [Line(), Line()]
        here.other, there.other, here.end = there, here, end
        there.end = self.tunnels[place.id].reached(number, there)
        if there.end is None:
            there.cut()
        end.begin(here)

    def pass_on(self) -> None:
        while self.way or self.reaching:
            if self.way:
                message = self.way.pop(0)
                self.tunnels[message.key].arrived(message)
            else:
                self.connect()
        while any(line.pass_on() for line in self.lines):
            pass

    def wait(self, seconds: float, *nodes: int) -> None:
        """Let time pass for nodes, and what they say arrive."""
        for _ in range(int(seconds)):
            self.now += 1
            for node in nodes:
                self.tunnels[node].tend()
            self.pass_on()

    def send(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.tunnels[1].ask(7, TunnelData(1, len(chunk), chunk))

    def allow(self, room: int = ROOM) -> None:
        self.tunnels[2].ask(7, TunnelAllow(9, room))

    @property
    def got(self) -> list[bytes]:
        return [one.data for one in self.said[2] if isinstance(one, TunnelData)]

    @property
    def granted(self) -> int:
        """Bytes that application 1 has been allowed since the tunnel was opened."""
        return sum(one.bytes for one in self.said[1] if isinstance(one, TunnelAllow))
