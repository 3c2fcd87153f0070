"""One OpenWire connection over asyncio: requests answered by responses, messages handed to consumers."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any, Protocol, cast

from stacks.driver import Endpoint, FullError, StackError
from stacks.openwire import properties
from stacks.openwire.commands import (
    VERSION,
    ConnectionFailure,
    ConsumerControl,
    ConsumerId,
    ExceptionResponse,
    KeepAliveInfo,
    MessageDispatch,
    Received,
    Response,
    ShutdownInfo,
    Structure,
    Throwable,
    WireFormatInfo,
    decode,
    frame,
)
from stacks.openwire.dispatching import DISPATCH
from stacks.openwire.wire import WireError

MAX_FRAME_BYTES = 64 * 1024 * 1024
_FULL = "javax.jms.ResourceAllocationException"
_SIZE = 4

# Loose encoding, nothing cached, no stack traces; no inactivity monitor: its commands would be packets of our own
# on the medium under test.
_WISHES: dict[str, properties.Primitive] = {
    "TightEncodingEnabled": False,
    "CacheEnabled": False,
    "SizePrefixDisabled": False,
    "StackTraceEnabled": False,
    "TcpNoDelayEnabled": True,
}


class Consumer(Protocol):
    """Who is handed messages."""

    def on_frame(self, frame: bytes) -> bool:
        """Take the message in this frame, if it is one for this consumer that needs no further look."""

    def on_dispatch(self, dispatch: MessageDispatch) -> None:
        """Take this message."""


class Connection(asyncio.Protocol):
    """A connection; `connect` opens one.

    lost: why it ended without close(), None while it is well.  From then on requests end with StackError.
    local: address and port at our end.  consumers: who is handed the messages for a consumer.
    """

    def __init__(self) -> None:
        self.lost: str | None = None
        self.local: tuple[str, int] | None = None
        self.consumers: dict[ConsumerId, Consumer] = {}
        loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._agreed: asyncio.Future[int] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._answers: dict[int, asyncio.Future[None]] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        self._number = 0
        self._closing = False
        self._reading = False
        self._held: list[bytes] = []

    def request(self, command: Structure) -> asyncio.Future[None]:
        """Send a command; the future ends with its response, or StackError (FullError for a full destination)."""
        number, answer = self.expect()
        self.write(frame(command, number=number, respond=True))
        return answer

    def expect(self) -> tuple[int, asyncio.Future[None]]:
        """A number for a command that the caller writes, and what ends with its response."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        number = self.next_number()
        if self._ended.done() or self.lost is not None:
            _fail(answer, self.lost or "the connection is closed")
        else:
            self._answers[number] = answer
        return number, answer

    def waiter(self) -> asyncio.Future[None]:
        """A future for the caller to end, that fails when the connection does."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._ended.done() or self.lost is not None:
            _fail(waiting, self.lost or "the connection is closed")
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)
        return waiting

    def tell(self, command: Structure) -> None:
        """Send a command that is not answered."""
        self.write(frame(command, number=self.next_number()))

    def next_number(self) -> int:
        """A number for a command that the caller writes, and that is not answered."""
        self._number += 1
        return self._number

    def write(self, frames: bytes) -> None:
        """Send whole frames.  What one read's messages cause leaves in one write."""
        if self._reading:
            self._held.append(frames)
        elif not self._transport.is_closing():
            self._transport.write(frames)

    async def agree(self) -> None:
        """Introduce ourselves; returns when both sides know how they write."""
        wishes = _WISHES | {
            "MaxInactivityDuration": properties.Long(0),
            "MaxFrameSize": properties.Long(MAX_FRAME_BYTES),
        }
        self._transport.write(frame(WireFormatInfo(VERSION, properties.write_map(wishes))))
        if (version := await self._agreed) < VERSION:
            raise StackError(
                f"the server speaks OpenWire version {version}; {VERSION} is needed (ActiveMQ 5.16 or later)"
            )

    async def close(self, *last: Structure, limit_s: float) -> None:
        """Leave: these last requests are answered one after the other, then the connection ends.

        Messages that still arrive are not handed over.  A server that has not answered after `limit_s`
        seconds is left all the same.
        """
        self._closing = True
        try:
            with suppress(StackError, TimeoutError):
                async with asyncio.timeout(limit_s):
                    for command in last:
                        await self.request(command)
                    self.tell(ShutdownInfo())
                    self._transport.close()
                    await asyncio.shield(self._ended)
        finally:
            self.abort()
        await self._ended

    def abort(self) -> None:
        """Cut the connection without a word to the peer."""
        self._closing = True
        self._transport.abort()

    def lose(self, reason: str) -> str:
        """Give the connection up for this reason, which is returned."""
        if self.lost is None and not self._closing:
            self.lost = reason
        self._fail_all(reason)
        self._transport.abort()
        return reason

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast(asyncio.Transport, transport)
        self.local = transport.get_extra_info("sockname")[:2]
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self._buffer += data
        self._reading = True
        try:
            self._frames()
        except WireError as error:
            self.lose(f"the server does not speak OpenWire: {error}")
        finally:
            self._reading = False
            if self._held:
                self.write(b"".join(self._held))
                self._held.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        if not self._closing:
            self.lose(f"connection lost: {exc}" if exc else "the server closed the connection")
        self._fail_all(self.lost or "the connection is closed")
        self._ended.set_result(None)

    def _frames(self) -> None:
        at, end = 0, len(self._buffer)
        try:
            while end - at >= _SIZE and self.lost is None:
                size = int.from_bytes(self._buffer[at : at + _SIZE], signed=True)
                if not 0 < size <= MAX_FRAME_BYTES:
                    raise WireError(f"a frame of {size} bytes; at most {MAX_FRAME_BYTES} are taken")
                if end - at < _SIZE + size:
                    return
                with memoryview(self._buffer) as view:
                    data = bytes(view[at + _SIZE : at + _SIZE + size])
                at += _SIZE + size
                if data[0] == DISPATCH and not self._closing and self._taken(data):
                    continue
                if (received := decode(data)) is not None:
                    self._dispatch(received)
        finally:
            del self._buffer[:at]  # one move per read, not per frame

    def _dispatch(self, received: Received) -> None:
        command: Any = received.command
        match command:
            case MessageDispatch():
                self._message(command)
            case Response():
                if (answer := self._answers.pop(command.correlation, None)) is not None and not answer.done():
                    answer.set_result(None)
            case ExceptionResponse():
                if (answer := self._answers.pop(command.correlation, None)) is not None:
                    kind = FullError if command.cause is not None and command.cause.kind == _FULL else StackError
                    _fail(answer, _words(command.cause), kind)
            case WireFormatInfo():
                if not self._agreed.done():
                    self._agreed.set_result(command.version)
            case KeepAliveInfo():
                if received.respond:
                    self.tell(KeepAliveInfo())
            case ConnectionFailure():
                self.lose(_words(command.cause))
            case ShutdownInfo():
                self.lose("the server closed the connection")
            case ConsumerControl(close=True):
                self.lose(f"the server ended consumer {command.consumer}")

    def _message(self, dispatch: MessageDispatch) -> None:
        if self._closing:
            return
        consumer = None if dispatch.consumer is None else self.consumers.get(dispatch.consumer)
        if consumer is None:
            raise WireError(f"a message for consumer {dispatch.consumer}, which does not exist")
        consumer.on_dispatch(dispatch)

    def _taken(self, data: bytes) -> bool:
        return any(consumer.on_frame(data) for consumer in self.consumers.values())

    def _fail_all(self, reason: str) -> None:
        _fail(self._agreed, reason)
        for answer in (*self._answers.values(), *self._waiting):
            _fail(answer, reason)
        self._answers.clear()


async def connect(at: Endpoint) -> Connection:
    """Open a connection and agree on how to write; StackError when refused."""
    loop = asyncio.get_running_loop()
    try:
        transport, connection = await loop.create_connection(Connection, at.host, at.port)
    except OSError as error:
        raise StackError(f"cannot connect to {at.host} port {at.port}: {error}") from error
    try:
        await connection.agree()
    except BaseException:
        transport.abort()
        raise
    return connection


def _words(cause: Throwable | None) -> str:
    if cause is None:
        return "an error without a word"
    return cause.message or cause.kind or "an error without a word"


def _fail(answer: asyncio.Future[Any], reason: str, kind: type[StackError] = StackError) -> None:
    if not answer.done():
        answer.set_exception(kind(reason))
        answer.exception()  # seen: an answer that nobody waits for any more is no news
