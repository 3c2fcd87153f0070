"""All client processes of a trial, as one thing that is made ready, started, drained and read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from experiments.load.connecting import consumer_label, producer_label
from experiments.load.draining import Drain
from experiments.load.ledger import files
from experiments.load.nursery import nursery
from experiments.load.protocol import Done, Go, Kill, NodePlan, Progress, Stop, Times
from experiments.load.recording import MARKED
from experiments.load.remote import ClientFailedError, Remote, started
from experiments.load.stale import stale_and_cut
from records.commands import ProgramRun
from records.manifest import PlacedWorkload
from records.nodes import NodeChange, absences, by_node
from records.schema import DELIVERED, PUBLISHED
from records.store import DamagedTrial, read_table

# Between two looks at whether a drain is over: clients report ten times a second then.
_LOOK_NS = 100_000_000

UnderWay = Callable[[Collection[str]], Awaitable[int]]


class FleetTimeoutError(Exception):
    """Clients did not get somewhere in time; the message names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node's plan, and a process that lives on that node, None = it has no network of its own."""

    plan: NodePlan
    namespace: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetProgress:
    """Totals of all nodes since go.  delivered counts arrivals, duplicates included."""

    t_ns: int
    sent: int
    acked: int
    failed: int
    delivered: int
    lost_connections: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """Why the drain ended: all was answered and has arrived, nothing moved any more, or the limit."""

    reason: Literal["complete", "quiet", "limit"]
    drained_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetResult:
    """published by producer and seq, delivered by consumer and arrival, and what each node reported.

    stale: deliveries of messages that this trial did not send when they say they were sent.  cut: those of others that
    are not as long as what was sent.
    excused: by node, the clients whose connections may be lost, as what they need was taken away by plan.
    programs: how those ended that the load was, none where it was messages.
    """

    published: pa.Table
    delivered: pa.Table
    nodes: dict[str, Done]
    stale: int = 0
    cut: int = 0
    excused: Mapping[str, Collection[str]] = field(default_factory=dict)
    programs: tuple[ProgramRun, ...] = ()

    @property
    def lost_connections(self) -> tuple[str, ...]:
        """`node: client: reason` of every connection that ended without being closed, and without an excuse."""
        return tuple(
            f"{node}: {reason}"
            for node, done in self.nodes.items()
            for reason in done.lost_connections
            if _who(reason) not in self.excused.get(node, ())
        )

    def with_clients(
        self, workload: PlacedWorkload, changes: Iterable[NodeChange] = (), *, go_ns: int = 0
    ) -> PlacedWorkload:
        """The workload with what its clients tell: their sockets, absences, and how often producers sent again.

        changes: what happened to nodes, after which their clients were absent.
        """
        producers = {number: mine for done in self.nodes.values() for number, mine in done.producer_sockets.items()}
        consumers = {number: mine for done in self.nodes.values() for number, mine in done.consumer_sockets.items()}
        away = {number: times for done in self.nodes.values() for number, times in done.absences.items()}
        gone = {node: absences(mine, go_ns) for node, mine in by_node(changes).items()}
        retries = {number: count for done in self.nodes.values() for number, count in done.retries.items()}
        return workload.model_copy(
            update={
                "producers": tuple(
                    one.model_copy(update={"sockets": producers.get(one.id, ()), "retries": retries.get(one.id, 0)})
                    for one in workload.producers
                ),
                "consumers": tuple(
                    one.model_copy(
                        update={
                            "sockets": consumers.get(one.id, ()),
                            "absences": (*away.get(one.id, ()), *gone.get(one.node, ())),
                        }
                    )
                    for one in workload.consumers
                ),
            }
        )


