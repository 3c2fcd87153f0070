"""Tunnels over the overlay: ordered, throttled messages between two applications.  Pure.

As in section 4.2 of Szilágyi (2014): both ends number their tunnels and what they send, every packet is acknowledged,
and only so many may be without an acknowledgement.  Nothing is sent again: what is lost ends the tunnel.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from stacks.iris import relay
from stacks.iris.frames import FrameError, Kind, Message, Op
from stacks.iris.relay import CHUNK_LIMIT
from stacks.iris.wheel import Wheel

WINDOW = 256  # packets without an acknowledgement
GRANT_BYTES = 4 * 1024 * 1024  # what an application may have in its node
ACCEPT_S, STALLED_S, TEND_S = 3.0, 30.0, 1.0

_LARGEST = 2**32 - 1  # of a message, in bytes
_PACKET = struct.Struct("!QI")  # number; of a message's first chunk the size of all, else 0
_NUMBER = struct.Struct("!Q")
_FULL = b"full"  # of Kind.ACK: all that was sent has come, and the application has no room for more
_AT_ONCE = 2**64 - 1  # of Kind.CLOSE: without what may be under way


class _Packet(NamedTuple):
    size: int
    data: bytes


@dataclass(slots=True)
class _Tunnel:
    """One end.  connection, id: the application's, and its own number of it.  node, remote: the other end."""

    connection: int
    id: int
    node: int = 0
    remote: int = 0
    slot: int | None = None
    granted: int = GRANT_BYTES
    waiting: deque[_Packet] = field(default_factory=deque)
    unacked: deque[int] = field(default_factory=deque)
    sent: int = 0
    acked: int = 0
    closing: bool = False
    pumping: bool = False
    allowed: int = 0
    early: dict[int, _Packet] = field(default_factory=dict)
    ready: deque[_Packet] = field(default_factory=deque)
    expected: int = 0
    given: int = 0
    told: int = 0
    end: int | None = None
    heard_at: float = 0.0
    acked_at: float = 0.0
    said_at: float = 0.0


