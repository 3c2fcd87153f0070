"""A node's connections, on asyncio: to other nodes, and to the applications on its host."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol, cast

from stacks.iris import relay
from stacks.iris.frames import FrameError, Kind, Op, Peer, beat, peers, read_peers, read_tunnel
from stacks.iris.relay import FROM_CLIENT, Reader, RelayError
from stacks.iris.session import Session, SessionError

# What may wait for one receiver; more is dropped.
ROOM_BYTES = 64 * 1024 * 1024
RECORD_S = 60.0  # at 2.2 kbit/s one of ours takes as long
LEAVE_S = 60.0  # what is under way over a connection that is given up has so long
# What gathers in one turn of the loop, at most: one turn may read many megabytes.
GATHERED_BYTES = 128 * 1024
LARGE_BYTES = 16 * 1024  # so large on average, parts are written as they are
# Of an application, behind that: how a request ended, and what keeps a tunnel going.  One that does not take even that
# is cut off: nothing else tells it any more.
SMALL_BYTES, SMALL_ROOM_BYTES = 1024, 1024 * 1024
_ANSWERS = (relay.Denied, relay.Closed)  # what an application may be told instead of a welcome
_DROPPED = (relay.Broadcasted, relay.Published, relay.Requested, relay.TunnelData)


OnFrames = Callable[[list[bytes]], None]


class Flushed(Protocol):
    """What gathers what it has to write."""

    def flush(self) -> None:
        """Write it."""


class Owner(Protocol):
    """What the node does for its connections."""

    def made_peer(self, link: PeerLink) -> None:
        """A connection to a node is there, and nobody knows yet who is at its other end."""

    def known(self, link: PeerLink, peer: Peer) -> None:
        """Who is there has shown that it has the key."""

    def tunnel(self, link: PeerLink, number: int) -> OnFrames:
        """Who is there has taken a tunnel that was opened here; returns who has its frames from now on."""

    def alive(self, link: PeerLink) -> None:
        """Bytes have come from a node that is known, be they only a part of a frame."""

    def frames(self, link: PeerLink, frames: list[bytes]) -> None:
        """Frames have come."""

    def lost_peer(self, link: PeerLink, why: str) -> None:
        """The connection is over."""

    def made_application(self, link: RelayLink) -> None:
        """A connection to an application is there, which has not said anything yet."""

    def initiated(self, link: RelayLink, cluster: str) -> None:
        """An application is there, which waits to be welcomed."""

    def asked(self, link: RelayLink, message: relay.Message) -> None:
        """An application asks for something."""

    def left_application(self, link: RelayLink) -> None:
        """An application wants nothing any more, although its connection may have something to give it still."""

    def lost_application(self, link: RelayLink) -> None:
        """An application has gone."""

    def now(self) -> float:
        """Seconds of a clock that never goes back."""

    def flush_soon(self, link: Flushed) -> None:
        """Have `link.flush` called at the end of this turn of the loop."""


def hello(own: Peer) -> bytes:
    """What a node tells of itself in the handshake."""
    return peers(Op.STATE, [own])


class PeerLink(asyncio.Protocol):
    """A session with another node.  peer: who is there, None before that is shown.  known_at: since when it is.

    place: what this node has dialled; None where the other one has.
    """

    def __init__(self, owner: Owner, session: Session, *, place: tuple[str, int] | None = None) -> None:
        self.peer: Peer | None = None
        self.place, self.dialled, self.known_at = place, place is not None, 0.0
        self._owner, self._session = owner, session
        self._frames: OnFrames | None = None  # of a tunnel; the owner's would hold this link, which nothing would free
        self._waits, self._why = False, "the connection ended"
        self._begun_at: float | None = None  # since when what has come is only a part of a record
        self._records = 0  # that had come by then

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        # A cast: the transports of uvloop are no subclasses.
        self._transport = cast(asyncio.Transport, transport)
        without_delay(transport)
        self._owner.made_peer(self)
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        if self.peer is not None:
            self._owner.alive(self)
        try:
            found = self._session.feed(data)
            if self.peer is None and self._session.established:
                self._introduce()
            if found and self._frames is not None:
                self._frames(found)
            elif found:
                self._owner.frames(self, found)
        except (SessionError, FrameError) as error:
            self.end(str(error))
            return
        if not self._session.established:
            self.flush()
        if not self._session.in_a_record:
            self._begun_at = None
        elif self._begun_at is None or self._records != self._session.records:
            self._begun_at, self._records = self._owner.now(), self._session.records

    def tend(self, now: float) -> None:
        """End the connection where a record does not end: its length, which anybody can change, may be another one."""
        if self._begun_at is not None and now - self._begun_at > RECORD_S:
            self.end(f"a record has not come to its end within {RECORD_S:g} s")

    def eof_received(self) -> None:
        """Called by asyncio, which then closes the connection: behind what has gathered."""
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._owner.lost_peer(self, str(exc) if exc else self._why)

    def send(self, *parts: bytes, beside: bytes = b"") -> bool:
        """Have a frame go with the others of this turn, as Session.send; False where there is no room for it."""
        if self.over:
            return False
        session, held = self._session, self._held()
        # What keeps the overlay and tunnels going is small, and has room behind what fills the rest.
        if held > ROOM_BYTES and (held > 2 * ROOM_BYTES or _may_be_dropped(parts[0])):
            return False
        session.send(*parts, beside=beside)
        if session.queued_bytes > GATHERED_BYTES:
            self.flush()
        elif not self._waits:
            self._waits = True
            self._owner.flush_soon(self)
        return True

    def flush(self) -> None:
        """Write what has gathered."""
        self._waits = False
        if (written := self._session.outgoing()) and not self._transport.is_closing():
            self._transport.writelines(written)

    @property
    def over(self) -> bool:
        """Whether nothing gets to the node any more."""
        return self._transport.is_closing()

    def give_away(self) -> tuple[asyncio.Transport, Session]:
        """What another protocol goes on with."""
        return self._transport, self._session

    def end(self, why: str) -> None:
        """Cut the connection."""
        self._why = why
        self._transport.abort()

    def leave(self, why: str) -> None:
        """End the connection behind what either side has sent over it already."""
        self._why = why
        self.flush()
        if not self._transport.is_closing():
            self._transport.write_eof()
            asyncio.get_running_loop().call_later(LEAVE_S, self._transport.abort)

    def _held(self) -> int:
        return self._session.queued_bytes + self._transport.get_write_buffer_size()

    def _introduce(self) -> None:
        introduction = self._session.peer or b""
        if not self.dialled and (number := read_tunnel(introduction)) is not None:
            self._frames = self._owner.tunnel(self, number)
            return
        found = read_peers(introduction)
        if len(found) != 1:
            raise FrameError(f"a node introduces itself as {len(found)} nodes")
        self.peer = found[0]
        self._owner.known(self, self.peer)
        if self.dialled and not self._transport.is_closing():
            self.send(beat(True))  # the other side knows us by our first record


class RelayLink(asyncio.Protocol):
    """An application.  number: by which the node knows it.  What others have for it comes behind its welcome."""

    def __init__(self, owner: Owner, number: int) -> None:
        self.number = number
        self.initiated = False
        self._early: list[relay.Message] | None = []  # None: it is welcome
        self._early_bytes = 0
        self._owner, self._reader = owner, Reader(FROM_CLIENT, views=True)
        self._out: list[bytes] = []
        self._held = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast(asyncio.Transport, transport)
        without_delay(transport)
        self._owner.made_application(self)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        try:
            for message in self._reader.feed(data):
                if self.over:  # what comes behind its Close would stay
                    return
                self._take(message)
        except RelayError as error:
            self.say(relay.Closed(str(error)) if self.initiated else relay.Denied(str(error)))
            self._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        del exc
        self._owner.lost_application(self)

    def say(self, message: relay.Message) -> bool:
        """Have a message go with the others of this turn; False where there is no room for it."""
        if self.over:
            return False
        parts = relay.parts(message)
        size = sum(map(len, parts))
        if self._early is not None and not isinstance(message, _ANSWERS):
            if self._early_bytes + size > ROOM_BYTES:
                return False
            self._early.append(message)
            self._early_bytes += size
            return True
        held = self._held + self._transport.get_write_buffer_size()
        if held > ROOM_BYTES:
            if size > SMALL_BYTES or isinstance(message, _DROPPED):
                return False
            if held > ROOM_BYTES + SMALL_ROOM_BYTES:
                self.cut()
                return False
        if not self._out:
            self._owner.flush_soon(self)
        self._out += parts
        self._held += size
        if self._held > GATHERED_BYTES:
            self.flush()
        return True

    @property
    def over(self) -> bool:
        """Whether nothing gets to it any more."""
        return self._transport.is_closing()

    def welcome(self) -> None:
        """Tell the application that it may begin, and what has come for it meanwhile."""
        early, self._early = self._early or [], None
        self.say(relay.Welcome(relay.VERSION))
        for message in early:
            self.say(message)

    def cut(self) -> None:
        """End the connection without another word."""
        self._transport.abort()

    def flush(self) -> None:
        """Write what has gathered."""
        out, self._out = self._out, []
        if out and not self._transport.is_closing():
            if self._held < LARGE_BYTES * len(out):
                self._transport.write(b"".join(out))
            else:
                self._transport.writelines(out)  # without a copy
        self._held = 0

    def _take(self, message: relay.Message) -> None:
        if self.initiated:
            if isinstance(message, relay.Close):
                self.say(relay.Closed(""))
                self._leave()
            else:
                self._owner.asked(self, message)
        elif not isinstance(message, relay.Init):
            raise RelayError(f"a {type(message).__name__} before Init")
        elif message.version != relay.VERSION:
            raise RelayError(f"version {message.version!r} is not {relay.VERSION!r}")
        else:
            self.initiated = True
            self._owner.initiated(self, message.cluster)

    def _leave(self) -> None:
        self.flush()
        self._transport.close()
        asyncio.get_running_loop().call_later(LEAVE_S, self._transport.abort)  # who reads nothing is cut off
        self._owner.left_application(self)


def _may_be_dropped(head: bytes) -> bool:
    """Whether a frame that begins so is a request, a reply or a message to many."""
    return head[0] in (Op.BALANCE, Op.FLOOD, Op.DIRECT) and head[1] < Kind.TUNNEL


def without_delay(transport: asyncio.BaseTransport) -> None:
    """Have TCP send what it has at once."""
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