class Fleet:
    """Made by `fleet`.  Every method raises ClientFailedError as soon as one client has failed."""

    def __init__(
        self,
        remotes: dict[str, Remote],
        heard: asyncio.Event,
        progress: Callable[[FleetProgress], None] | None,
    ) -> None:
        self._remotes = remotes
        self._heard = heard
        self._tell_progress = progress
        self._times: Times | None = None
        self._told_ns = 0
        self._waiting = {node for node, remote in remotes.items() if remote.plan.late}  # to be told to join
        self._killed: set[str] = set()
        self._vanished: set[str] = set()  # and not reached again
        self._excused: dict[str, set[str]] = {}

    @property
    def pids(self) -> dict[str, int]:
        """The client process of each node."""
        return {node: remote.pid for node, remote in self._remotes.items()}

    def totals(self) -> FleetProgress:
        """The latest totals of all nodes."""
        reports = self._reports()
        return FleetProgress(
            t_ns=time.monotonic_ns(),
            sent=sum(report.sent for report in reports.values()),
            acked=sum(report.acked for report in reports.values()),
            failed=sum(report.failed for report in reports.values()),
            delivered=sum(report.delivered for report in reports.values()),
            lost_connections=tuple(
                f"{node}: {reason}" for node, report in reports.items() for reason in report.lost_connections
            ),
        )

    async def ready(self, *, timeout_s: float) -> None:
        """Wait until every client is connected and subscribed; FleetTimeoutError names those that are not.

        Those of nodes that join late are not waited for.
        """
        early = {node: remote.ready for node, remote in self._remotes.items() if node not in self._waiting}
        await self._all(early, timeout_s, "ready")

    async def go(self, *, go_ns: int, start_ns: int, end_ns: int) -> None:
        """Tell every client when to publish and what the window is (CLOCK_MONOTONIC)."""
        self._times = Times(go_ns=go_ns, start_ns=start_ns, end_ns=end_ns)
        for node, remote in self._remotes.items():
            if node not in self._waiting:
                remote.tell(Go(go=self._times))

    def join(self, node: str) -> None:
        """Have a node's clients connect, and publish from then on."""
        if self._times is None:
            raise RuntimeError("join before go")
        self._waiting.discard(node)
        self._remotes[node].tell(Go(go=self._times))

    def ready_ns(self, node: str) -> int | None:
        """When a node's clients had connected and subscribed, None = they have not."""
        remote = self._remotes[node]
        return remote.ready.result().t_ns if remote.is_ready else None

    async def kill(self, node: str) -> int:
        """End a node's client by SIGKILL; when it was gone (CLOCK_MONOTONIC ns).  What it has recorded is kept.

        One that has not connected yet has recorded nothing.
        """
        remote = self._remotes[node]
        self._killed.add(node)
        if not remote.is_ready:
            await remote.kill()
            return time.monotonic_ns()
        remote.tell(Kill())
        done = await asyncio.shield(remote.done)
        if done.killed_ns is None:
            raise ClientFailedError(node=node, reason="it was to be killed, and ended by itself", log=remote.log)
        return done.killed_ns

    def vanished(self, node: str) -> None:
        """From now on a node cannot be reached: connections that it loses are no failure."""
        plan = self._remotes[node].plan
        self._vanished.add(node)
        self.excuse(node, producers=[one.id for one in plan.producers], consumers=[one.id for one in plan.consumers])

    def excuse(self, node: str, *, producers: Iterable[int], consumers: Iterable[int]) -> None:
        """From now on these clients of a node (by id) may lose their connections; those lost before stay lost."""
        progress = self._remotes[node].progress
        lost = {_who(reason) for reason in (progress.lost_connections if progress else ())}
        labels = {*map(producer_label, producers), *map(consumer_label, consumers)}
        self._excused.setdefault(node, set()).update(labels - lost)

    def reached_again(self, node: str) -> None:
        """What a node sends and waits for counts again at the drain."""
        self._vanished.discard(node)

    async def until(self, t_ns: int) -> None:
        """Wait until t_ns (CLOCK_MONOTONIC), passing progress on."""
        while (left_s := (t_ns - time.monotonic_ns()) / 1e9) > 0:
            await self._listen(left_s)

    async def drain(self, *, limit_s: float, quiet_s: float, under_way: UnderWay | None = None) -> Drained:
        """Wait for the end of the window, then for what is under way, see Drain, at most limit_s.

        under_way: bytes that kernels still have to bring to these nodes, or from them; None where nobody knows.  TCP
        may say nothing for many seconds before it repeats what was lost: silence alone is no end.
        """
        if self._times is None:
            raise RuntimeError("drain before go")
        await self.until(self._times.end_ns)
        there = {node for node in self._remotes if node not in self._killed | self._vanished | self._waiting}
        whole = not self._excused and there == self._remotes.keys()
        whole &= not any(self._remotes[node].plan.late for node in there)
        plans = [self._remotes[node].plan for node in there]
        state = Drain(plans=plans, end_ns=self._times.end_ns, quiet_s=quiet_s, whole=whole)
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            reports = {node: report for node, report in self._reports().items() if node in there}
            reason = state.over(reports)
            if reason == "complete" or (reason and not (under_way and await under_way(there))):
                break
            # Not at every line: in the trial's process, which goes before all others, each look takes milliseconds.
            await self.until(time.monotonic_ns() + _LOOK_NS)
        else:
            reason = None
        if self._tell_progress is not None and self._reports():
            self._tell_progress(self.totals())
        return Drained(reason=reason or "limit", drained_ns=time.monotonic_ns())

    async def finish(self, *, timeout_s: float) -> FleetResult:
        """Stop every client and read its ledger; FleetTimeoutError when one does not get done.

        Those of nodes that should have joined and have not connected have none.
        """
        there = {node: remote for node, remote in self._remotes.items() if remote.is_ready}
        for node, remote in there.items():
            if node not in self._killed:
                remote.tell(Stop())
        done = {node: remote.done for node, remote in there.items()}
        await self._all(done, timeout_s, "done")
        return self._read({node: future.result() for node, future in done.items()})

    def _read(self, nodes: dict[str, Done]) -> FleetResult:
        published, delivered = [PUBLISHED.empty_table()], [MARKED.empty_table()]
        for node in nodes:
            remote = self._remotes[node]
            try:
                paths = files(Path(remote.plan.out_dir), node)
                tables = read_table(paths[0], PUBLISHED), read_table(paths[1], MARKED)
            except DamagedTrial as error:
                raise ClientFailedError(node=node, reason=str(error), log=remote.log) from error
            published.append(tables[0])
            delivered.append(tables[1])
        sent = pa.concat_tables(published).sort_by([("producer", "ascending"), ("seq", "ascending")])
        marked = pa.concat_tables(delivered).sort_by([("consumer", "ascending"), ("arrival", "ascending")])
        stale, cut = stale_and_cut(sent, marked)
        return FleetResult(
            published=sent,
            delivered=marked.select(DELIVERED.names),
            nodes=nodes,
            stale=stale,
            cut=cut,
            excused=self._excused,
        )

    def _reports(self) -> dict[str, Progress]:
        return {node: remote.progress for node, remote in self._remotes.items() if remote.progress is not None}

    async def _all(self, futures: Mapping[str, asyncio.Future[Any]], timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while waiting := [node for node, future in futures.items() if not future.done()]:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise FleetTimeoutError(f"not {what} after {timeout_s} s: {', '.join(waiting)}")
            await self._listen(left_s)
        self._check()

    async def _listen(self, limit_s: float) -> None:
        """Wait for a client's next line, at most limit_s."""
        self._check()
        self._heard.clear()
        try:
            await asyncio.wait_for(self._heard.wait(), limit_s)
        except TimeoutError:
            return
        self._check()
        now = time.monotonic_ns()
        if self._tell_progress is not None and self._reports() and now - self._told_ns >= 500_000_000:
            self._told_ns = now
            self._tell_progress(self.totals())

    def _check(self) -> None:
        for remote in self._remotes.values():
            if remote.done.done() and not remote.done.cancelled() and (error := remote.done.exception()) is not None:
                raise error


def _who(reason: str) -> str:
    """The client of a lost connection."""
    return reason.partition(": ")[0]


@asynccontextmanager
async def fleet(
    members: Sequence[Member], *, logs: Path, progress: Callable[[FleetProgress], None] | None = None
) -> AsyncIterator[Fleet]:
    """Start one client process per member; all are ended and reaped on every way out.

    logs: an existing folder; each client's stderr goes to client-<node>.log in it.
    """
    heard = asyncio.Event()
    async with AsyncExitStack() as owned:
        clients = await owned.enter_async_context(nursery(logs))
        remotes: dict[str, Remote] = {}
        for member in members:
            start = started(member.plan, nursery=clients, namespace=member.namespace, logs=logs, heard=heard.set)
            remotes[member.plan.node] = await owned.enter_async_context(start)
        yield Fleet(remotes, heard, progress)
