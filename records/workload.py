"""What a load does: the one value that scenarios, client processes and manifests carry.

A workload follows one of the patterns, and what a pattern cannot have it has no key for.  Every
pattern names its clients in its own words; `clients` offers one view of them all (`records.clients`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, PlainValidator, SerializeAsAny, model_validator

from records.clients import (
    BroadcastClients,
    Count,
    NoClients,
    PubSubClients,
    QueueClients,
    RequestReplyClients,
    SharedEnds,
    StreamClients,
)
from records.commands import ClientCommand, Metrics, ServerCommand
from records.messaging import Ack, BodyType, Delivery, Guarantee
from records.sending import Sending, time_s
from records.words import GENERAL, Words
from records.written import Written

_LARGEST_IN_FIELDS = 1 << 20  # 50 MB in each client process
_ACKS = {
    Ack.AUTO: Guarantee.ACK_AUTO,
    Ack.DUPS_OK: Guarantee.ACK_DUPS_OK,
    Ack.CLIENT: Guarantee.ACK_CLIENT,
    Ack.NONE: Guarantee.ACK_NONE,
}


class Pattern(StrEnum):
    PUBSUB = "pubsub"
    QUEUE = "queue"
    REQUEST_REPLY = "request_reply"
    BROADCAST = "broadcast"
    STREAM = "stream"
    COMMAND = "command"


# Those of messages, which a stack carries.
MESSAGE_PATTERNS = frozenset(Pattern) - {Pattern.COMMAND}


class Stored(Written):
    """delivery: persistent = on disk before the answer."""

    delivery: Delivery = Delivery.NONPERSISTENT


class NotStored(Stored):
    """Messages of this pattern are not kept."""

    delivery: Literal[Delivery.NONPERSISTENT] = Delivery.NONPERSISTENT


class Promise(Stored):
    """subscription: durable ones outlive their connection."""

    subscription: Literal["durable", "nondurable"] = "nondurable"


class Selection(Written):
    """Publishers draw a property from 0..of-1; subscribers want the messages whose property is in [low, high)."""

    low: Annotated[int, Field(ge=0)]
    high: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=1, le=1_000_000)] = 100

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Selection:
        if not self.low < self.high <= self.of:
            raise ValueError(f"the range [{self.low}, {self.high}) is empty or leaves 0..{self.of - 1}")
        return self


class Away(Written):
    """Every subscriber's connection is cut at_s into the window, without a word, and made again lasts_s later."""

    at_s: time_s(0, 86_400)  # type: ignore[valid-type]
    lasts_s: time_s(0.1, 86_400)  # type: ignore[valid-type]


class ServiceTime(Written):
    """How long a service works on a request before it replies."""

    mean_s: time_s(0, 3600) = 0.0  # type: ignore[valid-type]
    distribution: Literal["constant", "exponential"] = "constant"

    @model_validator(mode="after")
    def _what_varies_has_a_mean(self) -> ServiceTime:
        if self.distribution == "exponential" and not self.mean_s:
            raise ValueError("mean_s: an exponential service time needs a mean above 0")
        return self


def _service_time(value: object) -> object:
    return value if isinstance(value, Mapping | ServiceTime) else {"mean_s": value}


