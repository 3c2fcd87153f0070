"""All client processes of a trial, as one thing that is made ready, started, drained and read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from experiments.load.draining import Drain
from experiments.load.ledger import files
from experiments.load.protocol import Done, Go, NodePlan, Progress, Stop, Times
from experiments.load.recording import MARKED
from experiments.load.remote import ClientFailedError, Remote, started
from experiments.load.stale import stale_copies
from records.manifest import PlacedWorkload
from records.schema import DELIVERED, PUBLISHED
from records.store import DamagedTrial, read_table


class FleetTimeoutError(Exception):
    """Clients did not get somewhere in time; the message names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node's plan, and the command that runs the rest of its arguments on that node."""

    plan: NodePlan
    prefix: tuple[str, ...] = ()


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

    stale: deliveries of messages that this trial did not send when they say they were sent.
    """

    published: pa.Table
    delivered: pa.Table
    nodes: dict[str, Done]
    stale: int = 0

    @property
    def lost_connections(self) -> tuple[str, ...]:
        """`node: client: reason` of every connection that ended without being closed."""
        return tuple(f"{node}: {reason}" for node, done in self.nodes.items() for reason in done.lost_connections)

    def with_clients(self, workload: PlacedWorkload) -> PlacedWorkload:
        """The workload with what its clients tell: their sockets, absences, and how often producers sent again."""
        producers = {number: mine for done in self.nodes.values() for number, mine in done.producer_sockets.items()}
        consumers = {number: mine for done in self.nodes.values() for number, mine in done.consumer_sockets.items()}
        absences = {number: times for done in self.nodes.values() for number, times in done.absences.items()}
        retries = {number: count for done in self.nodes.values() for number, count in done.retries.items()}
        return workload.model_copy(
            update={
                "producers": tuple(
                    one.model_copy(update={"sockets": producers.get(one.id, ()), "retries": retries.get(one.id, 0)})
                    for one in workload.producers
                ),
                "consumers": tuple(
                    one.model_copy(update={"sockets": consumers.get(one.id, ()), "absences": absences.get(one.id, ())})
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
        """Wait until every client is connected and subscribed; FleetTimeoutError names those that are not."""
        await self._all({node: remote.ready for node, remote in self._remotes.items()}, timeout_s, "ready")

    async def go(self, *, go_ns: int, start_ns: int, end_ns: int) -> None:
        """Tell every client when to publish and what the window is (CLOCK_MONOTONIC)."""
        self._times = Times(go_ns=go_ns, start_ns=start_ns, end_ns=end_ns)
        for remote in self._remotes.values():
            remote.tell(Go(go=self._times))

    async def until(self, t_ns: int) -> None:
        """Wait until t_ns (CLOCK_MONOTONIC), passing progress on."""
        while (left_s := (t_ns - time.monotonic_ns()) / 1e9) > 0:
            await self._listen(left_s)

    async def drain(self, *, limit_s: float, quiet_s: float) -> Drained:
        """Wait for the end of the window, then for what is under way, see Drain, at most limit_s."""
        if self._times is None:
            raise RuntimeError("drain before go")
        await self.until(self._times.end_ns)
        plans = [remote.plan for remote in self._remotes.values()]
        state = Drain(plans=plans, end_ns=self._times.end_ns, quiet_s=quiet_s)
        deadline = time.monotonic() + limit_s
        while (reason := state.over(self._reports())) is None and time.monotonic() < deadline:
            await self._listen(0.1)
        return Drained(reason=reason or "limit", drained_ns=time.monotonic_ns())

    async def finish(self, *, timeout_s: float) -> FleetResult:
        """Stop every client and read its ledger; FleetTimeoutError when one does not get done."""
        for remote in self._remotes.values():
            remote.tell(Stop())
        done = {node: remote.done for node, remote in self._remotes.items()}
        await self._all(done, timeout_s, "done")
        return self._read({node: future.result() for node, future in done.items()})

    def _read(self, nodes: dict[str, Done]) -> FleetResult:
        published, delivered = [PUBLISHED.empty_table()], [MARKED.empty_table()]
        for node, remote in self._remotes.items():
            try:
                paths = files(Path(remote.plan.out_dir), node)
                tables = read_table(paths[0], PUBLISHED), read_table(paths[1], MARKED)
            except DamagedTrial as error:
                raise ClientFailedError(node=node, reason=str(error), log=remote.log) from error
            published.append(tables[0])
            delivered.append(tables[1])
        sent = pa.concat_tables(published).sort_by([("producer", "ascending"), ("seq", "ascending")])
        marked = pa.concat_tables(delivered).sort_by([("consumer", "ascending"), ("arrival", "ascending")])
        stale = stale_copies(sent, marked)
        return FleetResult(published=sent, delivered=marked.select(DELIVERED.names), nodes=nodes, stale=stale)

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
            if remote.done.done() and (error := remote.done.exception()) is not None:
                raise error


@asynccontextmanager
async def fleet(
    members: Sequence[Member], *, logs: Path, progress: Callable[[FleetProgress], None] | None = None
) -> AsyncIterator[Fleet]:
    """Start one client process per member; all are ended and reaped on every way out.

    logs: an existing folder; each client's stderr goes to client-<node>.log in it.
    """
    heard = asyncio.Event()
    async with AsyncExitStack() as owned:
        remotes: dict[str, Remote] = {}
        for member in members:
            start = started(member.plan, prefix=member.prefix, logs=logs, heard=heard.set)
            remotes[member.plan.node] = await owned.enter_async_context(start)
        yield Fleet(remotes, heard, progress)
