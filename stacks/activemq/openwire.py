"""Apache ActiveMQ 5, spoken to over OpenWire as its own JMS client does: JMS in full."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from itertools import count

from records.messaging import Ack, BodyType, Delivery, Guarantee
from records.workload import Pattern
from stacks.activemq.driver import (
    ANY,
    PORT,
    PREFETCH_QUEUE,
    ActiveMQ,
    checked,
    misread,
    prefetch,
    queue_prefetch,
    selector_text,
)
from stacks.activemq.knobs import OpenWireKnobs
from stacks.channel import CLOSE_LIMIT_S, Client
from stacks.driver import Endpoint, Handler, Here, RequestHandler, Service, StackError, Subscription
from stacks.openwire import connection as openwire
from stacks.openwire.calling import Caller, Replies, Sending, answering
from stacks.openwire.consuming import Consumer
from stacks.openwire.producing import Producer
from stacks.openwire.structures import (
    QUEUE,
    TEMPORARY_QUEUE,
    TOPIC,
    ConnectionId,
    ConnectionInfo,
    ConsumerId,
    ConsumerInfo,
    Destination,
    DestinationInfo,
    ProducerId,
    ProducerInfo,
    RemoveInfo,
    SessionId,
    SessionInfo,
)
from stacks.openwire.transactions import Transactions

OPENWIRE_PORT, OPENWIRE_TLS_PORT = 61616, 61617
_SESSION = 1  # one JMS session per connection


class ActiveMQOpenWire:
    """Apache ActiveMQ 5 over OpenWire, as its own JMS client speaks to it.

    Every send is answered, non-persistent ones included, as over STOMP.

    Java's own client does not wait for those unless it is told to (its `alwaysSyncSend`).
    """

    name = "activemq-openwire"
    KNOBS = OpenWireKnobs
    patterns = frozenset({Pattern.PUBSUB, Pattern.QUEUE, Pattern.REQUEST_REPLY})
    in_client = False
    guarantees = ActiveMQ.guarantees | {
        Guarantee.ACK_CLIENT,
        Guarantee.SYNC_RECEIVE,
        Guarantee.BODY_TYPES,
        Guarantee.REFUSAL,
    }

    def __init__(self, knobs: OpenWireKnobs | None = None) -> None:
        self._knobs = knobs or OpenWireKnobs()

    def services(self) -> tuple[Service, ...]:
        """One broker, the same as `activemq`'s, with a port for OpenWire."""
        tls = self._knobs.tls
        port = OPENWIRE_PORT if tls == "off" else OPENWIRE_TLS_PORT
        variables = {
            "activemq_port": PORT,
            "activemq_openwire_port": port,
            "activemq_max_inactivity_ms": round(self._knobs.keep_alive_s * 1000),
        }
        return (Service(name="activemq", role="activemq", port=port, variables=variables, tls=tls),)

    def why_not(self, wanted: Subscription) -> str:
        """A prefetch that the broker misreads."""
        return misread(wanted)

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> Connection:
        """Open one client connection; StackError when refused, a client id in use included."""
        del here
        # A client that comes back numbers its messages anew: its id must be, or the broker takes them for duplicates.
        identity = f"ID:{client_id}-{secrets.token_hex(4)}"
        made = Connection(
            await openwire.connect(services[0], self._knobs.keep_alive_s), identity, transacted=self._knobs.transacted
        )
        try:
            await made.introduce(client_id)
        except BaseException:
            made.abort()
            raise
        return made


