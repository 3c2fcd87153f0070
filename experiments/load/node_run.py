"""A node's run from go to stop: producers publish, progress is told, the generator watches itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from experiments.load.clock import Clock
from experiments.load.connecting import Clients
from experiments.load.ledger import Ledger
from experiments.load.owner import say
from experiments.load.protocol import NodePlan, Times
from experiments.load.publishing import Lateness, Producer
from experiments.load.recording import PublishedLog
from experiments.load.roaming import roam
from experiments.load.schedule import bodies, properties, schedule_from

PROGRESS_NS, DRAIN_PROGRESS_NS = 1_000_000_000, 100_000_000
# How often the generator checks that its own timers are on time.
BEAT_NS = 50_000_000


@dataclass(slots=True)
class Own:
    """What the generator knows about itself.  cpu_seconds: from go to the end of the window."""

    lateness: Lateness = field(default_factory=Lateness)
    lag: Lateness = field(default_factory=Lateness)
    cpu_seconds: float = 0.0


def producers(*, ledger: Ledger, clients: Clients, clock: Clock, own: Own) -> list[Producer]:
    """The plan's producers, ready to send, each with its log in the ledger."""
    made = []
    plan = ledger.plan
    upper = plan.selection.of if plan.selection else None
    for one in plan.producers:
        connection, publisher = clients.publishers[one.id]
        log = PublishedLog(producer=one.id, topic=one.topic, wanted=plan.selection)
        ledger.published.append(log)
        made.append(
            Producer(
                id=one.id,
                connection=connection,
                publisher=publisher,
                log=log,
                bodies=bodies(plan.workload.sizes, producer=one.id, seed=plan.seed),
                properties=properties(upper=upper, producer=one.id, seed=plan.seed),
                clock=clock,
                lateness=own.lateness,
            )
        )
    return made


async def run_node(
    stop: asyncio.Future[bytes],
    *,
    ledger: Ledger,
    clients: Clients,
    clock: Clock,
    ready: list[Producer],
    times: Times,
    since_ns: int,
    own: Own,
) -> None:
    """Run until `stop` is done; messages that are not answered by then stay in doubt.

    since_ns: when the clients had connected; of a node that joins late, this is after go.
    """
    own.lateness.since_ns = own.lag.since_ns = max(times.start_ns, since_ns)
    begin_ns = max(times.go_ns, since_ns)
    jobs = [_publish(ledger.plan, producer, times, begin_ns) for producer in ready]
    jobs += [_report(ledger, clients, clock, times, begin_ns), _watch(own, clock, times, begin_ns)]
    jobs.append(roam(ledger.plan, clients, clock, times))
    async with _background(jobs) as running:
        pending: set[asyncio.Future[Any]] = {stop, *running}
        while not stop.done():
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for job in done:
                job.result()
    for producer in ready:
        producer.abandon()


async def _publish(plan: NodePlan, producer: Producer, times: Times, begin_ns: int) -> None:
    """What an open loop should have sent before it was there is left out, as its producer was not there."""
    work = plan.workload
    if work.loop == "closed":
        await producer.clock.sleep_until(begin_ns)
        await producer.closed_loop(end_ns=times.end_ns, in_flight=work.in_flight, bursts=work.bursts)
        return
    window_s = ((times.start_ns - times.go_ns) / 1e9, (times.end_ns - times.go_ns) / 1e9)
    mine = await schedule_from(
        work, producer=producer.id, seed=plan.seed, window_s=window_s, since_ns=begin_ns - times.go_ns
    )
    await producer.open_loop(go_ns=times.go_ns, end_ns=times.end_ns, schedule=mine)


async def _report(ledger: Ledger, clients: Clients, clock: Clock, times: Times, begin_ns: int) -> None:
    due = begin_ns
    while True:
        due = min(due + PROGRESS_NS, times.end_ns) if due < times.end_ns else due + DRAIN_PROGRESS_NS
        await clock.sleep_until(due)
        say(ledger.progress(t_ns=clock.now_ns(), lost=clients.lost()))


async def _watch(own: Own, clock: Clock, times: Times, begin_ns: int) -> None:
    await clock.sleep_until(begin_ns)
    before, due = time.process_time(), begin_ns
    while due < times.end_ns:
        due = min(due + BEAT_NS, times.end_ns)
        await clock.sleep_until(due)
        own.lag.observe(due, clock.now_ns())
    own.cpu_seconds = time.process_time() - before


@asynccontextmanager
async def _background(jobs: list[Coroutine[Any, Any, None]]) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
