"""The measured part of a trial: clients connect over the link that they will use, then it is loaded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from emulation.kernel import kernel
from emulation.kernel.accesspoint import Ports
from emulation.kernel.mtu import USUAL, mtu
from emulation.kernel.namespace import in_namespace, run_tool
from emulation.kernel.offloads import still_on
from emulation.link.capture import SETTLE_S, PortCapture, captured
from emulation.link.link import Link, Player, applied, playing
from emulation.tc.player import Played
from experiments.load.fleet import Fleet, FleetProgress, FleetResult, FleetTimeoutError, Member, fleet
from experiments.load.program_fleet import Programs
from experiments.trial import plan, programs
from experiments.trial.connect_time import ConnectTime, connect_time_of
from experiments.trial.context import Phase, TrialContext
from experiments.trial.cpugroups import limit
from experiments.trial.further import Further, FurtherMeasured
from experiments.trial.nodeplayer import NodePlayer, keep_away
from experiments.trial.nodeplayer import playing as playing_nodes
from experiments.trial.observers import wallclock
from experiments.trial.observers.connections import Connections, watched
from experiments.trial.observers.halfopen import watching
from experiments.trial.observers.linesamples import LineSeen
from experiments.trial.observers.linkguard import guarded
from experiments.trial.observers.priority import ahead
from experiments.trial.observers.processes import lives
from experiments.trial.observers.sampling import sampling
from experiments.trial.others import MEASURED, READY
from experiments.trial.reading import Reading, reading
from records.manifest import Connecting, HalfOpen, Window
from records.nodes import NodeChange, killed, late, silent, vanishes
from records.workload import Command

FINISH_LIMIT_S = 60.0
QUIET_S = 2.0
_GO_DELAY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a trial has recorded.

    readings: just before go, when losses are numbered anew, at the window's start, at its end, and at the drain's.
    connecting: how clients connected, and what their connections knew at the window's start.
    clock_offset_ns: wall clock minus monotonic, at the start of the window.
    clock_step_s: how far that had moved by the drain's end.
    drained: why the drain ended.
    line: how late the line was, None where the kernel makes all links.
    gone: servers that did not live to the end of the drain.
    played: the timeline's changes of the link.  node_events: what happened to nodes.  half_open: who kept connections
    to those that vanished, and how long.
    further: what the further segments have recorded, by name.
    notes: what else the manifest should say.
    """

    window: Window
    clock_offset_ns: int
    result: FleetResult
    captures: Sequence[PortCapture]
    resources: pa.Table
    line: LineSeen | None
    readings: tuple[Reading, Reading, Reading, Reading]
    kernel_state: dict[str, str]
    offloads_on: tuple[str, ...]
    gone: tuple[str, ...]
    clock_step_s: float
    drained: str
    connecting: Connecting
    played: tuple[Played, ...] = ()
    node_events: tuple[NodeChange, ...] = ()
    half_open: tuple[HalfOpen, ...] = ()
    further: Mapping[str, FurtherMeasured] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def measure(context: TrialContext) -> Measured:
    """Run the clients through warm-up, window and drain.  Raises what a client, the kernel or the disk says."""
    context.tell(Phase(name="connect"))
    ports = context.network.ports
    limits = connect_time_of(context.settings, context.profile, context.spec.links, kernel=kernel.current())
    plan = context.capture
    taps, logs = [place.tap for place in plan.places], context.folder / "logs"
    with (
        captured(taps, context.folder, logs=logs, snap_bytes=plan.snap_bytes, rate=plan.rate) as captures,
        watched(context.network, context.listeners) as connections,
        ExitStack() as shaped,
    ):
        bare = context.settings.connect == "bare"
        further = Further(context.further, context.network, context.line)
        link = None if bare else shaped.enter_context(_applied(context, further))
        await keep_away(context)
        began = time.monotonic()
        async with AsyncExitStack() as owned:
            clients = await _clients(context, limits, owned)
            _give_shares(context, clients)
            async with guarded(link), guarded(further):
                await _ready(context, clients, limits)
            connect_s = time.monotonic() - began
            link = link or shaped.enter_context(_applied(context, further))
            async with guarded(link), guarded(further):
                quiet = await connections.quiet(limit_s=limits.quiet_s)
                if context.others:
                    context.tell(Phase(name=READY))
                    await context.others.come(READY)
                with (
                    ahead([one.process.pid for one in captures]),
                    sampling(link, _processes(context, clients), context.line) as sampler,
                    playing(link) as player,
                    further.watched(),
                ):
                    async with AsyncExitStack() as moving:
                        wanted = vanishes(context.settings.nodes)
                        half_open = await moving.enter_async_context(watching(context.network, wanted=wanted))
                        nodes = None
                        if isinstance(clients, Fleet):
                            nodes = await moving.enter_async_context(playing_nodes(context, clients, half_open))
                        loaded = await _load(context, clients, link, player, connections, further=further, nodes=nodes)
                        node_events, kept = nodes.changes() if nodes else (), half_open.found()
                    state = kernel_state(ports)
                unplanned = [one for one in context.running if one.node not in killed(node_events)]
                gone = [f"server {one.name} ended" for one in unplanned if not lives(one.pid)]
                gone += clients.gone() if isinstance(clients, Programs) else []
                if context.others:
                    context.tell(Phase(name=MEASURED))
                    await context.others.come(MEASURED)
            shaped.close()
            quiet_since = time.monotonic()
            # The link is bare again: nothing that is measured is under way, and leaving takes no time.
            result = await clients.finish(timeout_s=FINISH_LIMIT_S)
            await asyncio.sleep(max(0.0, quiet_since + SETTLE_S - time.monotonic()))
    return Measured(
        window=loaded.window,
        clock_offset_ns=loaded.clock_offset_ns,
        result=result,
        captures=captures,
        resources=sampler.table(),
        line=sampler.line.seen,
        readings=loaded.readings,
        kernel_state=state,
        offloads_on=offloads_on(context),
        gone=tuple(gone),
        clock_step_s=loaded.clock_step_s,
        drained=loaded.drained,
        connecting=Connecting(
            over=context.settings.connect, seconds=connect_s, quiet=quiet, ends=connections.ends(loaded.connections)
        ),
        played=tuple(player.played),
        node_events=node_events,
        half_open=kept,
        further=further.measured(),
        notes=tuple(_notes(context, node_events, quiet=quiet)),
    )


