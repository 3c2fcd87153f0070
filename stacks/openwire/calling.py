"""Requests and replies over JMS: a request names a temporary queue of its caller's, and the reply goes there."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from records.messaging import BodyType
from stacks.driver import RequestHandler
from stacks.openwire import bodies
from stacks.openwire.commands import frame
from stacks.openwire.connection import Connection
from stacks.openwire.dispatching import Arrived
from stacks.openwire.producing import message
from stacks.openwire.structures import Destination, MessageId, ProducerId
from stacks.openwire.wire import WireError

_CODE = bodies.CODES[BodyType.BYTES]


class Sending:
    """Sends single messages that are not answered by the broker, as Java's client sends non-persistent ones."""

    def __init__(self, connection: Connection, producer: ProducerId) -> None:
        self._connection = connection
        self._producer = producer
        self._sequence = 0

    def send(
        self, body: bytes | bytearray, to: Destination, *, correlation: str | None, reply_to: Destination | None = None
    ) -> None:
        """Write one message."""
        self._sequence += 1
        plain = message(_CODE, MessageId(None, self._producer, self._sequence, 0), to, persistent=False)
        full = plain._replace(
            correlation=correlation,
            reply_to=reply_to,
            timestamp=time.time_ns() // 1_000_000,
            content=bodies.content(BodyType.BYTES, body),
        )
        self._connection.write(frame(full, number=self._connection.next_number()))


class Caller:
    """Calls one service.  replies: the temporary queue of its connection."""

    def __init__(self, connection: Connection, sending: Sending, *, service: Destination, replies: Replies) -> None:
        self._connection, self._sending, self._service, self._replies = connection, sending, service, replies

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Send one request; the future ends with the reply's body, or with StackError."""
        correlation, reply = self._replies.expect()
        if not reply.done():
            self._sending.send(body, self._service, correlation=correlation, reply_to=self._replies.queue)
        return reply


class Replies:
    """What the requests of one connection wait for.  queue: where replies come."""

    def __init__(self, connection: Connection, queue: Destination) -> None:
        self.queue = queue
        self._connection = connection
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._number = 0

    def expect(self) -> tuple[str, asyncio.Future[bytes]]:
        """A request's correlation and the future of its reply, which fails with the connection."""
        self._number += 1
        correlation = str(self._number)
        reply: asyncio.Future[bytes] = self._connection.waiter()
        self._waiting[correlation] = reply
        return correlation, reply

    def take(self, body: bytes, found: Arrived) -> None:
        """Called with each message of the queue."""
        reply = self._waiting.pop(found.correlation or "", None)
        if reply is not None and not reply.done():
            reply.set_result(body)


def answering(sending: Sending, handler: RequestHandler, body: bytes, found: Arrived) -> None:
    """Hand a request to its server, whose reply goes where the request says."""
    if found.reply_to is None:
        raise WireError("a request that does not say where its reply goes")
    handler(body, partial(sending.send, to=found.reply_to, correlation=found.correlation))
