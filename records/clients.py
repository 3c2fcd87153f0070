"""The clients of a workload, pattern by pattern: how many there are, what they are called, and where they are put."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    PlainValidator,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from records.words import GENERAL, Words
from records.written import Written

Count = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A client: the index of its station, and of its channel."""

    station: int
    channel: int


class Clients(Written):
    """What all patterns' clients have in common.

    WORDS: what they, and what is measured of them, are called.  channels: names of what lies between them.
    """

    WORDS: ClassVar[Words] = GENERAL

    @property
    @abstractmethod
    def channels(self) -> tuple[str, ...]:
        """Names of the topics, queues or whatever else messages are sent to."""

    @abstractmethod
    def producers(self, stations: int) -> tuple[End, ...]:
        """Those that send, spread over so many stations."""

    @abstractmethod
    def consumers(self, stations: int) -> tuple[End, ...]:
        """Those that receive, spread over so many stations."""

    @property
    def least_stations(self) -> int:
        """On how many stations they have to be."""
        return 1


# What is not said where no choice was made, as before there was one: digests of scenarios stay what they were.
_LEFT_OUT = (("crossed", False), ("groups", 1))


class _Spread(Clients):
    """Client number i uses channel i mod channels and sits on station i mod stations.

    apart: those that send are spread so over the first half of the stations, those that receive over the others.
    crossed: those that send use the channel after that, so that they send to others than those on their own station.
    """

    CHANNEL: ClassVar[str]
    apart: bool = False
    crossed: bool = False

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """How many send, and how many receive."""

    @property
    @abstractmethod
    def channel_count(self) -> int:
        """How many channels there are."""

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(f"{self.CHANNEL}-{number}" for number in range(self.channel_count))

    def producers(self, stations: int) -> tuple[End, ...]:
        own = self._ends(self.counts()[0], range(stations // 2 if self.apart else stations))
        return tuple(End(station=one.station, channel=self._next(one.channel)) for one in own) if self.crossed else own

    def consumers(self, stations: int) -> tuple[End, ...]:
        return self._ends(self.counts()[1], range(stations // 2 if self.apart else 0, stations))

    @property
    def least_stations(self) -> int:
        return 2 if self.apart else 1

    def _ends(self, count: int, stations: range) -> tuple[End, ...]:
        return tuple(
            End(station=stations[number % len(stations)], channel=number % self.channel_count)
            for number in range(count)
        )

    def _next(self, channel: int) -> int:
        return (channel + 1) % self.channel_count

    @model_validator(mode="after")
    def _crossing_needs_another_channel(self) -> _Spread:
        if self.crossed and self.channel_count < 2:
            raise ValueError(f"crossed: there is one {self.CHANNEL}, and no other one to send to: give two or more")
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if (key, value) not in _LEFT_OUT}

    def _refuse_idle(self, clients: int, role: str) -> None:
        if self.channel_count > clients:
            word = self.CHANNEL
            words = f"{word}es" if word.endswith("s") else f"{word}s"
            raise ValueError(
                f"{self.channel_count} {words} cannot be filled by {clients} {role}, each of which has one "
                f"{word}: at most {clients} {words}"
            )


class PubSubClients(_Spread):
    WORDS = Words(
        sender="publisher", receiver="subscriber", sent="publisher throughput", received="subscriber throughput",
        done=("published", "delivered"), answer="publish latency",
    )  # fmt: skip
    CHANNEL = "topic"
    publishers: Count
    subscribers: Count
    topics: Count = 1

    @property
    def channel_count(self) -> int:
        return self.topics

    def counts(self) -> tuple[int, int]:
        return self.publishers, self.subscribers

    @model_validator(mode="after")
    def _every_topic_has_a_publisher(self) -> PubSubClients:
        self._refuse_idle(self.publishers, "publishers")
        return self


class QueueClients(_Spread):
    CHANNEL = "queue"
    senders: Count
    receivers: Count
    queues: Count = 1

    @property
    def channel_count(self) -> int:
        return self.queues

    def counts(self) -> tuple[int, int]:
        return self.senders, self.receivers

    @model_validator(mode="after")
    def _every_queue_has_both_ends(self) -> QueueClients:
        self._refuse_idle(self.senders, "senders")
        self._refuse_idle(self.receivers, "receivers")
        return self


class RequestReplyClients(_Spread):
    """addresses: names that callers call; services that share one share its requests."""

    WORDS = Words(
        sender="caller", receiver="service", message="request", short="requests", sent="rate of answered requests",
        received="rate of served requests", done=("answered", "served"), latency="request latency",
        answer="response time", answerer="a service", followed="answered requests",
    )  # fmt: skip
    CHANNEL = "address"
    callers: Count
    services: Count
    addresses: Count = 1

    @property
    def channel_count(self) -> int:
        return self.addresses

    def counts(self) -> tuple[int, int]:
        return self.callers, self.services

    @model_validator(mode="after")
    def _every_address_has_both_ends(self) -> RequestReplyClients:
        self._refuse_idle(self.callers, "callers")
        self._refuse_idle(self.services, "services")
        return self


class BroadcastClients(_Spread):
    """Every member has every message of its group."""

    WORDS = Words(receiver="member", received="member throughput")
    CHANNEL = "group"
    senders: Count
    members: Count
    groups: Count = 1

    @property
    def channel_count(self) -> int:
        return self.groups

    def counts(self) -> tuple[int, int]:
        return self.senders, self.members

    @model_validator(mode="after")
    def _every_group_has_both_ends(self) -> BroadcastClients:
        self._refuse_idle(self.senders, "senders")
        self._refuse_idle(self.members, "members")
        return self


_STREAM_WORDS = Words(sent="sent flow throughput", received="received flow throughput")


class OwnEnds(Clients):
    """Streams between peers, one channel each; peer number i sits on station i mod stations.

    shape: a flow is `one_way` from one peer to another, or `duplex`, which is a stream each way; every flow has two
    peers of its own.  `all_to_all` has a stream from each of `peers` to each other.
    """

    WORDS = _STREAM_WORDS
    shape: Literal["one_way", "duplex", "all_to_all"] = "one_way"
    flows: Count | None = None
    peers: Annotated[int, Field(ge=2, le=100)] | None = None

    @model_validator(mode="after")
    def _shape_has_its_number(self) -> OwnEnds:
        wanted, other = ("peers", "flows") if self.shape == "all_to_all" else ("flows", "peers")
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"shape {self.shape} has a number of {wanted}, and none of {other}")
        return self

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(f"stream-{number}" for number, _ in enumerate(self._streams()))

    def producers(self, stations: int) -> tuple[End, ...]:
        return tuple(End(station=one % stations, channel=number) for number, (one, _) in enumerate(self._streams()))

    def consumers(self, stations: int) -> tuple[End, ...]:
        return tuple(End(station=one % stations, channel=number) for number, (_, one) in enumerate(self._streams()))

    def _streams(self) -> Iterator[tuple[int, int]]:
        """From which peer to which."""
        if self.peers is not None:
            yield from permutations(range(self.peers), 2)
        for flow in range(self.flows or 0):
            yield 2 * flow, 2 * flow + 1
            if self.shape == "duplex":
                yield 2 * flow + 1, 2 * flow


class SharedEnds(_Spread):
    """Streams into addresses, each of whose receivers has some of them: a stream has one receiver to its end."""

    WORDS = _STREAM_WORDS
    CHANNEL = "address"
    shape: Literal["shared"]
    flows: Count
    receivers: Count
    addresses: Count = 1

    @property
    def channel_count(self) -> int:
        return self.addresses

    def counts(self) -> tuple[int, int]:
        return self.flows, self.receivers

    @model_validator(mode="after")
    def _every_address_has_both_ends(self) -> SharedEnds:
        self._refuse_idle(self.flows, "flows")
        self._refuse_idle(self.receivers, "receivers")
        return self


class _Shape(Written):
    shape: Literal["one_way", "duplex", "all_to_all", "shared"] = "one_way"


def _stream_clients_of(value: object) -> OwnEnds | SharedEnds:
    if isinstance(value, OwnEnds | SharedEnds):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"a mapping of keys, such as shape and flows, not {value!r}")
    chosen = _Shape.model_validate({key: value[key] for key in ("shape",) if key in value})
    return (SharedEnds if chosen.shape == "shared" else OwnEnds).model_validate(value)


# As with records.workload.AnyWorkload: problems name a key, and not a class as well, as those of a union would.
StreamClients = Annotated[OwnEnds | SharedEnds, SerializeAsAny(), PlainValidator(_stream_clients_of)]


class NoClients(Clients):
    """Of a load that is programs: there is one on every station, and no message between them."""

    WORDS = Words(sender="client", receiver="client", message="run", short="runs", followed="programs")

    @property
    def channels(self) -> tuple[str, ...]:
        return ()

    def producers(self, stations: int) -> tuple[End, ...]:
        del stations
        return ()

    def consumers(self, stations: int) -> tuple[End, ...]:
        del stations
        return ()
