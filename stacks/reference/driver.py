"""The driver of the reference broker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stacks.channel import Channel, Client, fail, opened
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


class Wire(Channel):
    """The requests that wait for an answer, and the subscriptions."""

    LANGUAGE = "the reference broker's protocol"

    def __init__(self) -> None:
        super().__init__()
        self._reader = FrameReader()
        self._waiting: dict[int, Answer] = {}
        self._next_request = 0
        self.inlets: dict[int, Inlet] = {}

    def request(self) -> tuple[int, Answer]:
        """A request number and the future of its answer; StackError when the connection is gone."""
        if self.leaving:
            raise StackError(self.why_over)
        number = self._next_request
        self._next_request = (number + 1) & 0xFFFFFFFF
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        return number, answer

    async def close(self) -> None:
        """Leave with the broker's answer, or without when it has gone."""
        if not self.leaving:
            request, answer = self.request()
            self.write(frames.encode(Leave(request)))
            self._closing = True
            await asyncio.wait([answer])
        self._transport.close()

    def _read(self, data: bytes) -> None:
        for frame in self._reader.feed(data):
            self._handle(frame)

    def _fail_all(self, reason: str) -> None:
        for answer in self._waiting.values():
            fail(answer, reason)
        self._waiting.clear()

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
                fail(answer, reason)
            case _:
                raise frames.FrameError(f"a {type(frame).__name__} frame is out of place")


class ReferenceConnection(Client[Wire]):
    """One client of the broker."""

    async def publisher(self, topic: str, *, delivery: Delivery) -> ReferencePublisher:
        """A publisher on one topic; StackError for persistent delivery, which needs a disk."""
        if delivery is not Delivery.NONPERSISTENT:
            raise StackError(f"delivery {delivery}: the reference broker keeps messages in memory only")
        return ReferencePublisher(self._channel, topic)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the broker has the subscription; StackError when it refuses."""
        number = len(self._channel.inlets)
        chosen = subscription.selector
        selector = None if chosen is None else (chosen.low, chosen.high)
        self._channel.inlets[number] = Inlet(self._channel, number, handler, ack)
        request, answer = self._channel.request()
        self._channel.write(frames.encode(frames.Subscribe(request, number, topic, subscription.name or "", selector)))
        await answer

    async def close(self) -> None:
        """Acknowledge what is due and leave."""
        if not self._channel.leaving:
            for inlet in self._channel.inlets.values():
                inlet.settle()
        await self._channel.close()


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

    def why_not(self, wanted: Subscription) -> str:
        """Any will do."""
        del wanted
        return ""

    async def connect(self, at: Endpoint, client_id: str) -> ReferenceConnection:
        """Open a connection; StackError when there is no server or it refuses the client id."""
        wire = await opened(Wire, at)
        try:
            _, answer = wire.request()
            wire.write(frames.encode(Connect(client_id)))
            await answer
        except BaseException:
            wire.abort()
            raise
        return ReferenceConnection(wire)
