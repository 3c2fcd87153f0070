"""One connection to the reference broker: what waits for an answer, and what receives."""

from __future__ import annotations

import asyncio
from functools import partial

from records.messaging import Ack
from stacks.channel import CLOSE_LIMIT_S, Channel, fail
from stacks.driver import Handler, RequestHandler, StackError, UnansweredError
from stacks.lazy import LazyAcknowledgement
from stacks.reference import frames
from stacks.reference.destinations import Kind, written
from stacks.reference.frames import Accepted, Acknowledge, Frame, FrameReader, Leave, Message, Refused, Reply

Answer = asyncio.Future[None]


class ReferencePublisher:
    """Sends to one destination over its connection."""

    def __init__(self, wire: Wire, kind: Kind, name: str) -> None:
        self._wire = wire
        self._destination = frames.destination_field(written(kind, name))

    def send(self, body: bytes | bytearray, prop: int | None = None) -> Answer:
        """Write one message; the future ends with the broker's answer, or with StackError."""
        request, answer = self._wire.request()
        self._wire.write(frames.publish(request, self._destination, prop, body))
        return answer


class ReferenceCaller:
    """Calls one service over its connection."""

    def __init__(self, wire: Wire, service: str) -> None:
        self._wire = wire
        self._service = frames.destination_field(written(Kind.SERVICE, service))

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Write one request; the future ends with the reply's body, or with StackError."""
        request, reply = self._wire.ask()
        self._wire.write(frames.publish(request, self._service, None, body))
        return reply


class Server:
    """A service's receiving end: calls the handler, and sends what that answers."""

    def __init__(self, wire: Wire, handler: RequestHandler) -> None:
        self._wire = wire
        self._handler = handler

    def receive(self, message: Message) -> None:
        """Take a request."""
        self._handler(message.body, partial(self._reply, message.subscription, message.delivery))

    def settle(self) -> None:
        """A reply is its own acknowledgement."""

    def _reply(self, subscription: int, delivery: int, body: bytes) -> None:
        if self._wire.lost is None:
            self._wire.write(frames.encode(Reply(subscription, delivery, body)))


class Inlet:
    """A subscription's receiving end: calls the handler, then acknowledges in its mode."""

    def __init__(self, wire: Wire, number: int, handler: Handler, ack: Ack) -> None:
        self._wire = wire
        self._number = number
        self._handler = handler
        self._ack = ack
        self._latest = 0
        self._lazy = LazyAcknowledgement[int](self._acknowledge_all)

    def receive(self, message: Message) -> None:
        self._handler(message.body, message.redelivered)
        if self._ack is Ack.AUTO:
            self._wire.write(frames.encode(Acknowledge(self._number, message.delivery, False)))
            return
        self._latest = max(self._latest, message.delivery)
        self._lazy.handled(self._latest)

    def settle(self) -> None:
        """Acknowledge all that is due."""
        self._lazy.flush()

    def _acknowledge_all(self, delivery: int) -> None:
        if self._wire.lost is None:
            self._wire.write(frames.encode(Acknowledge(self._number, delivery, True)))


class Wire(Channel):
    """The requests that wait for an answer, and the subscriptions."""

    LANGUAGE = "the reference broker's protocol"

    def __init__(self) -> None:
        super().__init__()
        self._reader = FrameReader()
        self._waiting: dict[int, Answer] = {}
        self._asking: dict[int, asyncio.Future[bytes]] = {}
        self._next_request = 0
        self.inlets: dict[int, Inlet | Server] = {}

    def request(self) -> tuple[int, Answer]:
        """A request number and the future of its answer; StackError when the connection is gone."""
        number = self._number()
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        return number, answer

    def ask(self) -> tuple[int, asyncio.Future[bytes]]:
        """A request number and the future of a service's reply; StackError when the connection is gone."""
        number = self._number()
        reply = self._asking[number] = asyncio.get_running_loop().create_future()
        return number, reply

    def _number(self) -> int:
        if self.leaving:
            raise StackError(self.why_over)
        number = self._next_request
        self._next_request = (number + 1) & 0xFFFFFFFF
        return number

    async def close(self, limit_s: float = CLOSE_LIMIT_S) -> None:
        """Leave with the broker's answer, or without when it has gone, or has none in limit_s."""
        if not self.leaving:
            request, answer = self.request()
            self.write(frames.encode(Leave(request)))
            self._closing = True
            try:
                await asyncio.wait([answer], timeout=limit_s)
            finally:
                if not answer.done():
                    self.abort()
        self._transport.close()

    def _read(self, data: bytes) -> None:
        for frame in self._reader.feed(data):
            self._handle(frame)

    def _fail_all(self, reason: str) -> None:
        for answer in self._waiting.values():
            fail(answer, reason)
        for reply in self._asking.values():
            fail(reply, reason)
        self._waiting.clear()
        self._asking.clear()

    def _handle(self, frame: Frame) -> None:
        match frame:
            case Message() if self._closing:
                pass  # it is for others: the broker is told that this client leaves
            case Message(subscription) if subscription in self.inlets:
                self.inlets[subscription].receive(frame)
            case Accepted(request) if request in self._waiting:
                answer = self._waiting.pop(request)
                if not answer.done():
                    answer.set_result(None)
            case Refused(request, reason) if request in self._waiting:
                fail(self._waiting.pop(request), reason)
            case frames.Answer(request, body) if request in self._asking:
                reply = self._asking.pop(request)
                if not reply.done():
                    reply.set_result(body)
            case Refused(request, reason) if request in self._asking:
                fail(self._asking.pop(request), reason)
            case frames.Unanswered(request, reason) if request in self._asking:
                fail(self._asking.pop(request), reason, UnansweredError)
            case _:
                raise frames.FrameError(f"a {type(frame).__name__} frame is out of place")
