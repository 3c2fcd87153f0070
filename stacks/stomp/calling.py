"""Requests and replies over ActiveMQ's STOMP: the broker makes a temporary queue of the connection's for replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stacks.driver import RequestHandler
from stacks.replies import Replies
from stacks.stomp.frame import Frame, head
from stacks.stomp.session import Session, ack_of

# Within its connection; in the requests that a server gets, the broker writes a name that is good everywhere.
REPLIES = "/temp-queue/replies"


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


def taking(replies: Replies) -> Callable[[Frame], None]:
    """A caller's listener: each message of the temporary queue is a reply."""

    def on_reply(frame: Frame) -> None:
        replies.take(frame.headers.get("correlation-id", ""), frame.body)

    return on_reply


def answering(session: Session, handler: RequestHandler) -> Callable[[Frame], None]:
    """A server's listener: hands each request over, acknowledges it, and sends the reply where the request says."""

    def on_request(frame: Frame) -> None:
        reply_to, correlation = frame.headers.get("reply-to"), frame.headers.get("correlation-id")
        if reply_to is None or correlation is None:
            session.lose("a request that does not say where its reply goes")
            return
        identity = ack_of(frame)
        answer = head("SEND", {"destination": reply_to, "persistent": "false", "correlation-id": correlation})[:-1]

        def reply(body: bytes) -> None:
            session.write(b"%bcontent-length:%d\n\n%b\0" % (answer, len(body), body))

        handler(frame.body, reply)
        session.write(head("ACK", {"id": identity}) + b"\0")

    return on_request
