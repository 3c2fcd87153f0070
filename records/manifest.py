"""What a trial was: scenario, cell, machine, kernel, software, window, files (manifest.json)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from records import older
from records.audience import Audience, audiences
from records.commands import ProgramRun
from records.nodes import Absence, NodeChange, stopped
from records.record import Record
from records.schema import VERSION
from records.workload import AnyWorkload, Command, Messages


class Cell(Record):
    """name: folder name.  levels: factor (last part of its path in the scenario) to a short printable level."""

    name: str
    levels: dict[str, str]


class ClientSocket(Record):
    """The client's own end of what its packets travel over.

    tls: version and cipher that were agreed on, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; '' = in the clear.
    """

    protocol: Literal["tcp", "udp"]
    port: int
    tls: str = ""


class _Client(Record):
    """sockets: those of its connections, one after the other; none when they are not known."""

    id: int
    node: str
    topic: int
    sockets: tuple[ClientSocket, ...] = ()

    @property
    def ports(self) -> tuple[int, ...]:
        """Local ports of its TCP connections."""
        return tuple(one.port for one in self.sockets if one.protocol == "tcp")

    @model_validator(mode="before")
    @classmethod
    def _as_older_versions_wrote_it(cls, data: Any) -> Any:
        return older.client(data) if isinstance(data, dict) and "ports" in data else data


class Producer(_Client):
    """retries: sends that it repeated because the provider had refused them for want of space."""

    retries: int = 0


class Consumer(_Client):
    """selector: half-open range [low, high) of the message property, None = every message.

    caller: the producer whose requests are answered here; None where messages come.  absences: one after the other.
    """

    durable: bool = False
    selector: tuple[int, int] | None = None
    caller: int | None = None
    absences: tuple[Absence, ...] = ()


class PlacedWorkload(Record):
    """asked: what the scenario says.  producers, consumers: its clients, and the nodes that they are on."""

    asked: AnyWorkload
    producers: tuple[Producer, ...]
    consumers: tuple[Consumer, ...]

    @property
    def messages(self) -> Messages:
        """What is asked of messages; ValueError where the load is programs."""
        if isinstance(self.asked, Command):
            raise ValueError("the load is programs, which send no messages")
        return self.asked

    @property
    def tls(self) -> tuple[str, ...]:
        """What its clients' connections agreed on, each once; none where nothing is encrypted."""
        found = {socket.tls for one in (*self.producers, *self.consumers) for socket in one.sockets}
        return tuple(sorted(found - {""}))

    @property
    def audiences(self) -> tuple[Audience, ...]:
        """Who should have each message, by the pattern's rule."""
        return audiences(self.consumers, share=self.asked.shared, undivided=self.asked.undivided)

    @model_validator(mode="before")
    @classmethod
    def _as_older_versions_wrote_it(cls, data: Any) -> Any:
        return older.workload(data) if isinstance(data, dict) and "topics" in data else data


class Node(Record):
    """role: a `station` hangs on a medium, a `server` runs services, a `router` only passes packets on."""

    name: str
    role: Literal["station", "server", "router"]
    address: str


class Window(Record):
    """CLOCK_MONOTONIC nanoseconds: warm-up from go to start, the window from start to end, then the drain."""

    go_ns: int
    start_ns: int
    end_ns: int
    drained_ns: int
    started_at: str = Field(description="wall clock of start_ns, ISO 8601, UTC")

    @property
    def seconds(self) -> float:
        """Length of the measurement window in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


class Machine(Record):
    cpu_model: str
    cores: int
    memory_bytes: int
    load_1m_before: float


class Kernel(Record):
    """chosen: the machine's own kernel (`host`) or the embedded one (`lab`)."""

    release: str
    chosen: Literal["host", "lab"]


class Git(Record):
    """dirty: with changes that no commit has.  code: digest of the files that trials consist of, '' = not recorded."""

    revision: str
    dirty: bool
    code: str = ""

    @property
    def text(self) -> str:
        """The revision, and whether it is the whole truth."""
        return self.revision + (" with uncommitted changes" if self.dirty else "")


CapturePoint = Literal["station", "wired", "client", "server"]


class Capture(Record):
    """One pcap of one port.  Its times are wall clock; clock_offset_ns = wall - monotonic.

    side: of the access point's ports, `station` ones see an uplink packet before the air and a downlink packet
    after it, the `wired` one the other way round; `client` and `server` are the nodes' own ports, at the other
    ends of the same cables.  node: the node at this end or the other end of the port's cable, '' where nobody is: at
    a wired port without a server packets from station to station turn from their way up to their way down.  sha256:
    empty when the file was not kept.  link: the segment, where that is a link between routers or servers; '' = a
    medium that stations hang on.
    """

    file: str
    port: str
    side: CapturePoint
    node: str
    snap_bytes: int
    packets: int
    dropped: int
    bytes: int
    sha256: str
    link: str = ""

    @property
    def kept(self) -> bool:
        """Whether the file is in the trial's folder."""
        return bool(self.sha256)


