"""What the owner and a client process say to each other: one JSON object per line, either way.

The owner writes a NodePlan, then Go, then Stop or Kill.  The client answers Ready, a Progress each second (ten a
second once the window has ended) and Done, or at any time Failure.  A node that joins late connects after Go.
Times are CLOCK_MONOTONIC nanoseconds.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, model_validator

from experiments.workers.lines import read_any
from records.manifest import ClientSocket, Consumer, Producer
from records.nodes import Absence
from records.record import Record
from records.workload import AnyMessages, Away, PubSub, Selection
from stacks.driver import Tls
from stacks.knobs import KnobValue

Port = Annotated[int, Field(ge=1, le=65535)]


class ServiceAt(Record):
    """Where one of a stack's services listens, as stacks.driver.Endpoint."""

    service: str
    node: str
    host: str
    port: Port
    tls: Tls = "off"
    authority: str = ""


class PeerAt(Record):
    """A client of a load whose clients speak to each other, as stacks.driver.Peer."""

    client_id: str
    role: Literal["producer", "consumer"]
    channel: str
    address: str
    port: Port


def client_id(node: str, role: str, number: int) -> str:
    """What a client connects as."""
    return f"{node}-{role}-{number}"


class NodePlan(Record):
    """Everything that one client process does: the workload, and which of its clients are on this node.

    knobs: what is set of the stack.  address: the node's own.
    services: where the stack's services listen, as the node sees them.
    peers: all clients of the load, on this node or another, where they speak to each other; else none.
    late: its clients connect when it is told to go, and not before.
    """

    node: str
    stack: str
    knobs: dict[str, KnobValue] = Field(default_factory=dict)
    address: str
    services: tuple[ServiceAt, ...]
    peers: tuple[PeerAt, ...] = ()
    workload: AnyMessages
    producers: tuple[Producer, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    seed: int = 0
    out_dir: str
    connect_timeout_s: float = Field(default=10.0, gt=0)
    late: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> NodePlan:
        channels = len(self.workload.clients.channels)
        for kind, clients in (("producer", self.producers), ("consumer", self.consumers)):
            ids = [one.id for one in clients]
            if len(set(ids)) != len(ids):
                raise ValueError(f"{kind} ids are not unique: {sorted(ids)}")
            if any(not 0 <= one.topic < channels for one in clients):
                raise ValueError(f"{kind} of a channel that is none of the workload's {channels}")
        wanted = (self.selection.low, self.selection.high) if self.selection else None
        if others := [one.id for one in self.consumers if one.selector != wanted]:
            raise ValueError(f"consumers {others} do not select what the workload says: {wanted}")
        return self

    @property
    def away(self) -> Away | None:
        """When its consumers are out of reach, None = never."""
        return self.workload.away if isinstance(self.workload, PubSub) else None

    @property
    def selection(self) -> Selection | None:
        """The message property, and which its consumers want; None = messages have none."""
        return self.workload.selector if isinstance(self.workload, PubSub) else None


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


class Kill(Record):
    """The client process ends by SIGKILL at once; a copy of it without connections says Done."""

    kill: Literal[True] = True


_LAST: TypeAdapter[Stop | Kill] = TypeAdapter(Stop | Kill)


def read_last_order(text: bytes) -> Stop | Kill:
    """The order that ends a client; ProtocolError when it is neither."""
    return read_any(text, _LAST)


class Ready(Record):
    """All clients are connected and subscribed since t_ns."""

    event: Literal["ready"] = "ready"
    t_ns: int


class Progress(Record):
    """Totals since go.  delivered counts arrivals, duplicates included.  failed: those that nobody answers, too.

    wanted_by_topic: answered messages whose property the topic's consumers want.
    """

    event: Literal["progress"] = "progress"
    t_ns: int
    sent: int
    acked: int
    failed: int
    delivered: int
    wanted_by_topic: dict[int, int]
    delivered_by_consumer: dict[int, int]
    lost_connections: tuple[str, ...]


class Done(Record):
    """The ledger is written.

    unreadable: deliveries whose body is no marker; they are not in the table.
    worst_send_lateness_s, in the window: open loop, a send behind its schedule; closed loop, the generator's own
    work between taking up an answer and the next send.  worst_loop_lag_s, in the window: a timer of the generator
    behind its time.
    cpu_seconds: from go to the end of the window.
    producer_sockets, consumer_sockets: by id, the local ends of the client's connections, one after the other.
    retries: by producer id, sends that were repeated because the destination was full; producers without are left out.
    absences: by consumer id, when its connection was cut and made again.
    killed_ns: when the process was gone, of one that was told to be killed.
    """

    event: Literal["done"] = "done"
    rows: dict[str, int]
    acked: int
    unreadable: int
    worst_send_lateness_s: float
    worst_loop_lag_s: float
    cpu_seconds: float
    lost_connections: tuple[str, ...]
    producer_sockets: dict[int, tuple[ClientSocket, ...]]
    consumer_sockets: dict[int, tuple[ClientSocket, ...]]
    retries: dict[int, int] = Field(default_factory=dict)
    absences: dict[int, tuple[Absence, ...]] = Field(default_factory=dict)
    killed_ns: int | None = None


class Failure(Record):
    event: Literal["error"] = "error"
    message: str


Event = Ready | Progress | Done | Failure
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


def read_event(text: bytes) -> Event:
    """A line from a client; ProtocolError when it is no event."""
    return read_any(text, _EVENT)
