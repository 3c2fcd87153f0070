"""A ZeroMQ socket on an event loop: what arrives, what waits to be sent, and which peers there are."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain

import zmq
from zmq.utils.monitor import recv_monitor_message

from stacks.channel import silence
from stacks.driver import Peer, StackError
from stacks.zeromq.knobs import ZeroMQKnobs

Parts = Sequence[bytes]

_AT_ONCE = 200  # messages, until others have their turn
_BACKLOG = 1000
_AGAIN_S = 0.005  # until it is tried again to send to a peer that had no room
_CONNECTIONS = zmq.EVENT_CONNECTED | zmq.EVENT_ACCEPTED
_WATCHED = _CONNECTIONS | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED


class Wire:
    """take: gets the parts of each message that arrives."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], kind: int, knobs: ZeroMQKnobs) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = context.socket(kind)
        _set(self._socket, kind, knobs)
        self.take: Callable[[list[bytes]], None] = lambda _: None
        self._waiting: deque[tuple[Parts, asyncio.Future[None]]] = deque()
        # Of a ROUTER, by peer: what one has no room for waits, and others have theirs.
        self._is_router = kind == zmq.ROUTER
        self._behind: dict[bytes, deque[tuple[Parts, asyncio.Future[None]]]] = {}
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._done.set_result(None)
        self._soon = False
        self._met = 0
        self._meeting: list[tuple[int, asyncio.Future[None]]] = []
        self._awaited: list[asyncio.Future[None]] = []
        self._connections: set[int] = set()
        self._monitor = self._socket.get_monitor_socket(_WATCHED)
        self._loop.add_reader(self._socket.fileno(), self._ready)
        self._loop.add_reader(self._monitor.fileno(), self._see)

    def bind(self, own: Peer) -> None:
        """Listen at a client's own port; StackError where that is not possible."""
        self._attempt(self._socket.bind, f"tcp://{own.address}:{own.port}")
        self._see()

    def connect(self, own: Peer, other: Peer) -> None:
        """Connect from a client's own port to another's, now and whenever the connection was lost."""
        self._attempt(self._socket.connect, f"tcp://{own.address}:{own.port};{other.address}:{other.port}")
        self._see()

    def subscribe(self, prefix: bytes) -> None:
        """Of a SUB socket: to what begins so."""
        self._socket.set(zmq.SUBSCRIBE, prefix)

    def send(self, parts: Parts) -> asyncio.Future[None]:
        """Hand a message over; ends when ZeroMQ has taken it, which says nothing of the peer."""
        if self._socket.closed:
            raise StackError("the socket is closed")
        if self._is_router:
            return self._sent_back(parts)
        if not self._waiting and self._taken(parts):
            return self._done
        waiting = self._loop.create_future()
        self._waiting.append((parts, waiting))
        self._look_soon()
        return waiting

    def _sent_back(self, parts: Parts) -> asyncio.Future[None]:
        peer = parts[0]
        if peer not in self._behind:
            if self._taken(parts):
                return self._done
            self._behind[peer] = deque()
            if len(self._behind) == 1:
                self._loop.call_later(_AGAIN_S, self._catch_up)
        waiting = self._loop.create_future()
        self._behind[peer].append((parts, waiting))
        return waiting

    def _catch_up(self) -> None:
        """Send what peers have room for by now: a ROUTER says that it can send as long as any peer has room."""
        if self._socket.closed:
            return
        for peer, behind in list(self._behind.items()):
            self._send_from(behind)
            if not behind:
                del self._behind[peer]
        if self._behind:
            self._loop.call_later(_AGAIN_S, self._catch_up)

    def _send_from(self, waiting: deque[tuple[Parts, asyncio.Future[None]]]) -> None:
        while waiting and self._taken(waiting[0][0]):
            _, sent = waiting.popleft()
            if not sent.done():
                sent.set_result(None)

    async def met(self, count: int) -> None:
        """Wait until so many peers have shaken hands."""
        if self._met < count:
            meeting = self.awaited()
            self._meeting.append((count, meeting))
            await meeting

    def awaited(self) -> asyncio.Future[None]:
        """What somebody waits for before the socket is of use: StackError when it is closed before."""
        self._awaited.append(found := self._loop.create_future())
        return found

    def close(self, linger_s: float = 0.0, *, why: str = "the socket was closed") -> None:
        """End it; what is unsent is still sent for so long."""
        if self._socket.closed:
            return
        self._loop.remove_reader(self._monitor.fileno())
        self._loop.remove_reader(self._socket.fileno())
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=round(linger_s * 1000))
        unsent = (waiting for _, waiting in (*self._waiting, *chain.from_iterable(self._behind.values())))
        for waiting in (*unsent, *self._awaited):
            if not waiting.done():
                waiting.set_exception(StackError(why))
                waiting.exception()  # nobody may be waiting for it any more
        self._waiting.clear()
        self._behind.clear()

    def vanish(self) -> None:
        """End it without FIN or RST; StackError without root."""
        self._see()
        for number in self._connections:
            with suppress(OSError), socket.socket(fileno=os.dup(number)) as connection:  # it may have ended by itself
                silence(connection)
        self.close(why="it was cut without a word")

    def _attempt(self, action: Callable[[str], object], where: str) -> None:
        try:
            action(where)
        except zmq.ZMQError as error:
            raise StackError(f"{where}: {error.strerror}") from error

    def _taken(self, parts: Parts) -> bool:
        try:
            self._socket.send_multipart(parts, zmq.NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:  # of a ROUTER: that peer has gone, and its reply with it
                raise StackError(f"a message was refused: {error.strerror}") from error
        self._look_soon()
        return True

    def _look_soon(self) -> None:
        # The descriptor tells of changes only, and calls of ours take them (zmq_getsockopt(3), ZMQ_FD).
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._ready)

    def _ready(self) -> None:
        self._soon = False
        if self._socket.closed:
            return
        self._receive()
        self._send_from(self._waiting)
        # To look takes the news of a peer that has room again, too.
        wanted = zmq.POLLIN | zmq.POLLOUT if self._waiting else zmq.POLLIN
        if not self._socket.closed and _events(self._socket) & wanted:
            self._look_soon()

    def _receive(self) -> None:
        for _ in range(_AT_ONCE):
            if self._socket.closed or not _events(self._socket) & zmq.POLLIN:
                return
            try:
                self.take(self._socket.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                return

    def _see(self) -> None:
        while _events(self._monitor) & zmq.POLLIN:
            seen = recv_monitor_message(self._monitor, zmq.NOBLOCK)
            if seen["event"] & _CONNECTIONS:
                self._connections.add(seen["value"])
            elif seen["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._met += 1
            else:
                self._connections.discard(seen["value"])
        for count, meeting in self._meeting:
            if self._met >= count and not meeting.done():
                meeting.set_result(None)


def _set(made: zmq.Socket[bytes], kind: int, knobs: ZeroMQKnobs) -> None:
    made.set(zmq.SNDHWM, knobs.send_high_water)
    made.set(zmq.RCVHWM, knobs.receive_high_water)
    made.set(zmq.RECONNECT_IVL, round(knobs.reconnect_s * 1000))
    made.set(zmq.BACKLOG, _BACKLOG)
    if knobs.heartbeat_s:
        made.set(zmq.HEARTBEAT_IVL, round(knobs.heartbeat_s * 1000))
    if knobs.heartbeat_timeout_s:
        made.set(zmq.HEARTBEAT_TIMEOUT, round(knobs.heartbeat_timeout_s * 1000))
    if kind == zmq.XPUB:
        made.set(zmq.XPUB_VERBOSE, 1)  # tells of every subscriber, not only of a topic's first
    if kind == zmq.ROUTER:
        made.set(zmq.ROUTER_MANDATORY, 1)  # else it drops in silence what a peer has no room for
    if kind in (zmq.PUSH, zmq.DEALER):
        made.set(zmq.IMMEDIATE, 1)  # nothing is queued for a peer that is not there


def _events(made: zmq.Socket[bytes]) -> int:
    events = made.get(zmq.EVENTS)
    assert isinstance(events, int)
    return events
