"""A driver's connection over MQTT: topics, shared subscriptions as queues, response topics for requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from records.messaging import Ack, Delivery
from stacks.channel import CLOSE_LIMIT_S, Client
from stacks.driver import Endpoint, Handler, RequestHandler, StackError, Subscription
from stacks.mqtt import properties
from stacks.mqtt.packets import Publish, QoS
from stacks.mqtt.properties import Properties, Property
from stacks.mqtt.session import Kept, Session, Terms, reach
from stacks.replies import Replies

_FOR_EVER = 0xFFFFFFFF  # a session's expiry, section 3.1.2.11.2
_SHARED = "$share/receivers/"


async def connect(at: Endpoint, terms: Terms, qos: QoS, kept: Kept) -> Connection:
    """Open a connection; StackError when there is none.

    terms: but for what is kept.  qos: of sends, subscriptions and replies.  kept: of this client's earlier connections.
    """
    return Connection(await reach(at, terms, kept), terms, qos)


class Connection(Client[Session]):
    """One client of a broker.

    MQTT says in its first packet whether the server is to keep the client's session, so that packet goes with the
    first subscription, or whatever else is asked first.  Delivery is the provider's: MQTT has no word for it.
    """

    def __init__(self, session: Session, terms: Terms, qos: QoS) -> None:
        super().__init__(session)
        self._terms, self._qos = terms, qos
        self._turn = asyncio.Lock()
        self._keeps: bool | None = None
        self._replies: Replies | None = None

    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one topic."""
        del delivery
        await self._introduced()
        return Publisher(self._channel, topic, self._qos)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the subscription is in force; StackError when refused."""
        del ack  # it follows from the QoS
        await self._introduced(keep=subscription.name is not None)
        await self._channel.subscribe(topic, topic, self._qos, _handing_over(handler))

    async def sender(self, queue: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one queue."""
        return await self.publisher(queue, delivery=delivery)

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the receiver is known; StackError when refused."""
        del subscription, ack
        await self._introduced()
        await self._channel.subscribe(_SHARED + queue, queue, self._qos, _handing_over(handler))

    async def broadcaster(self, group: str) -> Publisher:
        """What sends to every member of a group, which is a topic."""
        return await self.publisher(group, delivery=Delivery.NONPERSISTENT)

    async def join(self, group: str, handler: Handler) -> None:
        """Returns when the member is known; StackError when refused."""
        await self.subscribe(group, handler, subscription=Subscription(), ack=Ack.AUTO)

    async def caller(self, service: str) -> Caller:
        """What calls a service; replies come to a topic of this connection's."""
        await self._introduced()
        topic = f"replies/{self._terms.client_id}"
        if self._replies is None:
            replies = self._replies = Replies(self._channel)
            await self._channel.subscribe(topic, topic, self._qos, _taking(replies))
        return Caller(self._channel, self._replies, service, topic, self._qos)

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """A share of the service's requests; StackError when refused."""
        await self._introduced()
        answering = _answering(self._channel, handler, self._qos)
        await self._channel.subscribe(_SHARED + service, service, self._qos, answering)

    async def close(self) -> None:
        """Have answered what was sent, and leave; sessions that are kept stay at the broker."""
        if self._keeps is None:
            self.abort()
        else:
            await self._channel.close(limit_s=CLOSE_LIMIT_S)

    async def _introduced(self, *, keep: bool = False) -> None:
        async with self._turn:
            if self._keeps is None:
                await self._introduce(keep=keep)
            elif keep and not self._keeps:
                raise StackError(
                    f"client {self._terms.client_id}: its session is not kept, as it was used before it subscribed"
                )

    async def _introduce(self, *, keep: bool) -> None:
        more: Properties = ((Property.SESSION_EXPIRY_S, _FOR_EVER),) if keep and self._terms.version == 5 else ()
        await self._channel.hello(replace(self._terms, clean=not keep, properties=(*self._terms.properties, *more)))
        self._keeps = keep


class Publisher:
    """Sends to one topic."""

    def __init__(self, session: Session, topic: str, qos: QoS) -> None:
        self._session, self._head = session, session.head(topic, qos)

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Hand one message over; the future ends with the broker's last answer, or with StackError."""
        del prop  # nothing chooses by it
        return self._session.publish(self._head, body)


class Caller:
    """Calls one service, a topic; replies come to another."""

    def __init__(self, session: Session, replies: Replies, service: str, replies_to: str, qos: QoS) -> None:
        self._session, self._replies = session, replies
        self._head, self._to = session.head(service, qos), (Property.RESPONSE_TOPIC, replies_to)

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Send one request; the future ends with the reply's body, or with StackError."""
        correlation, reply = self._replies.expect()
        if not reply.done():
            sent = self._session.publish(
                self._head, body, (self._to, (Property.CORRELATION_DATA, correlation.encode()))
            )
            sent.add_done_callback(lambda done: _refused(done, reply))
        return reply


def _refused(sent: asyncio.Future[None], reply: asyncio.Future[bytes]) -> None:
    """A request that the server has not taken has no reply."""
    if not sent.cancelled() and (error := sent.exception()) and not reply.done():
        reply.set_exception(error)


def _handing_over(handler: Handler) -> Callable[[Publish], None]:
    return lambda message: handler(message.body, message.dup)


def _taking(replies: Replies) -> Callable[[Publish], None]:
    def on_reply(message: Publish) -> None:
        correlation = properties.find(message.properties, Property.CORRELATION_DATA)
        replies.take(correlation.decode("ascii", "replace") if isinstance(correlation, bytes) else "", message.body)

    return on_reply


def _answering(session: Session, handler: RequestHandler, qos: QoS) -> Callable[[Publish], None]:
    """A server's listener: hands each request over; the reply goes where the request says."""

    def on_request(message: Publish) -> None:
        to = properties.find(message.properties, Property.RESPONSE_TOPIC)
        correlation = properties.find(message.properties, Property.CORRELATION_DATA)
        if not isinstance(to, str) or not isinstance(correlation, bytes):
            session.lose("a request that does not say where its reply goes")
            return
        try:
            head = session.head(to, qos)
        except StackError as error:
            session.lose(f"a request whose reply can go nowhere: {error}")
            return

        def reply(body: bytes) -> None:
            session.publish(head, body, ((Property.CORRELATION_DATA, correlation),))

        handler(message.body, reply)

    return on_request
