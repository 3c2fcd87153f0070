"""Tunnels of one node: ordered, throttled messages between two applications, opened and given to whoever has them.
Pure.

Both ends are found as for a request.  Then, as the one that opens wants it, the tunnel goes over the overlay (`acked`)
or by a connection that the other node makes (`direct`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from stacks.iris import acked, relay
from stacks.iris.acked import AT_ONCE, Acked
from stacks.iris.direct import Direct, Way
from stacks.iris.ends import End, Tell
from stacks.iris.frames import FrameError, Kind, Message, Op, Peer, peers, read_peers
from stacks.iris.relay import CHUNK_LIMIT
from stacks.iris.wheel import Wheel

ACCEPT_S, TEND_S = 3.0, 1.0
_OF_ONE = (relay.TunnelData, relay.TunnelAllow, relay.TunnelClose)


class _Opening(NamedTuple):
    """What an application waits for.  id: its own number of the tunnel."""

    connection: int
    id: int
    slot: int


class _Offered(NamedTuple):
    """What a member may accept.  node, remote: who opens it, and its number.  place: where a connection is wanted."""

    connection: int
    node: int
    remote: int
    place: Peer | None
    slot: int


class Reach(Protocol):
    """Connects to a node for a tunnel of its, by its number; `Direct.begin` follows, or `lost`."""

    def __call__(self, place: Peer, number: int, end: Direct) -> None: ...


class Tunnels:
    """All ends of tunnels on one node.

    own: the node, set by who makes both.  send: a message into the overlay.  tell: an application something.  wheel,
    numbers: the node's; `expired` has to be called with numbers that come due.  ack_every: after so many packets there
    is an acknowledgement.  direct: whether tunnels that are opened here have connections of their own.  silence_s: for
    how long nothing has come over the connection to a node; infinite where there is none.
    """

    own: Peer

    def __init__(
        self,
        *,
        send: Callable[[Message], None],
        tell: Tell,
        reach: Reach,
        clock: Callable[[], float],
        wheel: Wheel,
        numbers: Iterator[int],
        ack_every: int = 1,
        direct: bool = False,
        silence_s: Callable[[int], float] = lambda _: math.inf,
    ) -> None:
        self._silence_s = silence_s
        self._heard_at: dict[int, float] = {}  # when something of any tunnel came from a node
        self._send, self._tell, self._reach, self._clock = send, tell, reach, clock
        self._wheel, self._numbers, self._ack_every, self._direct = wheel, numbers, ack_every, direct
        self._opening: dict[int, _Opening] = {}
        self._offered: dict[int, _Offered] = {}
        self._live: dict[int, End] = {}
        self._of: dict[tuple[int, int], End] = {}  # by an application and its number
        self._tended = clock()

    def __len__(self) -> int:
        return len(self._live)

    def open(self, connection: int, asked: relay.TunnelOpen, groups: tuple[int, ...]) -> None:
        """An application wants a tunnel to any member of a cluster, whose groups these are.

        Raises relay.RelayError where it has another one of that number.
        """
        self._check_free(connection, asked.id)
        number = next(self._numbers)
        limit_ms = min(asked.timeout_ms, 2**32 - 1)
        slot = self._wheel.set(number, self._clock() + limit_ms / 1000)
        self._opening[number] = _Opening(connection, asked.id, slot)
        group = groups[number % len(groups)]
        place = peers(Op.STATE, [self.own]) if self._direct else b""
        self._send(Message(Op.BALANCE, Kind.TUNNEL, group, self.own.id, number, place, limit_ms))

    def offer(self, member: int, message: Message) -> None:
        """A tunnel is for a member on this node; FrameError where it cannot be read."""
        place = None
        if message.data:
            (place,) = read_peers(message.data)[:1] or (None,)
        number = next(self._numbers)
        slot = self._wheel.set(number, self._clock() + ACCEPT_S)
        self._offered[number] = _Offered(member, message.origin, message.number, place, slot)
        self._tell(member, relay.TunnelOffered(number, CHUNK_LIMIT))

    def expired(self, number: int) -> bool:
        """Time is up, or there is no member, which the relay protocol tells alike; whether it was of a tunnel."""
        if (opening := self._opening.pop(number, None)) is not None:
            self._wheel.cancel(number, opening.slot)
            self._tell(opening.connection, relay.TunnelOpened(opening.id, True))
            return True
        return self._offered.pop(number, None) is not None

    def ask(self, connection: int, message: relay.Message) -> None:
        """An application says something of a tunnel; relay.RelayError where that cannot be."""
        if isinstance(message, relay.TunnelAccept):
            self._accept(connection, message)
            return
        if not isinstance(message, _OF_ONE):
            raise relay.RelayError(f"a {type(message).__name__} is out of place")
        end = self._of.get((connection, message.id))
        if end is None:
            return  # it has just been closed
        if isinstance(message, relay.TunnelData):
            end.push(message)
        elif isinstance(message, relay.TunnelAllow):
            end.allow(message.bytes)
        else:
            end.close()

    def arrived(self, message: Message) -> None:
        """Something of the other end over the overlay; FrameError where it is too short."""
        try:
            self._arrived(message)
        except struct.error as error:
            raise FrameError(f"a tunnel's {message.kind.name} has {len(message.data)} bytes: {error}") from error

    def reached(self, number: int, way: Way) -> Direct | None:
        """Who has taken a tunnel that was opened here has connected; None where nobody waits for it any more."""
        opening = self._opening.pop(number, None)
        if opening is None:
            return None
        self._wheel.cancel(number, opening.slot)
        end = self._made_direct(number, opening.connection, opening.id)
        self._tell(opening.connection, relay.TunnelOpened(opening.id, False, CHUNK_LIMIT))
        end.begin(way)
        return end

    def detach(self, connection: int) -> None:
        """An application has gone, and its tunnels with it."""
        waiting: dict[int, _Opening] | dict[int, _Offered]
        for waiting in (self._opening, self._offered):
            for number in [one for one, wanted in waiting.items() if wanted.connection == connection]:
                self._wheel.cancel(number, waiting.pop(number).slot)
        for end in [one for (whose, _), one in self._of.items() if whose == connection]:
            if not end.over:  # its other end may be the application's as well, which has just left it
                end.leave()

    def tend(self) -> None:
        """Have all ends do what time brings; to be called a few times a second."""
        now = self._clock()
        if now - self._tended >= TEND_S:
            self._tended = now
            for end in list(self._live.values()):
                end.tend(now)
            if not self._live:
                self._heard_at.clear()

    def _arrived(self, message: Message) -> None:
        kind, data = message.kind, message.data
        self._heard_at[message.origin] = self._clock()
        if kind is Kind.ACCEPT:
            self._accepted(message.number, message.origin, acked.sender(data))
            return
        end = self._live.get(message.number)
        if isinstance(end, Acked):
            end.arrived(kind, data)
        elif acked.asks(kind, data):
            self._say(message.origin, acked.sender(data), Kind.CLOSE, AT_ONCE)

    def _accept(self, connection: int, message: relay.TunnelAccept) -> None:
        offered = self._offered.get(message.build)
        if offered is None or offered.connection != connection:
            self._tell(connection, relay.TunnelClosed(message.id, "it was accepted too late"))
            return
        self._check_free(connection, message.id)
        del self._offered[message.build]
        self._wheel.cancel(message.build, offered.slot)
        if offered.place is not None:
            end = self._made_direct(message.build, connection, message.id)
            self._reach(offered.place, offered.remote, end)
            return
        self._begin(message.build, connection, message.id, offered.node, offered.remote)
        self._say(offered.node, offered.remote, Kind.ACCEPT, acked.accepted(message.build))

    def _check_free(self, connection: int, own_id: int) -> None:
        waits = any((one.connection, one.id) == (connection, own_id) for one in self._opening.values())
        if waits or (connection, own_id) in self._of:
            raise relay.RelayError(f"there is a tunnel {own_id} already")

    def _accepted(self, number: int, node: int, remote: int) -> None:
        opening = self._opening.pop(number, None)
        if opening is None:  # too late
            self._say(node, remote, Kind.CLOSE, AT_ONCE)
            return
        self._wheel.cancel(number, opening.slot)
        self._tell(opening.connection, relay.TunnelOpened(opening.id, False, CHUNK_LIMIT))
        self._begin(number, opening.connection, opening.id, node, remote)

    def _begin(self, number: int, connection: int, own_id: int, node: int, remote: int) -> None:
        end = Acked(
            connection,
            own_id,
            self._tell,
            partial(self._over, number),
            say=partial(self._say, node, remote),
            clock=self._clock,
            heard=partial(self._heard, node),
            number=number,
            ack_every=self._ack_every,
        )
        self._live[number] = self._of[connection, own_id] = end
        end.begin()

    def _made_direct(self, number: int, connection: int, own_id: int) -> Direct:
        end = Direct(connection, own_id, self._tell, partial(self._over, number), clock=self._clock)
        self._live[number] = self._of[connection, own_id] = end
        return end

    def _over(self, number: int) -> None:
        """An end's application has heard that it is over; what is left of the end may stay for a while."""
        if (end := self._live.get(number)) is None:  # on one node both ends may end in one call
            return
        if self._of.get((end.connection, end.id)) is end:
            del self._of[end.connection, end.id]
        if end.done:
            del self._live[number]

    def _heard(self, node: int) -> float:
        """When something came last from a node, be it of something else: what goes to it may be behind much of that."""
        return max(self._heard_at.get(node, -math.inf), self._clock() - self._silence_s(node))

    def _say(self, node: int, remote: int, kind: Kind, data: bytes) -> None:
        self._send(Message(Op.DIRECT, kind, node, self.own.id, remote, data))
