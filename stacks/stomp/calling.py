"""Requests and replies over ActiveMQ's STOMP: the broker makes a temporary queue of the connection's for replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stacks.channel import fail
from stacks.driver import RequestHandler
from stacks.stomp.frame import Frame, head
from stacks.stomp.session import Session

# Within its connection; in the requests that a server gets, the broker writes a name that is good everywhere.
REPLIES = "/temp-queue/replies"


class Replies:
    """What the requests of one connection wait for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._number = 0
        session.on_end(self._fail_all)

    def expect(self) -> tuple[str, asyncio.Future[bytes]]:
        """A request's correlation and the future of its reply, which fails with the connection."""
        self._number += 1
        correlation = str(self._number)
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if (over := self._session.over) is not None:
            fail(reply, over)
        else:
            self._waiting[correlation] = reply
        return correlation, reply

    def take(self, frame: Frame) -> None:
        """Called with each message of the temporary queue."""
        reply = self._waiting.pop(frame.headers.get("correlation-id", ""), None)
        if reply is not None and not reply.done():
            reply.set_result(frame.body)

    def _fail_all(self, reason: str) -> None:
        for reply in self._waiting.values():
            fail(reply, reason)
        self._waiting.clear()


class Caller:
    """Calls one service, a queue."""

    def __init__(self, session: Session, replies: Replies, queue: str) -> None:
        self._session = session
        self._replies = replies
        self._head = head("SEND", {"destination": queue, "persistent": "false", "reply-to": REPLIES})[:-1]

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Send one request; the future ends with the reply's body, or with StackError."""
        correlation, reply = self._replies.expect()
        if not reply.done():
            rest = b"correlation-id:%b\ncontent-length:%d\n\n" % (correlation.encode(), len(body))
            self._session.write(b"".join((self._head, rest, body, b"\0")))
        return reply


def answering(session: Session, handler: RequestHandler) -> Callable[[Frame], None]:
    """A server's listener: hands each request over, acknowledges it, and sends the reply where the request says."""

    def on_request(frame: Frame) -> None:
        reply_to, correlation = frame.headers.get("reply-to"), frame.headers.get("correlation-id")
        if reply_to is None or correlation is None:
            session.lose("a request that does not say where its reply goes")
            return
        answer = head("SEND", {"destination": reply_to, "persistent": "false", "correlation-id": correlation})[:-1]

        def reply(body: bytes) -> None:
            session.write(b"%bcontent-length:%d\n\n%b\0" % (answer, len(body), body))

        handler(frame.body, reply)
        session.write(head("ACK", {"id": frame.headers["ack"]}) + b"\0")

    return on_request