def _notes(context: TrialContext, node_events: Sequence[NodeChange], *, quiet: bool) -> Iterator[str]:
    if not quiet:
        yield "connections were still busy at go, so losses are numbered from another packet on"
    network = context.network
    gone = {one.node for one in node_events if one.event == "vanish"}
    for station in (one.name for one in network.stations if one.name in gone):
        if any(network.routes.answers(server.name, station) for server in network.servers):
            yield f"{station} vanished behind an address translator: who kept connections to it how long is not known"


async def _clients(context: TrialContext, limits: ConnectTime, owned: AsyncExitStack) -> Fleet | Programs:
    """The clients' processes, or the programs that the load is; owned: what ends them."""
    work = context.workload.asked
    if isinstance(work, Command):
        return await owned.enter_async_context(programs.running(context, work))
    return await owned.enter_async_context(
        fleet(_members(context, limits), logs=context.folder / "logs", progress=_progress(context))
    )


def _give_shares(context: TrialContext, clients: Fleet | Programs) -> None:
    """Give every station its share of the processors, where it has one of its own."""
    if (cores := context.settings.station_cores) is None:
        return
    pids = {name: [pid] for name, pid in clients.pids.items()}
    for one in context.running:
        pids.setdefault(one.node, []).append(one.pid)
    stations = {node.name: tuple(pids.get(node.name, ())) for node in context.network.stations}
    limit(context.spec.cpu_groups, stations, cores)


@contextmanager
def _applied(context: TrialContext, further: Further) -> Iterator[Link]:
    """Every segment's link in force; gives the first one's."""
    name = next(iter(context.plans))
    with applied(context.link, context.network.ports, context.line, name) as link, further.applied():
        yield link


def _members(context: TrialContext, limits: ConnectTime) -> list[Member]:
    plans = plan.node_plans(
        context.settings,
        context.workload,
        addresses={node.name: node.address for node in context.network.nodes},
        services=tuple(
            one.at(node.address, node=node.name, authority=context.authority) for node, one in context.placed
        ),
        seed=context.spec.seed,
        out_dir=context.client_folder,
        connect_limit_s=limits.client_s,
        late=late(context.settings.nodes),
    )
    return [Member(plan=one, namespace=context.network.node(one.node).pid) for one in plans]


