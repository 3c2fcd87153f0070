"""What connections over asyncio have in common, whatever is spoken on them: ends, failures, writes in one piece."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, cast

from stacks import tls
from stacks.driver import Endpoint, Socket, StackError

# Linux, tcp(7): a socket in repair mode is closed without a packet.  The socket module has no name for it.
_TCP_REPAIR = 19
CLOSE_LIMIT_S = 10.0  # how long a client that leaves waits for the server's answer


class LanguageError(ValueError):
    """The peer sent what is not its protocol, or is beyond the limits; its stream cannot be read further."""


class Channel(asyncio.Protocol):
    """One connection to a server.

    lost: why it ended without close(), None while it is well.  From then on requests end with StackError.
    local: our end of it, None before it is made.  reads, writes: how many there were, for whoever has to keep the
    connection alive.
    """

    LANGUAGE: ClassVar[str]

    def __init__(self) -> None:
        self.lost: str | None = None
        self.local: Socket | None = None
        self.reads = self.writes = 0
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = False
        self._reading = False
        self._held: list[bytes] = []
        self._on_end: list[Callable[[str], None]] = []

    def on_end(self, action: Callable[[str], None]) -> None:
        """Have `action` called with the reason when the connection ends, whichever way."""
        self._on_end.append(action)

    def write(self, frames: bytes) -> None:
        """Send whole frames.  What one read's messages cause leaves in one write."""
        self.writes += 1
        if self._reading:
            self._held.append(frames)
        elif not self._transport.is_closing():
            self._transport.write(frames)

    def abort(self) -> None:
        """Cut the connection; TCP tells the peer."""
        self._closing = True
        self._transport.abort()

    def vanish(self) -> None:
        """Drop the connection silently, as a device does that goes out of reach: no FIN, no RST.

        StackError without root.
        """
        silence(self._transport.get_extra_info("socket"))
        self.abort()

    def lose(self, reason: str) -> str:
        """Give the connection up for this reason, which is returned."""
        if self.lost is None and not self._closing:
            self.lost = reason
        self._end_all(reason)
        self._transport.abort()
        return reason

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        # A cast: the transports of uvloop are no subclasses.
        self._transport = cast(asyncio.Transport, transport)
        address, port, *_ = transport.get_extra_info("sockname")
        self.local = Socket(protocol="tcp", address=address, port=port, tls=tls.agreed(transport))
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self.reads += 1
        self._reading = True
        try:
            self._read(data)
        except LanguageError as error:
            self.lose(f"the server does not speak {self.LANGUAGE}: {error}")
        finally:
            self._reading = False
            self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        if not self._closing:
            self.lose(f"connection lost: {exc}" if exc else "the server closed the connection")
        self._end_all(self.why_over)
        self._ended.set_result(None)

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """Our end of it, as stacks.driver.Connection has it."""
        return () if self.local is None else (self.local,)

    @property
    def over(self) -> str | None:
        """Why nothing can be asked any more, None while something can."""
        return self.why_over if self.lost or self._ended.done() else None

    @property
    def why_over(self) -> str:
        """What ends a question to a connection that is lost, or was closed."""
        return self.lost or "the connection is closed"

    @property
    def leaving(self) -> bool:
        """Whether it is lost, or on its way to being closed."""
        return self._closing or self.lost is not None

    def _flush(self) -> None:
        """Send what is held."""
        if self._held:
            frames = b"".join(self._held)
            self._held.clear()
            if not self._transport.is_closing():
                self._transport.write(frames)

    def _end_all(self, reason: str) -> None:
        self._fail_all(reason)
        for action in self._on_end:
            action(reason)

    def _read(self, data: bytes) -> None:
        """Take what has come; LanguageError when it cannot be read."""
        raise NotImplementedError

    def _fail_all(self, reason: str) -> None:
        """End what waits for an answer."""
        raise NotImplementedError


C = TypeVar("C", bound=Channel)


class Client(Generic[C]):
    """One client's end of a channel: what every driver's connection has (stacks.driver.Connection)."""

    def __init__(self, channel: C) -> None:
        self._channel = channel

    @property
    def lost(self) -> str | None:
        """Why the connection ended without close(), None while it is well."""
        return self._channel.lost

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """Our end of the connection."""
        return self._channel.sockets

    def abort(self) -> None:
        """Cut the connection; TCP tells the server."""
        self._channel.abort()

    def vanish(self) -> None:
        """Drop the connection silently: no FIN, no RST."""
        self._channel.vanish()


def silence(connection: socket.socket) -> None:
    """Have a connection end without FIN or RST when it is closed; StackError without root."""
    try:
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
    except OSError as error:
        raise StackError(f"a connection cannot be cut without a word: {error.strerror} (CAP_NET_ADMIN)") from error


async def opened(kind: Callable[[], C], at: Endpoint) -> C:
    """A connection of this kind; StackError when there is none to be had."""
    try:
        transport, channel = await asyncio.get_running_loop().create_connection(kind, at.host, at.port, **tls.asked(at))
    except OSError as error:
        # A name that cannot be resolved has a negative number, of getaddrinfo's.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise tls.refused(at, error, why) from error
    if at.tls != "off":
        # What the kernel does not take is held by the layer below TLS, by its own limits: nothing more above it.
        transport.set_write_buffer_limits(high=1)
    return channel


def fail(answer: asyncio.Future[Any], reason: str, kind: type[StackError] = StackError) -> None:
    """End a future that is still open; that nobody waits for it any more is no news."""
    if not answer.done():
        answer.set_exception(kind(reason))
        answer.exception()
