"""What a messaging stack's adapter offers.

Drivers never stamp times and never count: the load generator does, the same way for every stack.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable


class Pattern(StrEnum):
    PUBSUB = "pubsub"
    QUEUE = "queue"
    REQUEST_REPLY = "request_reply"
    BROADCAST = "broadcast"
    STREAM = "stream"


class Guarantee(StrEnum):
    """What a stack can promise; a scenario that asks for one that is missing fails before anything starts."""

    DURABLE = "durable"  # a subscription outlives its connection
    PERSISTENT = "persistent"  # a message is on disk before the send is answered
    ACK_AUTO = "ack_auto"  # each message is acknowledged after its handler has returned (JMS AUTO)
    ACK_DUPS_OK = "ack_dups_ok"  # acknowledged cumulatively and lazily (JMS DUPS_OK)
    ACK_CLIENT = "ack_client"  # acknowledged when the application says so (JMS CLIENT)
    SELECTOR = "selector"  # the provider filters by a message property
    ORDERED = "ordered"  # messages of one producer arrive in order
    SYNC_RECEIVE = "sync_receive"  # a consumer may ask for its messages one by one
    PREFETCH = "prefetch"  # a subscription says how many messages may be under way to it
    BODY_TYPES = "body_types"  # JMS's Text, Stream, Map and Object messages beside Bytes
    REFUSAL = "refusal"  # a full destination may refuse a send, which the publisher repeats
    MEMORY_LIMIT = "memory_limit"  # how much is held in memory for subscribers that are behind can be set


class Delivery(StrEnum):
    PERSISTENT = "persistent"
    NONPERSISTENT = "nonpersistent"


class Ack(StrEnum):
    AUTO = "auto"
    DUPS_OK = "dups_ok"
    CLIENT = "client"


class BodyType(StrEnum):
    """JMS's types of messages; what making and reading one costs is part of sending and receiving it."""

    BYTES = "bytes"
    TEXT = "text"
    STREAM = "stream"
    MAP = "map"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Messages whose integer property `n` lies in [low, high)."""

    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """name: what the provider knows a durable subscription by, unique per client; None = not durable.

    prefetch: how many messages may be under way to the consumer, unacknowledged; None = the stack's own choice.
    """

    name: str | None = None
    selector: Selector | None = None
    prefetch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the stack's server listens, as its clients see it."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A server process of a stack: the Ansible role that deploys it, and the role's variables."""

    name: str
    role: str
    port: int
    variables: dict[str, Any] = field(default_factory=dict)


class StackError(Exception):
    """The provider refused something or went away; the message is the provider's."""


class FullError(StackError):
    """The destination is full: the message was not taken, and may be sent again later (guarantee REFUSAL)."""


Handler = Callable[[bytes, bool], None]
"""Called with a message's body and whether the provider marked it as redelivered."""


class Publisher(Protocol):
    def send(self, body: bytes | bytearray, prop: int | None = None) -> Awaitable[None]:
        """Hand one message over; the awaitable ends when the provider has answered, or with StackError.

        The message is on its way when send returns; several may be awaited at a time.  `body` may be reused
        by the caller after send has returned.  `prop` is the property `n` that selectors choose by.
        """


class Connection(Protocol):
    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one topic."""

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Returns when the subscription is in force."""

    @property
    def lost(self) -> str | None:
        """Why the connection ended without close(), None while it is well."""

    @property
    def local(self) -> tuple[str, int] | None:
        """Address and port at the client's end, by which its packets are known; None when there is no socket."""

    async def close(self) -> None:
        """Acknowledge what is due and leave; durable subscriptions stay at the provider."""

    def abort(self) -> None:
        """Cut the connection; the provider hears of it from TCP."""

    def vanish(self) -> None:
        """Be gone, as a device is that goes out of reach: the provider is sent nothing more, by TCP neither.

        StackError where that is not allowed: it takes CAP_NET_ADMIN.
        """


class Receiver(Protocol):
    async def receive(self) -> tuple[bytes, bool]:
        """The next message's body and whether it was redelivered; StackError when the connection ends.

        One call at a time.
        """


@runtime_checkable
class JmsConnection(Protocol):
    """What a connection offers beside the above when its stack has ACK_CLIENT, SYNC_RECEIVE and BODY_TYPES."""

    async def typed_publisher(self, topic: str, *, delivery: Delivery, body_type: BodyType) -> Publisher:
        """A publisher whose messages have bodies of this type."""

    async def receiver(self, topic: str, *, subscription: Subscription, ack: Ack) -> Receiver:
        """A subscription without a listener; returns when it is in force."""

    def acknowledge(self) -> None:
        """Ack.CLIENT: acknowledge all that this connection's application has had, the message in hand included."""


class Stack(Protocol):
    name: str
    patterns: frozenset[Pattern]
    guarantees: frozenset[Guarantee]

    def services(self) -> tuple[Service, ...]:
        """The servers to deploy on the wired side."""

    def why_not(self, wanted: Subscription) -> str:
        """Why its subscribers cannot have this subscription, '' when they can; asked before anything is started."""

    async def connect(self, at: Endpoint, client_id: str) -> Connection:
        """Open one client connection; StackError when refused."""
