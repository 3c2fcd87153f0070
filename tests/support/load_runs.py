"""Whole runs of the load generator against a real reference server on loopback, for the tests of the load."""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import warm

from experiments.load.fleet import Drained, Fleet, FleetProgress, FleetResult, Member, fleet
from experiments.load.protocol import NodePlan, ServiceAt
from experiments.scenario.settings import Settings
from experiments.trial.plan import node_plans, workload
from records.audience import audiences
from records.ledger import Reconciliation, reconcile
from records.manifest import Consumer, Producer
from stacks.driver import Endpoint

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = "127.0.0.1"
MS = 1_000_000


@asynccontextmanager
async def reference_server(*faults: str) -> AsyncIterator[int]:
    """The port of a server process that is killed on the way out."""
    words = [word for fault in faults for word in ("--fault", fault)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stacks.reference", "--host", LOOPBACK, "--port", "0", *words),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        yield json.loads(await asyncio.wait_for(process.stdout.readline(), 120))["listening"]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def warm_server(*faults: str) -> AsyncIterator[int]:
    """The same, without the time that its imports take."""
    ours, its = socket.socketpair()
    words = [word for fault in faults for word in ("--fault", fault)]
    with its, Path(os.devnull).open("rb") as nothing:
        streams = nothing.fileno(), its.fileno(), sys.__stderr__.fileno()
        process = warm.start("stacks.reference", "--host", LOOPBACK, "--port", "0", *words, streams=streams)
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        yield json.loads(await asyncio.wait_for(reader.readline(), 120))["listening"]
    finally:
        writer.close()
        process.kill()
        await process.wait()


@asynccontextmanager
async def warm_fleet(members: Sequence[Member], **more: Any) -> AsyncIterator[Fleet]:
    """A fleet whose clients are forked off a nursery that is forked itself."""
    with warm.nurseries():
        async with fleet(members, **more) as running:
            yield running


def producer(number: int, topic: int = 0) -> Producer:
    return Producer(id=number, node="sta1", topic=topic)


def consumer(number: int, topic: int = 0, **more: Any) -> Consumer:
    return Consumer(id=number, node="sta1", topic=topic, **more)


def service_at(port: int) -> ServiceAt:
    return ServiceAt(service="reference", node="server", host=LOOPBACK, port=port)


def node_plan(folder: Path, port: int, work: Mapping[str, Any] | None = None, **more: Any) -> NodePlan:
    """One producer and two consumers of one topic on the reference broker, unless `more` says otherwise.

    work: what the workload says beside its clients, of whom only the number of topics matters here: two.
    """
    settings: dict[str, Any] = {
        "node": "sta1",
        "stack": "reference",
        "address": LOOPBACK,
        "services": (service_at(port),),
        "producers": (producer(0),),
        "consumers": (consumer(0), consumer(1)),
        "workload": {"clients": {"publishers": 2, "subscribers": 2, "topics": 2}, "body_bytes": 100} | dict(work or {}),
        "out_dir": str(folder),
    }
    return NodePlan(**(settings | more))


def cell_plans(folder: Path, port: int, cell: Settings) -> list[NodePlan]:
    """One client process for each of two stations, with a folder for its ledger."""
    names, at = ["sta1", "sta2"], service_at(port)
    made = node_plans(
        cell,
        workload(cell, names),
        addresses=dict.fromkeys(names, LOOPBACK),
        services=[Endpoint(host=at.host, port=at.port, service=at.service, node=at.node)],
        seed=1,
        out_dir=lambda node: folder / node,
    )
    for one in made:
        Path(one.out_dir).mkdir()
    return list(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    plans: Sequence[NodePlan]
    result: FleetResult
    drained: Drained
    progress: list[FleetProgress]
    end_ns: int

    def reconciled(self) -> Reconciliation:
        consumers = [one for plan in self.plans for one in plan.consumers]
        work = self.plans[0].workload
        them = audiences(consumers, share=work.shared, undivided=work.undivided)
        return reconcile(self.result.published, self.result.delivered, them)

    def longest_silence_s(self) -> float:
        """The longest time between two arrivals at one consumer."""
        silences = [0.0]
        for number in {one.id for plan in self.plans for one in plan.consumers}:
            mine = self.result.delivered.column("consumer").to_numpy() == number
            times = self.result.delivered.column("t_recv_ns").to_numpy()[mine]
            silences.append(float(np.diff(times).max(initial=0)) / 1e9)
        return max(silences)


async def run(
    plans: Sequence[NodePlan], *, window_s: float = 0.5, quiet_s: float = 0.5, limit_s: float = 20.0
) -> Outcome:
    """A whole trial of these plans: ready, go, drain, finish."""
    progress: list[FleetProgress] = []
    members = [Member(plan=plan) for plan in plans]
    async with warm_fleet(members, logs=Path(plans[0].out_dir), progress=progress.append) as running:
        await running.ready(timeout_s=120)
        go_ns = time.monotonic_ns() + 100 * MS
        end_ns = go_ns + round(window_s * 1e9)
        await running.go(go_ns=go_ns, start_ns=go_ns, end_ns=end_ns)
        drained = await running.drain(limit_s=limit_s, quiet_s=quiet_s)
        result = await running.finish(timeout_s=120)
    return Outcome(plans=plans, result=result, drained=drained, progress=progress, end_ns=end_ns)


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