class _Load(Sending):
    """What a workload of any pattern may say.  Whether a stack can do it, the stack says: `guarantees`.

    memory_limit_mb: how many MB the provider holds in memory for consumers that are behind; left out, the default of
    the stack's role (ActiveMQ: 4).
    when_full: what the provider does with a send for which it has no space: the producer waits for its answer, or is
    refused and sends again.
    """

    pattern: Pattern
    guarantee: Stored = Stored()
    body_type: BodyType = BodyType.BYTES
    memory_limit_mb: Annotated[float, Field(ge=0.05, le=16_384, allow_inf_nan=False)] | None = None
    when_full: Literal["wait", "refuse"] = "wait"

    @model_validator(mode="after")
    def _fields_of_a_body_are_kept(self) -> _Load:
        if self.body_type in (BodyType.STREAM, BodyType.MAP) and max(self.sizes) > _LARGEST_IN_FIELDS:
            raise ValueError(
                f"body_type {self.body_type.value}: at most {_LARGEST_IN_FIELDS} bytes: it has a field for each 8"
            )
        return self

    @property
    def shared(self) -> bool:
        """Whether a message is for one of its channel's consumers, whichever, instead of for all of them."""
        return False

    @property
    def undivided(self) -> bool:
        """Whether it is one and the same for all messages of a producer."""
        return False

    @property
    def replies(self) -> bool:
        """Whether the answer of a send is a message itself, to whoever sent."""
        return False

    @property
    def persistent(self) -> bool:
        """Whether messages are on disk before they are answered."""
        return self.guarantee.delivery is Delivery.PERSISTENT

    @property
    def deliveries_per_message(self) -> float:
        """To how many consumers a message goes, on average, when nothing is lost; 1 where one of them has it."""
        return 1.0

    @property
    def guarantee_class(self) -> str:
        """Stacks are compared only when this is equal."""
        return f"{self.pattern.value}, {self.guarantee.delivery.value}"

    def guarantees(self) -> frozenset[Guarantee]:
        """What the stack must be able to promise."""
        wanted = {
            Guarantee.PERSISTENT: self.persistent,
            Guarantee.BODY_TYPES: self.body_type is not BodyType.BYTES,
            Guarantee.REFUSAL: self.when_full == "refuse",
            Guarantee.MEMORY_LIMIT: self.memory_limit_mb is not None,
        }
        return frozenset(one for one, asked in wanted.items() if asked)


_ACKNOWLEDGE_EVERY = 10


class Acknowledged(_Load):
    """A workload whose consumers acknowledge.

    acknowledge_every: with ack `client`, how many messages a consumer has before it acknowledges them.
    receive: a listener is called with each message, `sync` asks for one after the other.
    prefetch: how many messages may be under way to a consumer; left out, the stack's own choice.
    """

    ack: Ack = Ack.AUTO
    acknowledge_every: Count = _ACKNOWLEDGE_EVERY
    receive: Literal["listener", "sync"] = "listener"
    prefetch: Annotated[int, Field(ge=0, le=32_766)] | None = None

    @model_validator(mode="after")
    def _a_listener_needs_a_prefetch(self) -> Acknowledged:
        if self.prefetch == 0 and self.receive == "listener":
            raise ValueError("prefetch 0 asks for single messages, which only receive: sync does")
        return self

    @model_validator(mode="after")
    def _who_acknowledges_says_how_often(self) -> Acknowledged:
        if self.acknowledge_every != _ACKNOWLEDGE_EVERY and self.ack is not Ack.CLIENT:
            raise ValueError(f"acknowledge_every: consumers do that with ack: client, and ack is {self.ack.value}")
        return self

    def guarantees(self) -> frozenset[Guarantee]:
        wanted = {
            Guarantee.SYNC_RECEIVE: self.receive == "sync",
            Guarantee.PREFETCH: self.prefetch is not None,
        }
        return super().guarantees() | {_ACKS[self.ack], *(one for one, asked in wanted.items() if asked)}


class PubSub(Acknowledged):
    """Each subscriber has every message of its topic that its selector lets through."""

    pattern: Literal[Pattern.PUBSUB] = Pattern.PUBSUB
    clients: PubSubClients
    guarantee: Promise = Promise()
    selector: Selection | None = None
    away: Away | None = None

    @property
    def durable(self) -> bool:
        """Whether subscriptions outlive their connections."""
        return self.guarantee.subscription == "durable"

    @property
    def deliveries_per_message(self) -> float:
        chosen = self.selector
        share = (chosen.high - chosen.low) / chosen.of if chosen else 1.0
        return self.clients.subscribers / self.clients.topics * share

    @property
    def guarantee_class(self) -> str:
        return f"{self.guarantee.subscription}, {self.guarantee.delivery.value}, ack {self.ack.value}"

    def guarantees(self) -> frozenset[Guarantee]:
        wanted = {Guarantee.DURABLE: self.durable, Guarantee.SELECTOR: self.selector is not None}
        return super().guarantees() | {one for one, asked in wanted.items() if asked}


class Queue(Acknowledged):
    """Each message of a queue is had by one of its receivers, whichever."""

    pattern: Literal[Pattern.QUEUE] = Pattern.QUEUE
    clients: QueueClients
    body_type: Literal[BodyType.BYTES] = BodyType.BYTES
    receive: Literal["listener"] = "listener"

    @property
    def shared(self) -> bool:
        return True

    @property
    def guarantee_class(self) -> str:
        return f"{super().guarantee_class}, ack {self.ack.value}"