class ConnectionEnd(Record):
    """What the kernel at one end of a client's TCP connection knew of it at the window's start (tcp(7), TCP_INFO).

    station, port: of the client, whichever end this is.  rtt_s, min_rtt_s: smoothed and smallest round trip, None
    before the first sample.  rto_s: retransmission timeout.  cwnd, ssthresh: segments; ssthresh None = not set yet.
    """

    end: Literal["client", "server"]
    station: str
    port: int
    rtt_s: float | None
    min_rtt_s: float | None
    rto_s: float
    cwnd: int
    ssthresh: int | None
    congestion_control: str


class Connecting(Record):
    """How a trial's clients connected: over the trial's own link, or bare, before it was applied.

    seconds: from starting the clients until all had subscribed.  quiet: whether nothing was under way at go.  ends:
    both of every connection.
    """

    over: Literal["link", "bare"]
    seconds: float
    quiet: bool
    ends: tuple[ConnectionEnd, ...]


class HalfOpen(Record):
    """A TCP connection to a node that vanished, at the end that is still there.  CLOCK_MONOTONIC nanoseconds.

    node, port: who vanished, and its port.  since_ns: when that was in force.  peer, peer_port: whose end this is.
    left_ns: when the peer had given it up, None where it had not by until_ns, when the watch ended.
    """

    node: str
    since_ns: int
    peer: str
    peer_port: int
    port: int
    left_ns: int | None
    until_ns: int


class Manifest(Record):
    schema_version: int = Field(default=VERSION, strict=True)
    scenario: str
    scenario_digest: str
    campaign: str
    cell: Cell
    trial: int
    seed: int
    stack: str
    guarantee_class: str = Field(description="stacks are compared only inside one class of equal guarantees")
    workload: PlacedWorkload
    nodes: tuple[Node, ...]
    profile: dict[str, Any]
    window: Window
    clock_offset_ns: int = Field(description="CLOCK_REALTIME minus CLOCK_MONOTONIC at the start of the window")
    git: Git
    kernel: Kernel
    medium: Literal["tc", "line", ""] = Field(default="", description="what made the link; '' = not recorded, tc")
    transmission_time: bool | None = Field(
        default=None, description="whether a frame takes its transmission time on an idle link, too; None: not recorded"
    )
    machine: Machine
    versions: dict[str, str]
    sysctls: dict[str, dict[str, str]]
    kernel_state: dict[str, str] = Field(description="command to its output: qdiscs, filters, nftables, links")
    captures: tuple[Capture, ...]
    no_captures: str = Field(default="", description="why there are no capture files, where that was asked for")
    rows: dict[str, int] = Field(description="table name to number of rows")
    drained: str = Field(default="", description="why the drain ended: complete, quiet or limit")
    figures: dict[str, float] = Field(
        default={},
        description="records.window_metrics of the ledger, or records.commands.figures, for the stopping rule",
    )
    latency_of: Literal["sent", "arrived"] = Field(
        default="arrived", description="whose latency the figures have: of what was sent in the window, or (older) came"
    )
    beside: tuple[str, ...] = Field(default=(), description="trials (cell/trial) that ran at the same time")
    shared_machine: bool | None = Field(
        default=None, description="whether others' use of the machine was told, not judged; None: not recorded"
    )
    idle_polled: bool = Field(default=False, description="whether a process kept the line's processor from halting")
    machine_cpu: float | None = Field(default=None, description="share of all cores in use, mean over the window")
    connecting: Connecting | None = Field(default=None, description="None = not recorded")
    programs: tuple[ProgramRun, ...] = Field(
        default=(), description="every client's program and how it ended, where the load is programs"
    )
    node_events: tuple[NodeChange, ...] = Field(default=(), description="what happened to nodes, as it was asked")
    half_open: tuple[HalfOpen, ...] = Field(default=(), description="others' connections to nodes that had vanished")
    notes: tuple[str, ...] = ()

    @property
    def stopped(self) -> dict[int, int]:
        """The producers whose nodes went for good, and when (CLOCK_MONOTONIC, ns)."""
        gone = stopped(self.node_events)
        return {one.id: gone[one.node] for one in self.workload.producers if one.node in gone}