async def _ready(context: TrialContext, clients: Fleet | Programs, limits: ConnectTime) -> None:
    try:
        await clients.ready(timeout_s=round(limits.all_s))
    except FleetTimeoutError as error:
        raise FleetTimeoutError(
            f"{error}; on link {context.profile.name!r} alone these clients take about {limits.expected_s:.0f} s to "
            "connect: give the scenario fewer clients, or say `connect: bare`"
        ) from error


def _progress(context: TrialContext) -> Callable[[FleetProgress], None]:
    def tell(progress: FleetProgress) -> None:
        context.tell(Phase(name="load", sent=progress.sent, delivered=progress.delivered))

    return tell


def _processes(context: TrialContext, clients: Fleet | Programs) -> dict[str, int]:
    servers = {f"server:{one.name}": one.pid for one in context.running}
    servers |= {f"server:{name}": pid for name, pid in clients.servers.items()} if isinstance(clients, Programs) else {}
    return servers | {f"generator:{node}": pid for node, pid in clients.pids.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    window: Window
    clock_offset_ns: int
    clock_step_s: float
    readings: tuple[Reading, Reading, Reading, Reading]
    connections: tuple[bytes, ...]
    drained: str


async def _load(
    context: TrialContext,
    clients: Fleet | Programs,
    link: Link,
    player: Player,
    connections: Connections,
    *,
    further: Further,
    nodes: NodePlayer | None,
) -> _Loaded:
    times = context.settings.window
    await asyncio.to_thread(link.renumber)
    await asyncio.to_thread(further.renumber)
    before = await _read(link, further)
    go_ns = time.monotonic_ns() + int(_GO_DELAY_S * 1e9)
    start_ns = go_ns + int(times.warmup_s * 1e9)
    end_ns = start_ns + int(times.window_s * 1e9)
    context.tell(Phase(name="load"))
    player.start(start_ns)
    further.start(start_ns)
    await clients.go(go_ns=go_ns, start_ns=start_ns, end_ns=end_ns)
    if nodes:
        nodes.start(start_ns)
    await clients.until(start_ns)
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    offset_ns = wallclock.offset_ns()
    start = await _read(link, further)
    known = await asyncio.to_thread(connections.read)
    await clients.until(end_ns)
    end = await _read(link, further)
    context.tell(Phase(name="drain"))
    gone: frozenset[str] = frozenset()
    if nodes:
        await asyncio.wait_for(nodes.ended(), FINISH_LIMIT_S)
        gone = silent(nodes.changes())
    drained = await clients.drain(
        limit_s=times.drain_s,
        quiet_s=QUIET_S,
        under_way=lambda stations: asyncio.to_thread(connections.under_way, stations, silent=gone),
    )
    last = await _read(link, further)
    window = Window(go_ns=go_ns, start_ns=start_ns, end_ns=end_ns, drained_ns=drained.drained_ns, started_at=started_at)
    return _Loaded(
        window=window,
        clock_offset_ns=offset_ns,
        clock_step_s=(wallclock.offset_ns() - offset_ns) / 1e9,
        readings=(before, start, end, last),
        connections=known,
        drained=drained.reason,
    )


async def _read(link: Link, further: Further) -> Reading:
    """In a thread: clients' progress goes on being read."""
    found = await asyncio.to_thread(reading, link)
    await asyncio.to_thread(further.read)
    return found


def kernel_state(ports: Ports) -> dict[str, str]:
    """What the access point's kernel says of its queues, filters and rules (lists without their elements)."""
    first = next(iter(ports.stations.values()))
    commands = (
        ("tc", "-s", "-d", "qdisc", "show"),
        *(("tc", "filter", "show", "dev", first, hook) for hook in ("ingress", "egress")),  # all stations' are alike
        ("nft", "-t", "list", "ruleset"),
        ("ip", "-d", "link", "show"),
    )
    return {" ".join(command): run_tool(command, pid=ports.pid) for command in commands}


def offloads_on(context: TrialContext) -> tuple[str, ...]:
    """`<interface>: <offload>` of every offload that is on, at both ends of every cable, and of every other MTU."""
    network = context.network
    ends = [(node.pid, one.name) for node in network.nodes for one in node.interfaces]
    ends += [end for segment in network.segments.values() for end in segment.ends]
    return tuple(
        f"{interface}: {name}" for pid, interface in ends for name in in_namespace(pid, partial(_set, interface))
    )


def _set(interface: str) -> list[str]:
    size = mtu(interface)
    return still_on(interface) + ([f"MTU {size}"] if size != USUAL else [])
