"""Apache ActiveMQ 5, spoken to over STOMP 1.2."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Literal

from records.messaging import Ack, Delivery, Guarantee
from records.workload import Pattern
from stacks.activemq.knobs import ActiveMQKnobs
from stacks.channel import CLOSE_LIMIT_S, Client
from stacks.driver import Endpoint, Handler, Here, RequestHandler, Selector, Service, StackError, Subscription
from stacks.lazy import LazyAcknowledgement
from stacks.replies import Replies
from stacks.stomp.calling import REPLIES, Caller, answering, taking
from stacks.stomp.frame import Frame, head
from stacks.stomp.session import Session, ack_of, connect

PORT = 61613
ANY = Subscription()

# What the broker may have under way to one consumer, unacknowledged; ActiveMQ's own defaults for JMS clients.
PREFETCH, PREFETCH_DURABLE, PREFETCH_QUEUE = 32766, 100, 1000
# PolicyEntry.configurePrefetch (5.17) replaces it, in durable subscriptions, by the policy's.
_TAKEN_FOR_A_DEFAULT = 1000

_NAME = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)


class ActiveMQ:
    """Apache ActiveMQ 5 over STOMP 1.2.

    What this broker sends again to a durable subscription after a lost connection, it does not mark as
    redelivered (5.17 over STOMP).
    """

    name = "activemq"
    KNOBS = ActiveMQKnobs
    patterns = frozenset({Pattern.PUBSUB, Pattern.QUEUE, Pattern.REQUEST_REPLY})
    in_client = False
    # STOMP carries neither JMS's body types nor a refusal that the connection outlives.
    guarantees = frozenset(
        {
            Guarantee.DURABLE,
            Guarantee.PERSISTENT,
            Guarantee.ACK_AUTO,
            Guarantee.ACK_DUPS_OK,
            Guarantee.SELECTOR,
            Guarantee.ORDERED,
            Guarantee.PREFETCH,
            Guarantee.MEMORY_LIMIT,
            Guarantee.HANDED_ON,
        }
    )

    def __init__(self, knobs: ActiveMQKnobs | None = None) -> None:
        self._knobs = knobs or ActiveMQKnobs()

    def services(self) -> tuple[Service, ...]:
        """One broker."""
        return (Service(name="activemq", role="activemq", port=PORT, tls=self._knobs.tls),)

    def why_not(self, wanted: Subscription) -> str:
        """A prefetch that the broker misreads."""
        return misread(wanted)

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> Connection:
        """Open one client connection; StackError when refused, a client id in use included."""
        del here
        return Connection(await connect(services[0], {"client-id": client_id}, self._knobs.keep_alive_s))


class Connection(Client[Session]):
    """One client of the broker."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._acknowledge_due: list[Callable[[], None]] = []
        self._replies: Replies | None = None

    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one topic."""
        return Publisher(self._channel, to=destination("topic", topic), delivery=delivery)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the subscription is in force; StackError when refused."""
        await self._consume(destination("topic", topic), handler, subscription, ack, prefetch(subscription))

    async def sender(self, queue: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one queue."""
        return Publisher(self._channel, to=destination("queue", queue), delivery=delivery)

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the receiver is known; StackError when refused."""
        await self._consume(destination("queue", queue), handler, subscription, ack, queue_prefetch(subscription))

    async def caller(self, service: str) -> Caller:
        """What calls a service, which is a queue; replies come by a temporary queue of this connection's."""
        if self._replies is None:
            self._replies = Replies(self._channel)
            headers = {"destination": REPLIES, "ack": "auto", "activemq.prefetchSize": str(PREFETCH_QUEUE)}
            await self._channel.subscribe(headers, taking(self._replies))
        return Caller(self._channel, self._replies, destination("queue", service))

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """Returns when the server is known; StackError when refused."""
        headers = subscribe_headers(destination("queue", service), prefetch=PREFETCH_QUEUE, ack=Ack.AUTO)
        await self._channel.subscribe(headers, answering(self._channel, handler))

    async def _consume(
        self, where: str, handler: Handler, subscription: Subscription, ack: Ack, under_way: int
    ) -> None:
        headers = subscribe_headers(where, subscription=subscription, prefetch=under_way, ack=ack)
        if ack is Ack.AUTO:
            await self._channel.subscribe(headers, _acknowledging_each(self._channel, handler))
            return
        lazy = LazyAcknowledgement[str](
            lambda identity: self._channel.write(acknowledgement(identity)), prefetch=under_way
        )
        self._acknowledge_due.append(lazy.flush)
        await self._channel.subscribe(headers, _acknowledging_lazily(lazy, handler))

    async def close(self) -> None:
        """Acknowledge what is due and leave; durable subscriptions stay at the broker."""
        for acknowledge in self._acknowledge_due:
            acknowledge()
        await self._channel.close(limit_s=CLOSE_LIMIT_S)


class Publisher:
    """Sends to one destination."""

    def __init__(self, session: Session, *, to: str, delivery: Delivery) -> None:
        self._session = session
        persistent = "true" if delivery is Delivery.PERSISTENT else "false"
        self._head = head("SEND", {"destination": to, "persistent": persistent})[:-1]

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Hand one message over; the future ends with the broker's receipt, or with StackError."""
        chosen_by = b"" if prop is None else b"n:%d\n" % prop
        return self._session.request(b"%bcontent-length:%d\n%b" % (self._head, len(body), chosen_by), body)


def destination(kind: Literal["topic", "queue"], name: str) -> str:
    """A topic's or queue's STOMP destination; StackError for a name that ActiveMQ would read as a pattern or a list."""
    return f"/{kind}/{checked(kind, name)}"


def checked(kind: Literal["topic", "queue"], name: str) -> str:
    """The name as it is; StackError for one that ActiveMQ would read as a pattern or a list."""
    if not _NAME.fullmatch(name):
        raise StackError(f"{kind} {name!r}: a name is words of letters, digits, _ and -, joined by dots")
    return name


def subscribe_headers(where: str, *, prefetch: int, ack: Ack, subscription: Subscription = ANY) -> dict[str, str]:
    """SUBSCRIBE's headers, but for its id and receipt."""
    headers = {
        "destination": where,
        # STOMP's own ack:auto acknowledges nothing: the broker would forget a message as soon as it is sent.
        "ack": "client-individual" if ack is Ack.AUTO else "client",
        "activemq.prefetchSize": str(prefetch),
    }
    if subscription.name is not None:
        headers["activemq.subscriptionName"] = subscription.name
    if subscription.selector is not None:
        headers["selector"] = selector_text(subscription.selector)
    return headers


def misread(subscription: Subscription) -> str:
    """Why the broker would not do what the subscription asks, '' when it would."""
    if subscription.prefetch == _TAKEN_FOR_A_DEFAULT and subscription.name is not None:
        return (
            f"prefetch {_TAKEN_FOR_A_DEFAULT} of a durable subscription: the broker takes it for its own default and "
            f"makes it {PREFETCH_DURABLE}; ask for one more or one less"
        )
    return ""


def prefetch(subscription: Subscription) -> int:
    """What the subscription asks for, or what ActiveMQ's own client would; StackError for what the broker misreads."""
    if why := misread(subscription):
        raise StackError(why)
    if subscription.prefetch is not None:
        return subscription.prefetch
    return PREFETCH if subscription.name is None else PREFETCH_DURABLE


def queue_prefetch(subscription: Subscription) -> int:
    """What a queue's receiver asks for, or what ActiveMQ's own client would."""
    return PREFETCH_QUEUE if subscription.prefetch is None else subscription.prefetch


def selector_text(selector: Selector) -> str:
    """JMS selector syntax.  The STOMP side of the broker compares a header as a number, of its own accord."""
    return f"n >= {selector.low} AND n < {selector.high}"


def acknowledgement(identity: str) -> bytes:
    """An ACK frame for the message with this ack identity."""
    return head("ACK", {"id": identity}) + b"\0"


def _acknowledging_each(session: Session, handler: Handler) -> Callable[[Frame], None]:
    def on_message(frame: Frame) -> None:
        identity = ack_of(frame)
        handler(frame.body, _redelivered(frame))
        session.write(acknowledgement(identity))  # leaves with the read's other acknowledgements

    return on_message


def _acknowledging_lazily(lazy: LazyAcknowledgement[str], handler: Handler) -> Callable[[Frame], None]:
    def on_message(frame: Frame) -> None:
        identity = ack_of(frame)
        handler(frame.body, _redelivered(frame))
        lazy.handled(identity)

    return on_message


def _redelivered(frame: Frame) -> bool:
    return frame.headers.get("redelivered") == "true"