class Connection(Client[openwire.Connection]):
    """One client of the broker: a connection with one session.  transacted: it commits every message by itself."""

    def __init__(self, connection: openwire.Connection, identity: str, *, transacted: bool = False) -> None:
        super().__init__(connection)
        self._identity = identity
        self._transactions = Transactions(connection, ConnectionId(identity)) if transacted else None
        self._client_id = ""
        self._consumers: list[Consumer] = []
        self._numbers = count(1)  # of consumers, the refused ones included
        self._producers = 0
        self._replies: Replies | None = None

    async def introduce(self, client_id: str) -> None:
        """Tell the broker who we are; StackError when the client id is in use."""
        self._client_id = client_id
        await self._channel.request(ConnectionInfo(ConnectionId(self._identity), client_id))
        self._channel.tell(SessionInfo(SessionId(self._identity, _SESSION)))

    async def publisher(self, topic: str, *, delivery: Delivery) -> Producer:
        """A publisher of Bytes messages on one topic."""
        return await self.typed_publisher(topic, delivery=delivery, body_type=BodyType.BYTES)

    async def typed_publisher(self, topic: str, *, delivery: Delivery, body_type: BodyType) -> Producer:
        """A publisher whose messages have bodies of this type."""
        return await self._produce(Destination(TOPIC, checked("topic", topic)), delivery, body_type)

    async def sender(self, queue: str, *, delivery: Delivery) -> Producer:
        """A publisher of Bytes messages on one queue."""
        return await self._produce(Destination(QUEUE, checked("queue", queue)), delivery, BodyType.BYTES)

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the receiver is known; StackError when refused."""
        info = self._info(Destination(QUEUE, checked("queue", queue)), subscription, queue_prefetch(subscription))
        await self._open(Consumer(self._channel, info, ack=ack, handler=handler))

    async def caller(self, service: str) -> Caller:
        """What calls a service, which is a queue; replies come by a temporary queue of this connection's."""
        if self._replies is None:
            queue = Destination(TEMPORARY_QUEUE, f"{self._identity}:1")
            await self._channel.request(DestinationInfo(ConnectionId(self._identity), queue))
            self._replies = Replies(self._channel, queue)
            info = self._info(queue, ANY, PREFETCH_QUEUE)
            await self._open(Consumer(self._channel, info, ack=Ack.AUTO, on_arrival=self._replies.take))
        return Caller(
            self._channel,
            await self._sending(),
            service=Destination(QUEUE, checked("queue", service)),
            replies=self._replies,
        )

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """Returns when the server is known; StackError when refused."""
        info = self._info(Destination(QUEUE, checked("queue", service)), ANY, PREFETCH_QUEUE)
        on_arrival = partial(answering, await self._sending(), handler)
        await self._open(Consumer(self._channel, info, ack=Ack.AUTO, on_arrival=on_arrival))

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the subscription is in force; StackError when refused."""
        await self._consumer(topic, subscription, ack, handler)

    async def receiver(self, topic: str, *, subscription: Subscription, ack: Ack) -> Consumer:
        """A subscription without a listener; returns when it is in force, StackError when refused."""
        return await self._consumer(topic, subscription, ack, None)

    def acknowledge(self) -> None:
        """Acknowledge all that this connection's application has had, the message in hand included."""
        for consumer in self._consumers:
            consumer.acknowledge()

    async def close(self) -> None:
        """Acknowledge what is due and leave; durable subscriptions stay at the broker."""
        last = [consumer.closing() for consumer in self._consumers]
        leaving = RemoveInfo(ConnectionId(self._identity))
        await self._channel.close(*last, leaving, limit_s=CLOSE_LIMIT_S)

    async def _consumer(self, topic: str, subscription: Subscription, ack: Ack, handler: Handler | None) -> Consumer:
        if handler is not None and subscription.prefetch == 0:
            raise StackError("a listener needs a prefetch of at least 1: only receive asks for single messages")
        info = self._info(Destination(TOPIC, checked("topic", topic)), subscription, prefetch(subscription))
        return await self._open(Consumer(self._channel, info, ack=ack, handler=handler))

    def _info(self, destination: Destination, subscription: Subscription, under_way: int) -> ConsumerInfo:
        return ConsumerInfo(
            consumer=ConsumerId(self._identity, _SESSION, next(self._numbers)),
            browser=False,
            destination=destination,
            prefetch=under_way,
            selector=None if subscription.selector is None else selector_text(subscription.selector),
            client_id=self._client_id,
            subscription_name=subscription.name,
        )

    async def _open(self, consumer: Consumer) -> Consumer:
        self._consumers.append(consumer)
        try:
            await consumer.open()
        except StackError:
            self._consumers.remove(consumer)
            raise
        return consumer

    async def _produce(self, to: Destination, delivery: Delivery, body_type: BodyType) -> Producer:
        return Producer(
            self._channel,
            identity=await self._producer(to),
            destination=to,
            persistent=delivery is Delivery.PERSISTENT,
            kind=body_type,
            transactions=self._transactions,
        )

    async def _sending(self) -> Sending:
        return Sending(self._channel, await self._producer(None))

    async def _producer(self, to: Destination | None) -> ProducerId:
        self._producers += 1
        identity = ProducerId(self._identity, self._producers, _SESSION)
        await self._channel.request(ProducerInfo(identity, to))
        return identity
