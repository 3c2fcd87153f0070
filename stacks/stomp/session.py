"""One STOMP connection over asyncio: requests answered by receipts, messages handed to subscriptions."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import cast

from stacks.driver import Endpoint, StackError
from stacks.stomp.decoder import Decoder, FrameError
from stacks.stomp.frame import Frame, encode, head

OnMessage = Callable[[Frame], None]


class Session(asyncio.Protocol):
    """A connection; `connect` opens one.

    lost: why it ended without close(), None while it is well.  From then on requests end with StackError.
    local: address and port at our end.
    """

    def __init__(self) -> None:
        self.lost: str | None = None
        self.local: tuple[str, int] | None = None
        loop = asyncio.get_running_loop()
        self._decoder = Decoder()
        self._connected: asyncio.Future[Frame] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._receipts: dict[str, asyncio.Future[None]] = {}
        self._subscriptions: dict[str, OnMessage] = {}
        self._requests = 0
        self._closing = False
        self._reading = False
        self._held: list[bytes] = []

    def request(self, unfinished: bytes, body: bytes | bytearray = b"") -> asyncio.Future[None]:
        """Send a frame whose header is `unfinished`; the future ends with its receipt, or StackError."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._ended.done() or self.lost is not None:
            _fail(answer, self.lost or "the connection is closed")
            return answer
        self._requests += 1
        receipt = str(self._requests)
        self._receipts[receipt] = answer
        self.write(b"".join((unfinished, b"receipt:", receipt.encode(), b"\n\n", body, b"\0")))
        return answer

    def write(self, frames: bytes) -> None:
        """Send whole frames that ask for no receipt.  What one read's messages cause leaves in one write."""
        if self._reading:
            self._held.append(frames)
        elif not self._transport.is_closing():
            self._transport.write(frames)

    async def subscribe(self, headers: Mapping[str, str], on_message: OnMessage) -> None:
        """Returns when the subscription is in force, that is after its receipt."""
        identity = str(len(self._subscriptions))
        self._subscriptions[identity] = on_message
        await self.request(head("SUBSCRIBE", {"id": identity, **headers})[:-1])

    async def close(self, *, limit_s: float) -> None:
        """Leave: DISCONNECT, its receipt (the server has then handled all that was sent), end of connection.

        Messages that still arrive are not handed over.  A server that has not answered after `limit_s`
        seconds is left all the same.
        """
        self._closing = True
        try:
            with suppress(StackError, TimeoutError):
                async with asyncio.timeout(limit_s):
                    await self.request(head("DISCONNECT", {})[:-1])
        finally:
            self.abort()
        await self._ended

    def abort(self) -> None:
        """Cut the connection without a word to the peer."""
        self._closing = True
        self._transport.abort()

    async def hello(self, headers: Mapping[str, str]) -> None:
        """Introduce ourselves; returns when the peer has agreed to STOMP 1.2."""
        self._transport.write(encode(Frame("CONNECT", {"accept-version": "1.2", **headers})))
        answer = await self._connected
        if (version := answer.headers.get("version")) != "1.2":
            raise StackError(f"the server speaks STOMP {version}, not 1.2")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast(asyncio.Transport, transport)
        self.local = transport.get_extra_info("sockname")[:2]
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self._reading = True
        try:
            for frame in self._decoder.feed(data):
                if self.lost is not None:
                    break
                self._dispatch(frame)
        except FrameError as error:
            self._lose(f"the server does not speak STOMP: {error}")
        finally:
            self._reading = False
            if self._held:
                self.write(b"".join(self._held))
                self._held.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        if not self._closing:
            self._lose(f"connection lost: {exc}" if exc else "the server closed the connection")
        self._fail_all(self.lost or "the connection is closed")
        self._ended.set_result(None)

    def _dispatch(self, frame: Frame) -> None:
        if frame.command == "MESSAGE":
            if not self._closing:
                self._message(frame)
        elif frame.command == "RECEIPT":
            answer = self._receipts.pop(frame.headers.get("receipt-id", ""), None)
            if answer is not None and not answer.done():
                answer.set_result(None)
        elif frame.command == "CONNECTED" and not self._connected.done():
            self._connected.set_result(frame)
        elif frame.command == "ERROR":
            # The server may close after an ERROR, and what it did not answer stays unanswered.
            self._lose(_error_text(frame))
        else:
            self._lose(f"the server does not speak STOMP: it sent {frame.command}")

    def _message(self, frame: Frame) -> None:
        on_message = self._subscriptions.get(frame.headers.get("subscription", ""))
        if on_message is None:
            self._lose(f"a message for subscription {frame.headers.get('subscription')!r}, which does not exist")
        else:
            on_message(frame)

    def _lose(self, reason: str) -> None:
        if self.lost is None and not self._closing:
            self.lost = reason
        self._fail_all(reason)
        self._transport.abort()

    def _fail_all(self, reason: str) -> None:
        _fail(self._connected, reason)
        for answer in self._receipts.values():
            _fail(answer, reason)
        self._receipts.clear()


async def connect(at: Endpoint, headers: Mapping[str, str]) -> Session:
    """Open a connection with these further CONNECT headers; StackError when refused.

    No heart-beats are asked for: they would be packets of our own on the medium under test.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, session = await loop.create_connection(Session, at.host, at.port)
    except OSError as error:
        raise StackError(f"cannot connect to {at.host} port {at.port}: {error}") from error
    try:
        await session.hello({"host": at.host, "heart-beat": "0,0", **headers})
    except BaseException:
        transport.abort()
        raise
    return session


def _error_text(frame: Frame) -> str:
    body = frame.body.decode(errors="replace").strip()
    return frame.headers.get("message") or body.partition("\n")[0] or "an ERROR without a word"


def _fail(answer: asyncio.Future[Frame] | asyncio.Future[None], reason: str) -> None:
    if not answer.done():
        answer.set_exception(StackError(reason))
        answer.exception()  # seen: an answer that nobody waits for any more is no news
