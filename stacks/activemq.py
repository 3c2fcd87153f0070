"""Apache ActiveMQ 5, spoken to over STOMP 1.2."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from stacks.channel import Client
from stacks.driver import (
    Ack,
    Delivery,
    Endpoint,
    Guarantee,
    Handler,
    Pattern,
    Selector,
    Service,
    StackError,
    Subscription,
)
from stacks.lazy import LazyAcknowledgement
from stacks.stomp.frame import Frame, head
from stacks.stomp.session import Session, connect

PORT = 61613
CLOSE_LIMIT_S = 10.0

# What the broker may have under way to one consumer, unacknowledged; ActiveMQ's own defaults for JMS clients.
PREFETCH, PREFETCH_DURABLE = 32766, 100
# PolicyEntry.configurePrefetch (5.17) replaces it, in durable subscriptions, by the policy's.
_TAKEN_FOR_A_DEFAULT = 1000

_TOPIC = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)


class ActiveMQ:
    """The driver.

    What this broker sends again to a durable subscription after a lost connection, it does not mark as
    redelivered (5.17 over STOMP).
    """

    name = "activemq"
    patterns = frozenset({Pattern.PUBSUB})
    # STOMP carries neither JMS's body types nor a refusal that the connection outlives.
    guarantees = frozenset(Guarantee) - {
        Guarantee.ACK_CLIENT,
        Guarantee.SYNC_RECEIVE,
        Guarantee.BODY_TYPES,
        Guarantee.REFUSAL,
    }

    def services(self) -> tuple[Service, ...]:
        """One broker."""
        return (Service(name="activemq", role="activemq", port=PORT),)

    def why_not(self, wanted: Subscription) -> str:
        """A prefetch that the broker misreads."""
        return misread(wanted)

    async def connect(self, at: Endpoint, client_id: str) -> Connection:
        """Open one client connection; StackError when refused, a client id in use included."""
        return Connection(await connect(at, {"client-id": client_id}))


class Connection(Client[Session]):
    """One client of the broker."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._acknowledge_due: list[Callable[[], None]] = []

    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one topic."""
        return Publisher(self._channel, topic=topic, delivery=delivery)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the subscription is in force; StackError when refused."""
        headers = subscribe_headers(topic, subscription=subscription, ack=ack)
        if ack is Ack.AUTO:
            await self._channel.subscribe(headers, _acknowledging_each(self._channel, handler))
            return
        lazy = LazyAcknowledgement[str](
            lambda identity: self._channel.write(acknowledgement(identity)), prefetch=prefetch(subscription)
        )
        self._acknowledge_due.append(lazy.flush)
        await self._channel.subscribe(headers, _acknowledging_lazily(lazy, handler))

    async def close(self) -> None:
        """Acknowledge what is due and leave; durable subscriptions stay at the broker."""
        for acknowledge in self._acknowledge_due:
            acknowledge()
        await self._channel.close(limit_s=CLOSE_LIMIT_S)


class Publisher:
    """Sends to one topic."""

    def __init__(self, session: Session, *, topic: str, delivery: Delivery) -> None:
        self._session = session
        persistent = "true" if delivery is Delivery.PERSISTENT else "false"
        self._head = head("SEND", {"destination": destination(topic), "persistent": persistent})[:-1]

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Hand one message over; the future ends with the broker's receipt, or with StackError."""
        chosen_by = b"" if prop is None else b"n:%d\n" % prop
        return self._session.request(b"%bcontent-length:%d\n%b" % (self._head, len(body), chosen_by), body)


def destination(topic: str) -> str:
    """A topic's STOMP destination; StackError for a name that ActiveMQ would read as a pattern or a list."""
    return f"/topic/{topic_name(topic)}"


def topic_name(topic: str) -> str:
    """The topic's name as it is; StackError for one that ActiveMQ would read as a pattern or a list."""
    if not _TOPIC.fullmatch(topic):
        raise StackError(f"topic {topic!r}: a name is words of letters, digits, _ and -, joined by dots")
    return topic


def subscribe_headers(topic: str, *, subscription: Subscription, ack: Ack) -> dict[str, str]:
    """SUBSCRIBE's headers, but for its id and receipt."""
    headers = {
        "destination": destination(topic),
        # STOMP's own ack:auto acknowledges nothing: the broker would forget a message as soon as it is sent.
        "ack": "client-individual" if ack is Ack.AUTO else "client",
        "activemq.prefetchSize": str(prefetch(subscription)),
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


def selector_text(selector: Selector) -> str:
    """JMS selector syntax.  The STOMP side of the broker compares a header as a number, of its own accord."""
    return f"n >= {selector.low} AND n < {selector.high}"


def acknowledgement(identity: str) -> bytes:
    """An ACK frame for the message with this ack identity."""
    return head("ACK", {"id": identity}) + b"\0"


def _acknowledging_each(session: Session, handler: Handler) -> Callable[[Frame], None]:
    def on_message(frame: Frame) -> None:
        handler(frame.body, _redelivered(frame))
        session.write(acknowledgement(frame.headers["ack"]))  # leaves with the read's other acknowledgements

    return on_message


def _acknowledging_lazily(lazy: LazyAcknowledgement[str], handler: Handler) -> Callable[[Frame], None]:
    def on_message(frame: Frame) -> None:
        handler(frame.body, _redelivered(frame))
        lazy.handled(frame.headers["ack"])

    return on_message


def _redelivered(frame: Frame) -> bool:
    return frame.headers.get("redelivered") == "true"
