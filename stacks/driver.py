"""What a messaging stack's adapter offers.

Drivers never stamp times and never count: the load generator does, the same way for every stack.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from records.messaging import Ack, BodyType, Delivery, Guarantee

if TYPE_CHECKING:  # it imports slowly, and a node of a stack of ours, which starts in every trial, has no use for it
    from records.workload import Pattern

# Where a stack's processes of its own run: on every server or every station of the network.  One without is nowhere.
Placement = Literal["servers", "nodes"]
# The version of TLS that a service and its clients speak, this one and no other.
Tls = Literal["off", "1.2", "1.3"]


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
    """Where one of the stack's services listens, as its clients see it.  node: the host that it runs on.

    tls: what it speaks.  authority: the certificate (PEM) of whom its clients trust then.
    """

    host: str
    port: int
    service: str = ""
    node: str = ""
    tls: Tls = "off"
    authority: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A client of a conversation in which clients speak to each other.

    client_id: as it connects.  channel: name of its topic, queue, service, group or flow.  port: one that is its own,
    on its host.
    """

    client_id: str
    role: Literal["producer", "consumer"]
    channel: str
    address: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """The host that a client runs on.

    peers: all clients of the load, itself included, where the stack is in its clients alone (see `between_clients`).
    """

    node: str
    address: str
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    """One end of what packets travel between: transport protocol, IPv4 address and port.

    tls: version and cipher that were agreed on, '' = what it carries is not encrypted.
    """

    protocol: Literal["tcp", "udp"]
    address: str
    port: int
    tls: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process of a stack's own: the Ansible role that deploys it, and the role's variables.

    placement: it runs on every server of the network, or on every station.  tls: what it speaks; the role has it as
    ROLE_tls, and finds its certificate in the service's folder (experiments.deploy.certify).  overlay: clients speak to
    the one on their own host only, and these speak to each other.  stamps: it can write when it had which message, or
    in a trial, does (records.stamps); the role has ROLE_stamps for that.
    """

    name: str
    role: str
    port: int
    variables: dict[str, Any] = field(default_factory=dict)
    placement: Placement = "servers"
    tls: Tls = "off"
    overlay: bool = False
    stamps: bool = False

    def at(self, host: str, *, node: str = "", authority: str = "") -> Endpoint:
        """Where its clients find it, when it runs on `host`."""
        return Endpoint(host=host, port=self.port, service=self.name, node=node, tls=self.tls, authority=authority)


P = TypeVar("P")


def from_home(places: Sequence[P], channel: int) -> tuple[P, ...]:
    """All places of a stack's services, that one first at which a channel is at home: they take turns.

    So all clients of a channel meet.
    """
    home = channel % len(places) if places else 0
    return (*places[home:], *places[:home])


class StackError(Exception):
    """The provider refused something or went away; the message is the provider's."""


class UnansweredError(StackError):
    """Nobody will answer it any more, though the connection lives: whether it arrives is not known."""


class EndedError(UnansweredError):
    """Nor will anything be answered that is sent the same way later: that has ended."""


class FullError(StackError):
    """The destination is full: the message was not taken, and may be sent again later (guarantee REFUSAL)."""


Handler = Callable[[bytes, bool], None]
"""Called with a message's body and whether the provider marked it as redelivered."""


class Publisher(Protocol):
    """Sends to one topic, queue, group or flow."""

    def send(self, body: bytes | bytearray, prop: int | None = None) -> Awaitable[object]:
        """Hand one message over; the awaitable ends when the provider has answered, or with StackError.

        The message is on its way when send returns; several may be awaited at a time.  `body` may be reused
        by the caller after send has returned.  `prop` is the property `n` that selectors choose by.
        """


RequestHandler = Callable[[bytes, Callable[[bytes], None]], None]
"""Called with a request's body and with what sends its reply, which may be called later, once."""


class Caller(Protocol):
    def call(self, body: bytes | bytearray) -> Awaitable[bytes]:
        """Send a request; the awaitable ends with the reply's body, or with StackError.

        The request is on its way when call returns; several may be awaited at a time.  `body` may be reused by the
        caller after call has returned.
        """


class Connection(Protocol):
    """One client's connection.  What it can do beside this, such as Publishing, follows from the stack's patterns."""

    @property
    def lost(self) -> str | None:
        """Why the connection ended without close(), None while it is well."""

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """The client's own ends of what it speaks over, by which its packets are known; none where it has none."""

    async def close(self) -> None:
        """Acknowledge what is due and leave; durable subscriptions stay at the provider."""

    def abort(self) -> None:
        """Cut the connection; the provider hears of it from TCP."""

    def vanish(self) -> None:
        """Drop the connection silently, as a device does that goes out of reach: no FIN, no RST.

        StackError where that is not allowed: it takes CAP_NET_ADMIN.
        """


@runtime_checkable
class Publishing(Protocol):
    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one topic."""


@runtime_checkable
class Subscribing(Protocol):
    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """Every message of the topic; returns when the subscription is in force."""


@runtime_checkable
class Queueing(Protocol):
    """A queue holds each message until one of its receivers has acknowledged it."""

    async def sender(self, queue: str, *, delivery: Delivery) -> Publisher:
        """A publisher on one queue."""

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """A share of the queue's messages; returns when the receiver is known.  subscription: without a name."""


@runtime_checkable
class Calling(Protocol):
    async def caller(self, service: str) -> Caller:
        """What calls one service."""


@runtime_checkable
class Serving(Protocol):
    async def serve(self, service: str, handler: RequestHandler) -> None:
        """A share of the service's requests; returns when the service is known."""


@runtime_checkable
class Broadcasting(Protocol):
    async def broadcaster(self, group: str) -> Publisher:
        """What sends to every member of a group."""

    async def join(self, group: str, handler: Handler) -> None:
        """Every message to the group; returns when the member is known."""


@runtime_checkable
class Streaming(Protocol):
    async def stream(self, flow: str) -> Publisher:
        """The sending end of a flow, whose messages arrive once, in order, and at one of those who accept it."""

    async def accept(self, flow: str, handler: Handler) -> None:
        """A receiving end of a flow; returns when it is known.  Those who accept one flow share its senders."""


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
    """in_client: whether the stack itself runs inside the client's process, and not just what speaks to its servers.

    A stack without services may say by `find_each_other` whether its clients speak to each other (`Here.peers`).  Where
    it does not say so they do, unless it is `in_client`: then messages are to stay within a station's client process.
    One that can be set has KNOBS, a kind of stacks.knobs.Knobs, and takes one of them when it is made, or none.
    """

    name: str
    patterns: frozenset[Pattern]
    guarantees: frozenset[Guarantee]
    in_client: bool

    def services(self) -> tuple[Service, ...]:
        """The processes to deploy; none where the stack is in its clients alone."""

    def why_not(self, wanted: Subscription) -> str:
        """Why its subscribers cannot have this subscription, '' when they can; asked before anything is started."""

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> Connection:
        """Open one client connection; StackError when refused.

        services: all that the stack has, the one that this client's load is placed at first; none for a stack that
        has no services.
        """


def between_clients(stack: Stack) -> bool:
    """Whether clients speak to each other, as there are no services of the stack's and they are not one process."""
    return bool(getattr(stack, "find_each_other", not stack.in_client)) and not stack.services()
