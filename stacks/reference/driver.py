"""The driver of the reference broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from records.messaging import Ack, Delivery, Guarantee
from records.workload import MESSAGE_PATTERNS, Pattern
from stacks.channel import Client, opened
from stacks.driver import Endpoint, Handler, Here, Placement, RequestHandler, Service, StackError, Subscription
from stacks.knobs import Knobs, TlsKnobs
from stacks.reference import frames
from stacks.reference.destinations import Kind, written
from stacks.reference.frames import Connect
from stacks.reference.wire import Inlet, ReferenceCaller, ReferencePublisher, Server, Wire

PORT = 7400


class ReferenceConnection(Client[Wire]):
    """One client of the broker."""

    async def publisher(self, topic: str, *, delivery: Delivery) -> ReferencePublisher:
        """A publisher on one topic; StackError for persistent delivery, which needs a disk."""
        return self._publisher(Kind.TOPIC, topic, delivery)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the broker has the subscription; StackError when it refuses."""
        await self._receive(Kind.TOPIC, topic, handler, subscription, ack)

    async def sender(self, queue: str, *, delivery: Delivery) -> ReferencePublisher:
        """A publisher on one queue; StackError for persistent delivery."""
        return self._publisher(Kind.QUEUE, queue, delivery)

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the broker has the receiver; StackError when it refuses."""
        await self._receive(Kind.QUEUE, queue, handler, subscription, ack)

    async def caller(self, service: str) -> ReferenceCaller:
        """What calls one service."""
        return ReferenceCaller(self._channel, service)

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """Returns when the broker has the server."""
        await self._attach(Kind.SERVICE, service, lambda _: Server(self._channel, handler), Subscription())

    async def broadcaster(self, group: str) -> ReferencePublisher:
        """What sends to every member of a group."""
        return self._publisher(Kind.GROUP, group, Delivery.NONPERSISTENT)

    async def join(self, group: str, handler: Handler) -> None:
        """Returns when the broker has the member."""
        await self._receive(Kind.GROUP, group, handler, Subscription(), Ack.AUTO)

    async def stream(self, flow: str) -> ReferencePublisher:
        """The sending end of a flow; all that one connection sends into it is one stream."""
        return self._publisher(Kind.FLOW, flow, Delivery.NONPERSISTENT)

    async def accept(self, flow: str, handler: Handler) -> None:
        """Returns when the broker has the receiving end."""
        await self._receive(Kind.FLOW, flow, handler, Subscription(), Ack.AUTO)

    async def close(self) -> None:
        """Acknowledge what is due and leave."""
        if not self._channel.leaving:
            for inlet in self._channel.inlets.values():
                inlet.settle()
        await self._channel.close()

    def _publisher(self, kind: Kind, name: str, delivery: Delivery) -> ReferencePublisher:
        if delivery is not Delivery.NONPERSISTENT:
            raise StackError(f"delivery {delivery}: the reference broker keeps messages in memory only")
        return ReferencePublisher(self._channel, kind, name)

    async def _receive(self, kind: Kind, name: str, handler: Handler, subscription: Subscription, ack: Ack) -> None:
        await self._attach(kind, name, lambda number: Inlet(self._channel, number, handler, ack), subscription)

    async def _attach(
        self, kind: Kind, name: str, inlet: Callable[[int], Inlet | Server], subscription: Subscription
    ) -> None:
        number = len(self._channel.inlets)
        chosen = subscription.selector
        selector = None if chosen is None else (chosen.low, chosen.high)
        self._channel.inlets[number] = inlet(number)
        request, answer = self._channel.request()
        destination = written(kind, name)
        self._channel.write(
            frames.encode(frames.Subscribe(request, number, destination, subscription.name or "", selector))
        )
        await answer


@dataclass(frozen=True, slots=True)
class Reference:
    """Our in-memory broker, with faults that can be switched on.

    faults: words of stacks.reference.faults, for the servers that are deployed.  placement: of these.
    """

    KNOBS: ClassVar[type[Knobs]] = TlsKnobs

    knobs: TlsKnobs = field(default_factory=TlsKnobs)
    faults: tuple[str, ...] = ()
    placement: Placement = "servers"
    name: str = "reference"
    patterns: frozenset[Pattern] = MESSAGE_PATTERNS
    guarantees: frozenset[Guarantee] = frozenset(
        {
            Guarantee.DURABLE,
            Guarantee.ACK_AUTO,
            Guarantee.ACK_DUPS_OK,
            Guarantee.SELECTOR,
            Guarantee.ORDERED,
            Guarantee.HANDED_ON,
            Guarantee.SHARED_STREAMS,
        }
    )
    in_client: bool = False

    def services(self) -> tuple[Service, ...]:
        """The broker."""
        faults = {"reference_faults": list(self.faults)}
        return (
            Service(
                name=self.name,
                role="reference",
                port=PORT,
                variables=faults,
                placement=self.placement,
                tls=self.knobs.tls,
            ),
        )

    def why_not(self, wanted: Subscription) -> str:
        """Any will do."""
        del wanted
        return ""

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> ReferenceConnection:
        """Open a connection; StackError when there is no server or it refuses the client id."""
        del here
        wire = await opened(Wire, services[0])
        try:
            _, answer = wire.request()
            wire.write(frames.encode(Connect(client_id)))
            await answer
        except BaseException:
            wire.abort()
            raise
        return ReferenceConnection(wire)


@dataclass(frozen=True, slots=True)
class ReferencePeers(Reference):
    """The reference broker on every station; a channel is at home at one of them."""

    placement: Placement = "nodes"
    name: str = "reference-peers"
