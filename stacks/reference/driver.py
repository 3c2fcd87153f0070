"""The driver of the reference broker."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass
from typing import cast

from stacks.channel import silence
from stacks.driver import (
    Ack,
    Delivery,
    Endpoint,
    Guarantee,
    Handler,
    Pattern,
    Service,
    StackError,
    Subscription,
)
from stacks.lazy import LazyAcknowledgement
from stacks.reference import frames
from stacks.reference.frames import (
    Accepted,
    Acknowledge,
    Connect,
    Frame,
    FrameReader,
    Leave,
    Message,
    Refused,
)

PORT = 7400

Answer = asyncio.Future[None]


class ReferencePublisher:
    """Sends to one topic over its connection."""

    def __init__(self, wire: Wire, topic: str) -> None:
        self._wire = wire
        self._topic = frames.topic_field(topic)

    def send(self, body: bytes | bytearray, prop: int | None = None) -> Answer:
        """Write one message; the future ends with the broker's answer, or with StackError."""
        request, answer = self._wire.request()
        self._wire.write(frames.publish(request, self._topic, prop, body))
        return answer


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


class Wire(asyncio.Protocol):
    """The socket, the requests that wait for an answer, and the subscriptions."""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._waiting: dict[int, Answer] = {}
        self._next_request = 0
        self._loop = asyncio.get_running_loop()
        self.inlets: dict[int, Inlet] = {}
        self.lost: str | None = None
        self.local: tuple[str, int] | None = None
        self.closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast: the transports of uvloop are no subclasses.
        self._transport = cast(asyncio.Transport, transport)
        self.local = transport.get_extra_info("sockname")[:2]

    def connection_lost(self, exc: Exception | None) -> None:
        reason = self.lost or (str(exc) if exc else "the broker closed the connection")
        if not self.closing:
            self.lost = reason
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(StackError(reason))
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._handle(frame)
        except frames.FrameError as error:
            self.lost = f"the broker sent nonsense: {error}"
            self._transport.abort()

    def request(self) -> tuple[int, Answer]:
        """A request number and the future of its answer; StackError when the connection is gone."""
        if self.lost is not None or self.closing:
            raise StackError(self.lost or "the connection is closed")
        number = self._next_request
        self._next_request = (number + 1) & 0xFFFFFFFF
        answer = self._waiting[number] = self._loop.create_future()
        return number, answer

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def end(self) -> None:
        self.closing = True
        self._transport.close()

    def abort(self) -> None:
        self.closing = True
        self._transport.abort()

    def vanish(self) -> None:
        silence(self._transport)
        self.abort()

    def _handle(self, frame: Frame) -> None:
        match frame:
            case Message(subscription) if subscription in self.inlets:
                self.inlets[subscription].receive(frame)
            case Accepted(request) if request in self._waiting:
                answer = self._waiting.pop(request)
                if not answer.done():
                    answer.set_result(None)
            case Refused(request, reason) if request in self._waiting:
                answer = self._waiting.pop(request)
                if not answer.done():
                    answer.set_exception(StackError(reason))
            case _:
                raise frames.FrameError(f"a {type(frame).__name__} frame is out of place")


class ReferenceConnection:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def publisher(self, topic: str, *, delivery: Delivery) -> ReferencePublisher:
        """A publisher on one topic; StackError for persistent delivery, which needs a disk."""
        if delivery is not Delivery.NONPERSISTENT:
            raise StackError(f"delivery {delivery}: the reference broker keeps messages in memory only")
        return ReferencePublisher(self._wire, topic)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the broker has the subscription; StackError when it refuses."""
        number = len(self._wire.inlets)
        chosen = subscription.selector
        selector = None if chosen is None else (chosen.low, chosen.high)
        self._wire.inlets[number] = Inlet(self._wire, number, handler, ack)
        request, answer = self._wire.request()
        self._wire.write(frames.encode(frames.Subscribe(request, number, topic, subscription.name or "", selector)))
        await answer

    @property
    def lost(self) -> str | None:
        """Why the connection ended without close(), None while it is well."""
        return self._wire.lost

    @property
    def local(self) -> tuple[str, int] | None:
        """Address and port at our end."""
        return self._wire.local

    async def close(self) -> None:
        """Acknowledge what is due and leave."""
        if self._wire.lost is None and not self._wire.closing:
            for inlet in self._wire.inlets.values():
                inlet.settle()
            request, answer = self._wire.request()
            self._wire.write(frames.encode(Leave(request)))
            self._wire.closing = True
            await asyncio.wait([answer])
        self._wire.end()

    def abort(self) -> None:
        """Cut the connection; TCP tells the broker."""
        self._wire.abort()

    def vanish(self) -> None:
        """Be gone without a packet to the broker."""
        self._wire.vanish()


@dataclass(frozen=True, slots=True)
class Reference:
    """faults: words of stacks.reference.faults, for the server that is deployed."""

    faults: tuple[str, ...] = ()
    name: str = "reference"
    patterns: frozenset[Pattern] = frozenset({Pattern.PUBSUB})
    guarantees: frozenset[Guarantee] = frozenset(
        {
            Guarantee.DURABLE,
            Guarantee.ACK_AUTO,
            Guarantee.ACK_DUPS_OK,
            Guarantee.SELECTOR,
            Guarantee.ORDERED,
        }
    )

    def services(self) -> tuple[Service, ...]:
        """One server."""
        return (Service(name=self.name, role=self.name, port=PORT, variables={"reference_faults": list(self.faults)}),)

    async def connect(self, at: Endpoint, client_id: str) -> ReferenceConnection:
        """Open a connection; StackError when there is no server or it refuses the client id."""
        loop = asyncio.get_running_loop()
        try:
            transport, wire = await loop.create_connection(Wire, at.host, at.port)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StackError(f"{at.host}:{at.port}: {reason}") from error
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            _, answer = wire.request()
            transport.write(frames.encode(Connect(client_id)))
            await answer
        except BaseException:
            transport.abort()
            raise
        return ReferenceConnection(wire)
