"""What the owner and a client process say to each other: one JSON object per line, either way.

The owner writes a NodePlan, then Go, then Stop.  The client answers Ready, a Progress each second (ten a
second once the window has ended) and Done, or at any time Failure.  Times are CLOCK_MONOTONIC nanoseconds.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from results.manifest import Absence, Record
from results.marker import SIZE
from stacks.driver import Ack, BodyType

R = TypeVar("R", bound=Record)
Port = Annotated[int, Field(ge=1, le=65535)]
Id = Annotated[int, Field(ge=0, le=2**31 - 1)]


LARGEST_BODY_BYTES = 16 << 20


class ProtocolError(ValueError):
    """A line is not a message of this protocol."""


class ProducerPlan(Record):
    """topic: index in the manifest's topics.  topic_name: what the stack calls it."""

    id: Id
    topic: Id
    topic_name: str


class ConsumerPlan(Record):
    """selector: half-open range [low, high) of the message property, None = every message."""

    id: Id
    topic: Id
    topic_name: str
    durable: bool = False
    selector: tuple[int, int] | None = None


class AwayPlan(Record):
    """Every consumer's connection is cut at_s after the window's start, and made again lasts_s later."""

    at_s: float = Field(ge=0)
    lasts_s: float = Field(gt=0)


class NodePlan(Record):
    """Everything that one client process does.

    loop: `closed` sends when the last send is answered, `open` on a schedule of rate_per_producer messages/s
    whose gaps are constant or exponential (`poisson`).  property_range: the message property is uniform in
    [0, property_range), None = messages have none.  acknowledge_every: with ack `client`, after how many messages
    of a consumer.  receive: with a listener, or `sync`, one after the other.  prefetch: None = the stack's choice.
    """

    node: str
    stack: str
    host: str
    port: Port
    producers: tuple[ProducerPlan, ...] = ()
    consumers: tuple[ConsumerPlan, ...] = ()
    body_bytes: int = Field(ge=SIZE, le=LARGEST_BODY_BYTES)
    body_type: BodyType = BodyType.BYTES
    persistent: bool = False
    ack: Ack = Ack.AUTO
    acknowledge_every: int = Field(default=10, ge=1)
    receive: Literal["listener", "sync"] = "listener"
    prefetch: int | None = Field(default=None, ge=0)
    loop: Literal["closed", "open"] = "closed"
    arrivals: Literal["constant", "poisson"] = "constant"
    rate_per_producer: float | None = Field(default=None, gt=0, le=1e6)
    property_range: int | None = Field(default=None, ge=1, le=2**31 - 1)
    away: AwayPlan | None = None
    seed: int = 0
    out_dir: str
    connect_timeout_s: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _consistent(self) -> NodePlan:
        if self.loop == "open" and self.rate_per_producer is None:
            raise ValueError("loop 'open' needs rate_per_producer")
        for kind, ids in (
            ("producer", [producer.id for producer in self.producers]),
            ("consumer", [consumer.id for consumer in self.consumers]),
        ):
            if len(set(ids)) != len(ids):
                raise ValueError(f"{kind} ids are not unique: {sorted(ids)}")
        return self


class Times(Record):
    """Publish from go_ns (warm-up) until end_ns; the measurement window is start_ns to end_ns."""

    go_ns: int
    start_ns: int
    end_ns: int

    @model_validator(mode="after")
    def _ordered(self) -> Times:
        if not self.go_ns <= self.start_ns < self.end_ns:
            raise ValueError(f"go {self.go_ns} <= start {self.start_ns} < end {self.end_ns} does not hold")
        return self


class Go(Record):
    go: Times


class Stop(Record):
    stop: Literal[True] = True


class Ready(Record):
    event: Literal["ready"] = "ready"


class Progress(Record):
    """Totals since go.  delivered counts arrivals, duplicates included."""

    event: Literal["progress"] = "progress"
    t_ns: int
    sent: int
    acked: int
    failed: int
    delivered: int
    acked_by_topic: dict[int, int]
    delivered_by_consumer: dict[int, int]
    lost_connections: tuple[str, ...]


class Done(Record):
    """The ledger is written.

    unreadable: deliveries whose body is no marker; they are not in the table.
    worst_send_lateness_s, in the window: open loop, a send behind its schedule; closed loop, the generator's own
    work between taking up an answer and the next send.  worst_loop_lag_s, in the window: a timer of the generator
    behind its time.
    cpu_seconds: from go to the end of the window; cpu_seconds_total: of the process.
    producer_ports, consumer_ports: by id, the local ports of the client's connections, one after the other.
    retries: by producer id, sends that were repeated because the destination was full; producers without are left out.
    absences: by consumer id, when its connection was cut and made again.
    """

    event: Literal["done"] = "done"
    rows: dict[str, int]
    acked: int
    failed: int
    in_doubt: int
    unreadable: int
    worst_send_lateness_s: float
    worst_loop_lag_s: float
    cpu_seconds: float
    cpu_seconds_total: float
    lost_connections: tuple[str, ...]
    producer_ports: dict[int, tuple[int, ...]]
    consumer_ports: dict[int, tuple[int, ...]]
    retries: dict[int, int] = Field(default_factory=dict)
    absences: dict[int, tuple[Absence, ...]] = Field(default_factory=dict)


class Failure(Record):
    event: Literal["error"] = "error"
    message: str


Event = Ready | Progress | Done | Failure
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


def line(message: Record) -> bytes:
    """The message as one line."""
    return message.model_dump_json().encode() + b"\n"


def read(text: bytes, kind: type[R]) -> R:
    """A line from the owner; ProtocolError when it is no `kind`."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise ProtocolError(_explain(text, error)) from None


def read_event(text: bytes) -> Event:
    """A line from a client; ProtocolError when it is no event."""
    try:
        return _EVENT.validate_json(text)
    except ValidationError as error:
        raise ProtocolError(_explain(text, error)) from None


def _explain(text: bytes, error: ValidationError) -> str:
    reasons = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'line'}: {item['msg']}" for item in error.errors())
    return f"{reasons} (in {text[:200]!r})"
