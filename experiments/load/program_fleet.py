"""A load that is programs of the user's own: servers' before go, clients' at the window's start, to their ends.

It is made ready, started, drained and read as a fleet of clients is (experiments.load.fleet).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from experiments.load.fleet import Drained, FleetResult
from experiments.load.programs import Place, Program, last_words, run, serving
from experiments.load.remote import status_text
from records.commands import PrintedError, ProgramRun, ServerCommand, printed
from records.schema import DELIVERED, PUBLISHED
from records.workload import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProgram:
    """A station's command, its words filled.  server: the node whose address it was given, '' = none was."""

    station: str
    server: str
    words: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProgram:
    """A server's command, its words filled.  pid: a process in its node's network namespace."""

    asked: ServerCommand
    words: tuple[str, ...]
    place: Place
    pid: int


class Programs:
    """Made by `programs`.  Every method raises ProgramError as soon as a client cannot be started."""

    def __init__(
        self, work: Command, clients: Sequence[ClientProgram], servers: Sequence[Program], *, drain_s: float
    ) -> None:
        self._work, self._clients, self._servers, self._drain_s = work, clients, servers, drain_s
        self._start_ns = self._limit_ns = 0
        self._running: list[asyncio.Task[ProgramRun]] = []

    @property
    def pids(self) -> dict[str, int]:
        """No client runs before the window."""
        return {}

    @property
    def servers(self) -> dict[str, int]:
        """The process of each server, by name."""
        return {one.place.name: one.process.pid for one in self._servers}

    def gone(self) -> list[str]:
        """How those servers ended that did not live until now."""
        return [f"{one.place.name}: {one.how_it_ended()}{one.last_words()}" for one in self._servers if not one.lives]

    async def ready(self, *, timeout_s: float) -> None:
        """Servers are, when this exists; clients are started when the window starts."""

    async def go(self, *, go_ns: int, start_ns: int, end_ns: int) -> None:
        """Have every client's program start with the window (CLOCK_MONOTONIC)."""
        del go_ns
        self._start_ns, self._limit_ns = start_ns, end_ns + int(self._drain_s * 1e9)
        self._running = [asyncio.create_task(self._run(one)) for one in self._clients]

    async def until(self, t_ns: int) -> None:
        """Wait until t_ns (CLOCK_MONOTONIC)."""
        while (left_s := (t_ns - time.monotonic_ns()) / 1e9) > 0:
            if going := self._going():
                await asyncio.wait(going, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(left_s)

    async def drain(self, *, limit_s: float, quiet_s: float, under_way: object = None) -> Drained:
        """Wait for the end of the window, and then for that of every program, which its limit ends."""
        del limit_s, quiet_s, under_way
        await self.until(self._limit_ns - int(self._drain_s * 1e9))
        while going := self._going():
            await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)
        late = any(task.result().timed_out for task in self._running)
        return Drained(reason="limit" if late else "complete", drained_ns=time.monotonic_ns())

    async def finish(self, *, timeout_s: float) -> FleetResult:
        """What the programs did; they have ended."""
        del timeout_s
        return FleetResult(
            published=PUBLISHED.empty_table(),
            delivered=DELIVERED.empty_table(),
            nodes={},
            programs=tuple(task.result() for task in self._running),
        )

    async def end(self) -> None:
        """End all that still run."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _going(self) -> list[asyncio.Task[ProgramRun]]:
        """Those that have not ended; raises what was wrong with one."""
        for task in self._running:
            if task.done():
                task.result()
        return [task for task in self._running if not task.done()]

    async def _run(self, one: ClientProgram) -> ProgramRun:
        await asyncio.sleep(max(0.0, (self._start_ns - time.monotonic_ns()) / 1e9))
        began_ns = time.monotonic_ns()
        ended = await run(one.words, one.place, limit_s=(self._limit_ns - began_ns) / 1e9)
        metrics: dict[str, float] = {}
        problem = ""
        if ended.timed_out:
            problem = (
                f"{one.words[0]!r} had not ended {self._drain_s:g} s after the window and was killed: have it end by "
                "itself, or give it longer by window.drain_s"
            )
        elif ended.status:
            problem = f"{one.words[0]!r} ended with {status_text(ended.status)}{last_words(one.place)}"
        elif ended.cut and self._work.metrics:
            problem = (
                f"{one.words[0]!r} printed {ended.cut} bytes more than are kept, so what it printed last is not known: "
                "have it print less"
            )
        else:
            try:
                metrics = printed(ended.output, self._work.metrics)
            except PrintedError as error:
                problem = str(error)
        return ProgramRun(
            station=one.station,
            server=one.server,
            command=one.words,
            started_after_s=(began_ns - self._start_ns) / 1e9,
            status=ended.status,
            duration_s=ended.duration_s,
            timed_out=ended.timed_out,
            metrics=metrics,
            problem=f"{one.station}: {problem}" if problem else "",
        )


@asynccontextmanager
async def programs(
    work: Command, *, servers: Sequence[ServerProgram], clients: Sequence[ClientProgram], drain_s: float
) -> AsyncIterator[Programs]:
    """Start the servers, one after the other, each when the one before is ready; all end on every way out.

    drain_s: how long clients may go on after the window.  ProgramError when a server does not get ready.
    """
    async with AsyncExitStack() as owned:
        started = [
            await owned.enter_async_context(
                serving(
                    one.words,
                    one.place,
                    node=one.pid,
                    port=one.asked.ready_port,
                    ready_s=one.asked.ready_s or one.asked.limit_s,
                )
            )
            for one in servers
        ]
        found = Programs(work, clients, started, drain_s=drain_s)
        owned.push_async_callback(found.end)
        yield found