class _InMemory(_Load):
    """A workload whose messages are not kept for those who are away, and have bodies of bytes."""

    guarantee: NotStored = NotStored()
    body_type: Literal[BodyType.BYTES] = BodyType.BYTES


class RequestReply(_InMemory):
    """A request is answered by one of the services at its address; the reply is the answer of the send."""

    pattern: Literal[Pattern.REQUEST_REPLY] = Pattern.REQUEST_REPLY
    clients: RequestReplyClients
    service_time: Annotated[ServiceTime, BeforeValidator(_service_time)] = ServiceTime()
    when_full: Literal["wait"] = "wait"  # the reply is the answer of a send, so a server has none to refuse it by

    @property
    def shared(self) -> bool:
        return True

    @property
    def replies(self) -> bool:
        return True


class Broadcast(_InMemory):
    """Each message reaches every member of its group."""

    pattern: Literal[Pattern.BROADCAST] = Pattern.BROADCAST
    clients: BroadcastClients

    @property
    def deliveries_per_message(self) -> float:
        return self.clients.members / self.clients.groups


class Stream(_InMemory):
    """Each message of a stream arrives once, in order, and all of them at one receiver."""

    pattern: Literal[Pattern.STREAM] = Pattern.STREAM
    clients: StreamClients

    @property
    def shared(self) -> bool:
        return isinstance(self.clients, SharedEnds)

    @property
    def undivided(self) -> bool:
        return self.shared

    def guarantees(self) -> frozenset[Guarantee]:
        return super().guarantees() | {Guarantee.ORDERED, *([Guarantee.SHARED_STREAMS] if self.shared else [])}


class Command(Written):
    """Programs of the user's own: `server` on every server's node, `client` on every station.

    metrics: numbers that the client prints, by the names that the report is to use, the most important one first.
    Nothing of it is a message: there is no stack, and no ledger.
    """

    pattern: Literal[Pattern.COMMAND] = Pattern.COMMAND
    server: ServerCommand | None = None
    client: ClientCommand
    metrics: Metrics = Field(default_factory=dict)

    @property
    def clients(self) -> NoClients:
        """None that a stack would know."""
        return NoClients()

    @property
    def shared(self) -> bool:
        """No message is for anybody."""
        return False

    @property
    def undivided(self) -> bool:
        """Nor for one of several."""
        return False

    @property
    def replies(self) -> bool:
        """Nothing is sent that a message could answer."""
        return False

    @property
    def guarantee_class(self) -> str:
        """Programs are compared with programs."""
        return self.pattern.value

    def guarantees(self) -> frozenset[Guarantee]:
        """None: there is no stack."""
        return frozenset()


Messages = PubSub | Queue | RequestReply | Broadcast | Stream
Workload = Messages | Command
WORKLOADS: dict[Pattern, type[Workload]] = {one.model_fields["pattern"].default: one for one in get_args(Workload)}


if _lacking := set(Pattern) - set(WORKLOADS):
    raise TypeError(f"no class in the union Workload has pattern {_lacking.pop().value!r}")


def words_of(patterns: Iterable[Pattern]) -> Words:
    """The words of a pattern's clients; of several patterns, words that fit them all; of none, the default's."""
    found = {_words(WORKLOADS[one]) for one in patterns}
    if len(found) > 1:
        return GENERAL
    return found.pop() if found else PubSubClients.WORDS


def _words(kind: type[Workload]) -> Words:
    clients = kind.model_fields.get("clients")
    if clients is None:
        return NoClients.WORDS
    (words,) = {one.WORDS for one in get_args(clients.annotation) or (clients.annotation,)}
    return words  # type: ignore[no-any-return]


class _Chosen(Written):
    pattern: Pattern = Pattern.PUBSUB


def workload_of(value: object) -> Workload:
    """A workload of the pattern that it names, `pubsub` when it names none.  ValidationError when it cannot be."""
    if isinstance(value, Workload):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"a mapping of keys, such as pattern, clients and body_bytes, not {value!r}")
    chosen = _Chosen.model_validate({key: value[key] for key in ("pattern",) if key in value})
    return WORKLOADS[chosen.pattern].model_validate(value)


# The problems of a field of this type name its keys, and not the pattern's class as well, as those of a union would.
AnyWorkload = Annotated[Workload, SerializeAsAny(), PlainValidator(workload_of)]
AnyMessages = Annotated[Messages, SerializeAsAny(), PlainValidator(workload_of)]
