"""One OpenWire connection over asyncio: requests answered by responses, messages handed to consumers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any, Protocol

from stacks.channel import Channel, fail, opened
from stacks.driver import Endpoint, FullError, StackError
from stacks.keepalive import keep_alive
from stacks.openwire import properties
from stacks.openwire.commands import Received, decode, frame
from stacks.openwire.dispatching import DISPATCH
from stacks.openwire.structures import (
    VERSION,
    ConnectionFailure,
    ConsumerControl,
    ConsumerId,
    ExceptionResponse,
    KeepAliveInfo,
    MessageDispatch,
    Response,
    ShutdownInfo,
    Structure,
    Throwable,
    WireFormatInfo,
)
from stacks.openwire.wire import WireError

log = logging.getLogger("airwire.openwire")

MAX_FRAME_BYTES = 64 * 1024 * 1024
_FULL = "javax.jms.ResourceAllocationException"
_SIZE = 4

# Loose encoding, nothing cached, no stack traces.
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


class Connection(Channel):
    """A connection; `connect` opens one.  consumers: who is handed the messages for a consumer."""

    LANGUAGE = "OpenWire"

    def __init__(self) -> None:
        super().__init__()
        self.consumers: dict[ConsumerId, Consumer] = {}
        self._buffer = bytearray()
        self._agreed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._answers: dict[int, asyncio.Future[None]] = {}
        self._waiting: set[asyncio.Future[Any]] = set()
        self._number = 0

    def request(self, command: Structure) -> asyncio.Future[None]:
        """Send a command; the future ends with its response, or StackError (FullError for a full destination)."""
        number, answer = self.expect()
        self.write(frame(command, number=number, respond=True))
        return answer

    def expect(self) -> tuple[int, asyncio.Future[None]]:
        """A number for a command that the caller writes, and what ends with its response."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        number = self.next_number()
        if (over := self.over) is not None:
            fail(answer, over)
        else:
            self._answers[number] = answer
        return number, answer

    def waiter(self) -> asyncio.Future[Any]:
        """A future for the caller to end, that fails when the connection does."""
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if (over := self.over) is not None:
            fail(waiting, over)
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

    async def agree(self, keep_alive_s: float = 0.0) -> None:
        """Introduce ourselves; returns when both sides know how they write, and how often (0 = only when they want)."""
        idle_ms = properties.Long(round(keep_alive_s * 1000))
        wishes = _WISHES | {
            "MaxInactivityDuration": idle_ms,
            "MaxInactivityDurationInitalDelay": idle_ms,  # as ActiveMQ writes it
            "MaxFrameSize": properties.Long(MAX_FRAME_BYTES),
        }
        self._transport.write(frame(WireFormatInfo(VERSION, properties.write_map(wishes))))
        if (version := await self._agreed) < VERSION:
            raise StackError(
                f"the server speaks OpenWire version {version}; {VERSION} is needed (ActiveMQ 5.16 or later)"
            )
        keep_alive(self, keep_alive_s, self._beat)

    def _beat(self) -> None:
        self.tell(KeepAliveInfo())

    async def close(self, *last: Structure, limit_s: float) -> None:
        """Leave: these last requests are answered one after the other, then the connection ends.

        Messages that still arrive are not handed over.  A server that has not answered after `limit_s`
        seconds is left all the same.
        """
        self._closing = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    for command in last:
                        with suppress(StackError):  # one that is refused must not keep the others
                            await self.request(command)
                    self.tell(ShutdownInfo())
                    self._transport.close()
                    await asyncio.shield(self._ended)
        finally:
            self.abort()
        await self._ended

    def _read(self, data: bytes) -> None:
        self._buffer += data
        at, end = 0, len(self._buffer)
        try:
            while end - at >= _SIZE and self.lost is None:
                size = int.from_bytes(self._buffer[at : at + _SIZE], signed=True)
                if not 0 < size <= MAX_FRAME_BYTES:
                    raise WireError(f"a frame of {size} bytes; at most {MAX_FRAME_BYTES} are taken")
                if end - at < _SIZE + size:
                    return
                with memoryview(self._buffer) as view:
                    one = bytes(view[at + _SIZE : at + _SIZE + size])
                at += _SIZE + size
                if one[0] == DISPATCH and not self._closing and self._taken(one):
                    continue
                if (received := decode(one)) is not None:
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
                    fail(answer, _words(command.cause), kind)
            case WireFormatInfo():
                if not self._agreed.done():
                    self._agreed.set_result(command.version)
            case KeepAliveInfo():
                if received.respond:
                    self.tell(KeepAliveInfo())
            case ConnectionFailure():  # of a command that asked for no answer; Java's client goes on as well
                log.warning("the server reports: %s", _words(command.cause))
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
        fail(self._agreed, reason)
        for answer in (*self._answers.values(), *self._waiting):
            fail(answer, reason)
        self._answers.clear()


async def connect(at: Endpoint, keep_alive_s: float = 0.0) -> Connection:
    """Open a connection and agree on how to write; StackError when refused.

    keep_alive_s: how often either side hears of the other at least (its maxInactivityDuration); 0 = never.
    """
    connection = await opened(Connection, at)
    try:
        await connection.agree(keep_alive_s)
    except BaseException:
        connection.abort()
        raise
    return connection


def _words(cause: Throwable | None) -> str:
    if cause is None:
        return "an error without a word"
    return cause.message or cause.kind or "an error without a word"
