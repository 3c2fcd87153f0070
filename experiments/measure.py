"""The measured part of a trial: clients connect over the link that they will use, then it is loaded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import psutil
import pyarrow as pa

from emulation import kernel
from emulation.accesspoint import Ports
from emulation.capture import SETTLE_S, PortCapture, captured
from emulation.link import Link, Player, applied, playing
from emulation.losstable import StageCount
from emulation.mtu import USUAL, mtu
from emulation.namespace import in_namespace, prefix, run_tool
from emulation.offloads import still_on
from emulation.player import Played
from emulation.queuecounts import QueueCount
from experiments import plan, wallclock
from experiments.bench import Bench, Phase
from experiments.connect_time import ConnectTime, connect_time
from experiments.connections import Connections, watched
from experiments.linechecks import LineSeen
from experiments.linkguard import guarded
from experiments.load.fleet import Fleet, FleetProgress, FleetResult, FleetTimeoutError, Member, fleet
from experiments.priority import ahead
from experiments.sampling import sampling
from results.manifest import Connecting, Window
from stacks.driver import Endpoint

FINISH_LIMIT_S = 60.0
QUIET_S = 2.0
_GO_DELAY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The link's counters at one moment (CLOCK_MONOTONIC)."""

    t_ns: int
    queues: tuple[QueueCount, ...]
    stage: StageCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a trial has recorded.

    readings: just before go, when losses are numbered anew, at the window's start, at its end, and at the drain's.
    connecting: how clients connected, and what their connections knew at the window's start.
    clock_offset_ns: wall clock minus monotonic, at the start of the window.
    clock_step_s: how far that had moved by the drain's end.
    drained: why the drain ended.
    line: how late the line was, None where the kernel makes the link.
    gone: servers that did not live to the end of the drain.
    played: the timeline's changes of the link.
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
    notes: tuple[str, ...] = ()


async def measure(bench: Bench) -> Measured:
    """Run the clients through warm-up, window and drain.  Raises what a client, the kernel or the disk says."""
    bench.tell(Phase(name="connect"))
    ports, limits = bench.network.ports, connect_time(bench.settings, bench.profile, kernel=kernel.current())
    taps, snap = [place.tap for place in bench.capture.places], bench.capture.snap_bytes
    with (
        captured(taps, bench.folder, logs=bench.folder / "logs", snap_bytes=snap) as captures,
        watched(bench.network) as connections,
        ExitStack() as shaped,
    ):
        bare = bench.settings.connect == "bare"
        link = None if bare else shaped.enter_context(applied(bench.link, ports))
        began = time.monotonic()
        async with fleet(_members(bench, limits), logs=bench.folder / "logs", progress=_progress(bench)) as clients:
            async with guarded(link):
                await _ready(bench, clients, limits)
            connect_s = time.monotonic() - began
            link = link or shaped.enter_context(applied(bench.link, ports))
            async with guarded(link):
                quiet = await connections.quiet(limit_s=limits.quiet_s)
                with (
                    ahead([one.process.pid for one in captures]),
                    sampling(link, _processes(bench, clients)) as sampler,
                    playing(link) as player,
                ):
                    loaded = await _load(bench, clients, link, player, connections)
                    state = kernel_state(ports)
                gone = [f"server {one.name} ended" for one in bench.services if not _lives(bench.service_pid(one))]
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
        offloads_on=offloads_on(bench),
        gone=tuple(gone),
        clock_step_s=loaded.clock_step_s,
        drained=loaded.drained,
        connecting=Connecting(
            over=bench.settings.connect, seconds=connect_s, quiet=quiet, ends=connections.ends(loaded.connections)
        ),
        played=tuple(player.played),
        notes=() if quiet else ("connections were still busy at go, so losses are numbered from another packet on",),
    )


def _members(bench: Bench, limits: ConnectTime) -> list[Member]:
    port = bench.services[0].port if bench.services else 1
    plans = plan.node_plans(
        bench.settings,
        bench.workload,
        at=Endpoint(host=bench.server.address, port=port),
        seed=bench.spec.seed,
        out_dir=bench.client_folder,
        connect_limit_s=limits.client_s,
    )
    return [Member(plan=one, prefix=tuple(prefix(bench.network.node(one.node).pid))) for one in plans]


async def _ready(bench: Bench, clients: Fleet, limits: ConnectTime) -> None:
    try:
        await clients.ready(timeout_s=round(limits.all_s))
    except FleetTimeoutError as error:
        raise FleetTimeoutError(
            f"{error}; on link {bench.profile.name!r} alone these clients take about {limits.expected_s:.0f} s to "
            "connect: give the scenario fewer clients, or say `connect: bare`"
        ) from error


def _progress(bench: Bench) -> Callable[[FleetProgress], None]:
    def tell(progress: FleetProgress) -> None:
        bench.tell(Phase(name="load", sent=progress.sent, delivered=progress.delivered))

    return tell


def _processes(bench: Bench, clients: Fleet) -> dict[str, int]:
    servers = {f"server:{service.name}": bench.service_pid(service) for service in bench.services}
    return servers | {f"generator:{node}": pid for node, pid in clients.pids.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    window: Window
    clock_offset_ns: int
    clock_step_s: float
    readings: tuple[Reading, Reading, Reading, Reading]
    connections: tuple[bytes, ...]
    drained: str


async def _load(bench: Bench, clients: Fleet, link: Link, player: Player, connections: Connections) -> _Loaded:
    times = bench.settings.window
    await asyncio.to_thread(link.renumber)
    before = await _read(link)
    go_ns = time.monotonic_ns() + int(_GO_DELAY_S * 1e9)
    start_ns = go_ns + int(times.warmup_s * 1e9)
    end_ns = start_ns + int(times.window_s * 1e9)
    bench.tell(Phase(name="load"))
    player.start(start_ns)
    await clients.go(go_ns=go_ns, start_ns=start_ns, end_ns=end_ns)
    await clients.until(start_ns)
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    offset_ns = wallclock.offset_ns()
    start = await _read(link)
    known = await asyncio.to_thread(connections.read)
    await clients.until(end_ns)
    end = await _read(link)
    bench.tell(Phase(name="drain"))
    drained = await clients.drain(limit_s=times.drain_s, quiet_s=QUIET_S)
    last = await _read(link)
    window = Window(go_ns=go_ns, start_ns=start_ns, end_ns=end_ns, drained_ns=drained.drained_ns, started_at=started_at)
    return _Loaded(
        window=window,
        clock_offset_ns=offset_ns,
        clock_step_s=(wallclock.offset_ns() - offset_ns) / 1e9,
        readings=(before, start, end, last),
        connections=known,
        drained=drained.reason,
    )


async def _read(link: Link) -> Reading:
    """In a thread: clients' progress goes on being read."""
    t_ns, queues = await asyncio.to_thread(link.timed_queue_counts)
    return Reading(t_ns=t_ns, queues=queues, stage=await asyncio.to_thread(link.stage_counts))


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


def offloads_on(bench: Bench) -> tuple[str, ...]:
    """`<interface>: <offload>` of every offload that is on, at both ends of every cable, and of every other MTU."""
    ports = bench.network.ports
    ends = [(node.pid, node.interface) for node in bench.network.nodes]
    ends += [(ports.pid, port) for port in (ports.wired, *ports.stations.values())]
    return tuple(
        f"{interface}: {name}" for pid, interface in ends for name in in_namespace(pid, partial(_set, interface))
    )


def _set(interface: str) -> list[str]:
    size = mtu(interface)
    return still_on(interface) + ([f"MTU {size}"] if size != USUAL else [])


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
