"""An application's end of the relay protocol, on asyncio: requests, replies, broadcasts, topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from stacks.channel import CLOSE_LIMIT_S, Channel, fail
from stacks.driver import RequestHandler, StackError, UnansweredError
from stacks.iris import relay
from stacks.iris.patterns import FATE_UNKNOWN
from stacks.iris.relay import FROM_NODE, Reader
from stacks.iris.tunnel import Tunnel

GATHERED_BYTES = 64 * 1024  # what waits for the end of a turn of the loop, at most

OnData = Callable[[bytes], None]


class FaultError(StackError):
    """The member that had the request says what went wrong, or there is none."""


class UnknownFateError(FaultError, UnansweredError):
    """A member had the request: whether it was carried out is not known."""


class TimedOutError(UnansweredError):
    """There was no reply in time."""


class Application(Channel):
    """A connection to the node on this host.  It may be a member of one cluster.

    on_request: has the requests to that cluster that come here; what it replies with success=False is a fault.
    on_broadcast: every broadcast to it.  on_tunnel: every tunnel that is opened to this member; it sets the tunnel's
    `on_message`.  Without on_request a request is answered by a fault; without the others nobody hears.
    """

    LANGUAGE = "the relay protocol"

    def __init__(self) -> None:
        super().__init__()
        self.on_request: RequestHandler | None = None
        self.on_broadcast: OnData | None = None
        self.on_tunnel: Callable[[Tunnel], None] | None = None
        self._reader = Reader(FROM_NODE)
        self._loop = asyncio.get_running_loop()
        self._held_bytes = 0
        self._welcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left: asyncio.Future[None] | None = None
        self._asked: dict[int, asyncio.Future[bytes]] = {}
        self._topics: dict[str, OnData] = {}
        self._opening: dict[int, asyncio.Future[Tunnel]] = {}
        self._tunnels: dict[int, Tunnel] = {}
        self._number = 0
        self._taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._taken.set_result(None)

    async def enter(self, cluster: str = "") -> None:
        """Introduce the application, as a member of a cluster or of none; StackError where the node does not take it.

        Returns when the node has found its way to the others.
        """
        self._say(relay.Init(relay.VERSION, cluster))
        await self._welcome

    def request(self, cluster: str, data: bytes, timeout_ms: int) -> asyncio.Future[bytes]:
        """Have any one member of a cluster answer; the future ends with the reply, FaultError or TimedOutError."""
        reply: asyncio.Future[bytes] = self._loop.create_future()
        if (over := self.over) is not None:
            fail(reply, over)
            return reply
        self._number += 1
        self._asked[self._number] = reply
        self._say(relay.Request(self._number, cluster, data, timeout_ms))
        return reply

    def broadcast(self, cluster: str, data: bytes) -> asyncio.Future[None]:
        """Have every member of a cluster hear something; StackError where the connection is gone.

        The future ends when the node has room for more, which is no news of anybody's having heard it.
        """
        self._say(relay.Broadcast(cluster, data))
        return self._room()

    def publish(self, topic: str, data: bytes) -> asyncio.Future[None]:
        """Have every subscriber of a topic hear something; as `broadcast`."""
        self._say(relay.Publish(topic, data))
        return self._room()

    def _room(self) -> asyncio.Future[None]:
        """One for all who wait, and who does not wait any longer does not end it for the others."""
        if self._taken.done():
            return self._taken
        room = asyncio.shield(self._taken)
        room.add_done_callback(_known)
        return room

    def subscribe(self, topic: str, on_event: OnData) -> None:
        """Hear what is published to a topic from now on."""
        self._topics[topic] = on_event
        self._say(relay.Subscribe(topic))

    def unsubscribe(self, topic: str) -> None:
        """Hear nothing of it any more."""
        self._topics.pop(topic, None)
        self._say(relay.Unsubscribe(topic))

    def open_tunnel(self, cluster: str, timeout_ms: int) -> asyncio.Future[Tunnel]:
        """A tunnel to any one member of a cluster; TimedOutError where none has taken it in time, or there is none."""
        opened: asyncio.Future[Tunnel] = asyncio.get_running_loop().create_future()
        self._number += 1
        self._opening[self._number] = opened
        self._say(relay.TunnelOpen(self._number, cluster, timeout_ms))
        return opened

    async def close(self, limit_s: float = CLOSE_LIMIT_S) -> None:
        """Leave, when the node has taken all that was said before; one that does not answer in limit_s is left so."""
        if not self.leaving:
            self._left = asyncio.get_running_loop().create_future()
            self._say(relay.Close())
            self._closing = True
            try:
                await asyncio.wait([self._left], timeout=limit_s)
            finally:
                if not self._left.done():
                    self.abort()
        self._transport.close()

    def pause_writing(self) -> None:
        """Called by asyncio: the node takes less than is said."""
        if self._taken.done():
            self._taken = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """Called by asyncio."""
        _end(self._taken)

    def write(self, frames: bytes) -> None:
        """Send whole messages.  Those of one turn of the loop leave in one write."""
        self.writes += 1
        if not self._held and not self._reading:
            self._loop.call_soon(self._flush)
        self._held.append(frames)
        self._held_bytes += len(frames)
        if self._held_bytes > GATHERED_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._held_bytes = 0
        super()._flush()

    def _say(self, message: relay.Message) -> None:
        if (over := self.over) is not None:
            raise StackError(over)
        self.write(relay.encode(message))

    def _read(self, data: bytes) -> None:
        for message in self._reader.feed(data):
            if self.lost is not None:
                break
            self._take(message)

    def _take(self, message: relay.Message) -> None:
        match message:
            case relay.Replied():
                self._answered(*message)
            case relay.Requested():
                self._requested(message)
            case relay.Broadcasted():
                (self.on_broadcast or _unheard)(message.data)
            case relay.TunnelData() | relay.TunnelAllow() | relay.TunnelClosed():
                self._of_tunnel(message.id, message)
            case relay.Published():
                # The node may not have heard yet that this is not wanted any more.
                self._topics.get(message.topic, _unheard)(message.data)
            case relay.TunnelOpened(id, timed_out):
                self._opened(id, timed_out)
            case relay.TunnelOffered(build):
                if self.on_tunnel is not None:
                    self._number += 1
                    self._say(relay.TunnelAccept(build, self._number))
                    self.on_tunnel(self._begun(self._number))
            case relay.Welcome():
                _end(self._welcome)
            case relay.Denied(reason) | relay.Closed(reason) if reason:
                self.lose(f"the node ends the connection: {reason}")
            case relay.Closed() if self._left is not None:
                _end(self._left)
            case _:
                raise relay.RelayError(f"a {type(message).__name__} is out of place")

    def _requested(self, message: relay.Requested) -> None:
        if self.on_request is None:  # whoever asks may ask any member
            self._reply(message.id, b"this member answers no requests", success=False)
        else:
            self.on_request(message.data, partial(self._reply, message.id))

    def _reply(self, number: int, body: bytes, *, success: bool = True) -> None:
        if not self.leaving:
            self._say(relay.Reply(number, success, body))

    def _opened(self, number: int, timed_out: bool) -> None:
        opened = self._opening.pop(number, None)
        if opened is None or opened.done():  # whoever wanted it waits no more
            if not timed_out:
                self._say(relay.TunnelClose(number))
            return
        if timed_out:
            fail(opened, "no member of the cluster has taken the tunnel", TimedOutError)
        else:
            opened.set_result(self._begun(number))

    def _begun(self, number: int) -> Tunnel:
        tunnel = self._tunnels[number] = Tunnel(self._say, number)
        tunnel.begin()
        return tunnel

    def _of_tunnel(self, number: int, message: relay.TunnelAllow | relay.TunnelData | relay.TunnelClosed) -> None:
        tunnel = self._tunnels.get(number)
        if tunnel is not None:
            tunnel.heard(message)
            if tunnel.over is not None:
                del self._tunnels[number]

    def _answered(self, number: int, timed_out: bool, success: bool, data: bytes) -> None:
        reply = self._asked.pop(number, None)
        if reply is None or reply.done():
            return
        if timed_out:
            fail(reply, "no reply in time", TimedOutError)
        elif success:
            reply.set_result(data)
        else:
            why = data.decode(errors="replace")
            fail(reply, why, UnknownFateError if why in FATE_UNKNOWN else FaultError)

    def _fail_all(self, reason: str) -> None:
        fail(self._welcome, reason)
        fail(self._taken, reason)
        if self._left is not None:
            _end(self._left)
        for reply in self._asked.values():
            fail(reply, reason)
        for opened in self._opening.values():
            fail(opened, reason)
        for tunnel in self._tunnels.values():
            tunnel.end(reason)
        self._asked.clear()


def _end(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def _known(waiting: asyncio.Future[None]) -> None:
    """That nobody waits for it any more is no news."""
    if not waiting.cancelled():
        waiting.exception()


def _unheard(data: bytes) -> None:
    del data