class Tunnels:
    """All ends of tunnels on one node.

    send: a message into the overlay.  tell: an application something.  wheel, numbers: the node's; `expired` has to be
    called with numbers that come due.  ack_every: after so many packets there is an acknowledgement.
    """

    def __init__(
        self,
        *,
        send: Callable[[Message], None],
        tell: Callable[[int, relay.Message], object],
        clock: Callable[[], float],
        wheel: Wheel,
        numbers: Iterator[int],
        ack_every: int = 1,
    ) -> None:
        self.own = 0  # identifier of the node, set by who makes both
        self._send, self._tell, self._clock = send, tell, clock
        self._wheel, self._numbers, self._ack_every = wheel, numbers, ack_every
        self._opening: dict[int, _Tunnel] = {}
        self._offered: dict[int, _Tunnel] = {}
        self._live: dict[int, _Tunnel] = {}
        self._of: dict[tuple[int, int], int] = {}  # from an application's number of a live tunnel to the node's
        self._tended = clock()

    def __len__(self) -> int:
        return len(self._live)

    def open(self, connection: int, asked: relay.TunnelOpen, groups: tuple[int, ...]) -> None:
        """An application wants a tunnel to any member of a cluster, whose groups these are."""
        number = next(self._numbers)
        tunnel = self._opening[number] = _Tunnel(connection, asked.id)
        limit_ms = min(asked.timeout_ms, 2**32 - 1)
        tunnel.slot = self._wheel.set(number, self._clock() + limit_ms / 1000)
        group = groups[number % len(groups)]
        self._send(Message(Op.BALANCE, Kind.TUNNEL, group, self.own, number, b"", limit_ms))

    def offer(self, member: int, message: Message) -> None:
        """A tunnel is for a member on this node."""
        number = next(self._numbers)
        tunnel = _Tunnel(member, 0, message.origin, message.number)
        tunnel.slot = self._wheel.set(number, self._clock() + ACCEPT_S)
        self._offered[number] = tunnel
        self._tell(member, relay.TunnelOffered(number, CHUNK_LIMIT))

    def expired(self, number: int) -> bool:
        """Time is up, or there is no member, which the relay protocol tells alike; whether it was of a tunnel."""
        if (tunnel := self._opening.pop(number, None)) is not None:
            self._cancel(number, tunnel)
            self._tell(tunnel.connection, relay.TunnelOpened(tunnel.id, True))
            return True
        return self._offered.pop(number, None) is not None

    def ask(self, connection: int, message: relay.Message) -> None:
        """An application says something of a tunnel; relay.RelayError where that cannot be."""
        if isinstance(message, relay.TunnelAccept):
            self._accept(connection, message)
            return
        if not isinstance(message, relay.TunnelAllow | relay.TunnelData | relay.TunnelClose):
            raise relay.RelayError(f"a {type(message).__name__} is out of place")
        number = self._of.get((connection, message.id))
        if number is None:
            return  # it has just been closed
        tunnel = self._live[number]
        if isinstance(message, relay.TunnelAllow):
            tunnel.allowed += message.bytes
            self._give(number, tunnel)
        elif isinstance(message, relay.TunnelClose):
            tunnel.closing = True
            self._pump(number, tunnel)
        else:
            size = len(message.data)
            if size > CHUNK_LIMIT or size > tunnel.granted:
                raise relay.RelayError(
                    f"a chunk of {size} bytes, where {min(CHUNK_LIMIT, tunnel.granted)} are allowed on this tunnel"
                )
            if message.size > _LARGEST:
                raise relay.RelayError(f"a message of {message.size} bytes, where {_LARGEST} are allowed")
            tunnel.granted -= size
            tunnel.waiting.append(_Packet(message.size, message.data))
            self._pump(number, tunnel)

    def arrived(self, message: Message) -> None:
        """Something of the other end; FrameError where it is too short."""
        try:
            self._arrived(message)
        except struct.error as error:
            raise FrameError(f"a tunnel's {message.kind.name} has {len(message.data)} bytes: {error}") from error

    def _arrived(self, message: Message) -> None:
        number, kind, data = message.number, message.kind, message.data
        if kind is Kind.ACCEPT:
            self._accepted(message)
            return
        tunnel = self._live.get(number)
        if tunnel is None:
            if kind is Kind.DATA:  # the other end has to know that there is none
                self._say(message.origin, _remote(data), Kind.CLOSE, _NUMBER.pack(_AT_ONCE))
            return
        tunnel.heard_at = self._clock()
        if kind is Kind.DATA:
            self._take(number, tunnel, data[_NUMBER.size :])
        elif kind is Kind.ACK:
            if data[_NUMBER.size :] == _FULL:
                tunnel.acked_at = tunnel.heard_at
            self._acked(number, tunnel, _NUMBER.unpack_from(data)[0])
        else:
            tunnel.end = _NUMBER.unpack_from(data)[0]
            if tunnel.end == _AT_ONCE:
                self._over(number, tunnel, "the other end is gone")
            else:
                self._give(number, tunnel)

    def detach(self, connection: int) -> None:
        """An application has gone, and its tunnels with it."""
        for waiting in (self._opening, self._offered):
            for number in [one for one, tunnel in waiting.items() if tunnel.connection == connection]:
                self._cancel(number, waiting.pop(number))
        for number in [one for one, tunnel in self._live.items() if tunnel.connection == connection]:
            tunnel = self._live[number]
            self._say(tunnel.node, tunnel.remote, Kind.CLOSE, _NUMBER.pack(_AT_ONCE))
            self._forget(number, tunnel)

    def tend(self) -> None:
        """Acknowledge what is left over, give up tunnels whose other end is gone; to be called a few times a second.

        Either end says what it knows every STALLED_S / 3, so that who hears nothing for STALLED_S has lost the other.
        """
        now = self._clock()
        if now - self._tended < TEND_S:
            return
        self._tended = now
        for number, tunnel in list(self._live.items()):
            self._give(number, tunnel)
            if number not in self._live or tunnel.expected == tunnel.end:
                continue
            if tunnel.ready:
                self._acknowledge(tunnel, 0, _FULL)
            else:
                self._acknowledge(tunnel, 1)
            if not tunnel.unacked:
                tunnel.acked_at = now
            if min(tunnel.heard_at, tunnel.acked_at) < now - STALLED_S:
                self._say(tunnel.node, tunnel.remote, Kind.CLOSE, _NUMBER.pack(_AT_ONCE))
                what = "acknowledgement" if tunnel.unacked else "word of the other end"
                self._over(number, tunnel, f"no {what} for {STALLED_S:g} s")
            elif now - tunnel.said_at > STALLED_S / 3:
                tunnel.said_at = now
                self._acknowledge(tunnel, 0)

    def _accept(self, connection: int, message: relay.TunnelAccept) -> None:
        tunnel = self._offered.get(message.build)
        if tunnel is None or tunnel.connection != connection:
            self._tell(connection, relay.TunnelClosed(message.id, "it was accepted too late"))
            return
        self._cancel(message.build, self._offered.pop(message.build))
        tunnel.id = message.id
        self._begin(message.build, tunnel)
        self._say(tunnel.node, tunnel.remote, Kind.ACCEPT, _NUMBER.pack(message.build))

    def _accepted(self, message: Message) -> None:
        (remote,) = _NUMBER.unpack_from(message.data)
        tunnel = self._opening.pop(message.number, None)
        if tunnel is None:  # too late
            self._say(message.origin, remote, Kind.CLOSE, _NUMBER.pack(_AT_ONCE))
            return
        self._cancel(message.number, tunnel)
        tunnel.node, tunnel.remote = message.origin, remote
        self._tell(tunnel.connection, relay.TunnelOpened(tunnel.id, False, CHUNK_LIMIT))
        self._begin(message.number, tunnel)

    def _begin(self, number: int, tunnel: _Tunnel) -> None:
        tunnel.heard_at = tunnel.acked_at = tunnel.said_at = self._clock()
        self._live[number] = tunnel
        self._of[tunnel.connection, tunnel.id] = number
        self._tell(tunnel.connection, relay.TunnelAllow(tunnel.id, GRANT_BYTES))

    def _pump(self, number: int, tunnel: _Tunnel) -> None:
        """Send what the window has room for.  On one node both ends answer before `send` returns."""
        if tunnel.pumping:
            return
        tunnel.pumping = True
        while tunnel.waiting and tunnel.sent - tunnel.acked < WINDOW:
            packet = tunnel.waiting.popleft()
            tunnel.unacked.append(len(packet.data))
            tunnel.sent += 1
            head = _NUMBER.pack(number) + _PACKET.pack(tunnel.sent - 1, packet.size)
            self._say(tunnel.node, tunnel.remote, Kind.DATA, head + packet.data)
        tunnel.pumping = False
        if tunnel.closing and not tunnel.waiting and number in self._live:
            self._say(tunnel.node, tunnel.remote, Kind.CLOSE, _NUMBER.pack(tunnel.sent))
            self._over(number, tunnel, "")

    def _acked(self, number: int, tunnel: _Tunnel, up_to: int) -> None:
        if not tunnel.acked < up_to <= tunnel.sent:
            return
        free = sum(tunnel.unacked.popleft() for _ in range(up_to - tunnel.acked))
        tunnel.acked, tunnel.acked_at = up_to, self._clock()
        tunnel.granted += free
        if free:
            self._tell(tunnel.connection, relay.TunnelAllow(tunnel.id, free))
        self._pump(number, tunnel)

    def _take(self, number: int, tunnel: _Tunnel, packet: bytes) -> None:
        at, size = _PACKET.unpack_from(packet)
        if not tunnel.expected <= at < tunnel.given + WINDOW:
            return
        tunnel.early[at] = _Packet(size, packet[_PACKET.size :])
        while (found := tunnel.early.pop(tunnel.expected, None)) is not None:
            tunnel.expected += 1
            tunnel.ready.append(found)
        self._give(number, tunnel)

    def _give(self, number: int, tunnel: _Tunnel) -> None:
        """Hand over what the application has room for; of a message that has begun the rest as well."""
        while tunnel.ready and (tunnel.allowed >= len(tunnel.ready[0].data) or not tunnel.ready[0].size):
            packet = tunnel.ready[0]
            if self._tell(tunnel.connection, relay.TunnelData(tunnel.id, packet.size, packet.data)) is False:
                return  # no room: again when tunnels are tended
            tunnel.ready.popleft()
            tunnel.allowed -= len(packet.data)
            tunnel.given += 1
            self._acknowledge(tunnel, self._ack_every)
        if tunnel.given == tunnel.end:
            self._over(number, tunnel, "")

    def _acknowledge(self, tunnel: _Tunnel, least: int, why: bytes = b"") -> None:
        if tunnel.given - tunnel.told >= least:
            tunnel.told = tunnel.given
            self._say(tunnel.node, tunnel.remote, Kind.ACK, _NUMBER.pack(tunnel.given) + why)

    def _over(self, number: int, tunnel: _Tunnel, reason: str) -> None:
        self._tell(tunnel.connection, relay.TunnelClosed(tunnel.id, reason))
        self._forget(number, tunnel)

    def _forget(self, number: int, tunnel: _Tunnel) -> None:
        del self._live[number]
        self._of.pop((tunnel.connection, tunnel.id), None)

    def _cancel(self, number: int, tunnel: _Tunnel) -> None:
        if tunnel.slot is not None:
            self._wheel.cancel(number, tunnel.slot)

    def _say(self, node: int, remote: int, kind: Kind, data: bytes) -> None:
        self._send(Message(Op.DIRECT, kind, node, self.own, remote, data))


def _remote(data: bytes) -> int:
    """The sender's own number of the tunnel that a packet is of."""
    return int(_NUMBER.unpack_from(data)[0])
