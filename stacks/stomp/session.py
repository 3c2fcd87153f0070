"""One STOMP connection over asyncio: requests answered by receipts, messages handed to subscriptions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from stacks.channel import Channel, fail, opened
from stacks.driver import Endpoint, StackError
from stacks.keepalive import keep_alive
from stacks.stomp.decoder import Decoder, FrameError
from stacks.stomp.frame import Frame, encode, head

OnMessage = Callable[[Frame], None]

_HEART_BEAT = b"\n"


class Session(Channel):
    """A connection; `connect` opens one."""

    LANGUAGE = "STOMP"

    def __init__(self) -> None:
        super().__init__()
        self._decoder = Decoder()
        self._connected: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._receipts: dict[str, asyncio.Future[None]] = {}
        self._subscriptions: dict[str, OnMessage] = {}
        self._requests = 0

    def request(self, unfinished: bytes, body: bytes | bytearray = b"") -> asyncio.Future[None]:
        """Send a frame whose header is `unfinished`, asking for a receipt.

        The future ends with it, or with StackError.
        """
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if (over := self.over) is not None:
            fail(answer, over)
            return answer
        self._requests += 1
        receipt = str(self._requests)
        self._receipts[receipt] = answer
        self.write(b"".join((unfinished, b"receipt:", receipt.encode(), b"\n\n", body, b"\0")))
        return answer

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

    async def hello(self, headers: Mapping[str, str]) -> None:
        """Introduce ourselves; returns when the peer has agreed to STOMP 1.2."""
        self._transport.write(encode(Frame("CONNECT", {"accept-version": "1.2", **headers})))
        answer = await self._connected
        if (version := answer.headers.get("version")) != "1.2":
            raise StackError(f"the server speaks STOMP {version}, not 1.2")

    def _read(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            if self.lost is not None:
                break
            self._dispatch(frame)

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
            self.lose(_error_text(frame))
        else:
            self.lose(f"the server does not speak STOMP: it sent {frame.command}")

    def _message(self, frame: Frame) -> None:
        on_message = self._subscriptions.get(frame.headers.get("subscription", ""))
        if on_message is None:
            self.lose(f"a message for subscription {frame.headers.get('subscription')!r}, which does not exist")
        else:
            on_message(frame)

    def _fail_all(self, reason: str) -> None:
        fail(self._connected, reason)
        for answer in self._receipts.values():
            fail(answer, reason)
        self._receipts.clear()


async def connect(at: Endpoint, headers: Mapping[str, str], keep_alive_s: float = 0.0) -> Session:
    """Open a connection with these further CONNECT headers; StackError when refused.

    keep_alive_s: how often either side has a heart-beat of the other at least; 0 = never.
    """
    session = await opened(Session, at)
    beats_ms = round(keep_alive_s * 1000)
    try:
        await session.hello({"host": at.host, "heart-beat": f"{beats_ms},{beats_ms}", **headers})
    except BaseException:
        session.abort()
        raise
    keep_alive(session, keep_alive_s, lambda: session.write(_HEART_BEAT))
    return session


def ack_of(message: Frame) -> str:
    """What an ACK of it has to name: to be read before anybody has the message, which cannot be taken back."""
    if (identity := message.headers.get("ack")) is None:
        raise FrameError("a message without an ack header")
    return identity


def _error_text(frame: Frame) -> str:
    body = frame.body.decode(errors="replace").strip()
    return frame.headers.get("message") or body.partition("\n")[0] or "an ERROR without a word"
