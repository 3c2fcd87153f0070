"""What it costs to start a trial's clients: forked off one process, against a process of its own for each.

    python benchmarks/client_start.py [--clients N] [--repeat N]

Both kinds connect a producer and two consumers to the reference server on loopback; their time and processor time is
that from the first start until all are ready.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import psutil

from experiments.load.fleet import Member, fleet
from experiments.load.protocol import NodePlan, ServiceAt, read_event
from experiments.workers.lines import line
from records.manifest import Consumer, Producer

HOST = "127.0.0.1"
READY_S = 120.0
_WORK = {"clients": {"publishers": 2, "subscribers": 2, "topics": 2}, "body_bytes": 100}


def plan_of(number: int, port: int, folder: Path) -> NodePlan:
    """The plan of the client of a node."""
    return NodePlan(
        node=f"sta{number}",
        stack="reference",
        address=HOST,
        services=(ServiceAt(service="reference", node="server", host=HOST, port=port),),
        producers=(Producer(id=number, node=f"sta{number}", topic=0),),
        consumers=tuple(Consumer(id=2 * number + one, node=f"sta{number}", topic=0) for one in range(2)),
        workload=_WORK,
        out_dir=str(folder),
    )


def used_s() -> float:
    """CPU-seconds of this process's children, those that live included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = sum(sum(one.cpu_times()[:2]) for one in psutil.Process().children(recursive=True))
    return ended.ru_utime + ended.ru_stime + alive


async def forked(plans: list[NodePlan], folder: Path) -> None:
    """As a trial does it."""
    async with fleet([Member(plan=one) for one in plans], logs=folder) as clients:
        await clients.ready(timeout_s=READY_S)
        _SEEN.append((time.perf_counter(), used_s()))


async def started(plans: list[NodePlan], folder: Path) -> None:  # noqa: ARG001 - called like forked
    """A process for each."""
    async with AsyncExitStack() as owned:
        processes = []
        for plan in plans:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "experiments.load.client"),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            owned.push_async_callback(process.wait)
            owned.callback(process.kill)
            assert process.stdin
            process.stdin.write(line(plan))
            processes.append(process)
        for process in processes:
            assert process.stdout
            said = read_event(await asyncio.wait_for(process.stdout.readline(), READY_S))
            assert said.event == "ready", said
        _SEEN.append((time.perf_counter(), used_s()))


_SEEN: list[tuple[float, float]] = []


async def cost(way: Callable[[list[NodePlan], Path], Awaitable[None]], number: int) -> tuple[float, float]:
    """Seconds and CPU-seconds until so many clients are ready."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stacks.reference", "--host", HOST, "--port", "0"), stdout=subprocess.PIPE
    )
    try:
        assert server.stdout
        port = read_port(await server.stdout.readline())
        with tempfile.TemporaryDirectory() as name:
            plans = [plan_of(one, port, Path(name)) for one in range(number)]
            began, before = time.perf_counter(), used_s()
            await way(plans, Path(name))
            ended, after = _SEEN.pop()
    finally:
        server.kill()
        await server.wait()
    return ended - began, after - before


def read_port(text: bytes) -> int:
    """Where the reference server listens."""
    return int(json.loads(text)["listening"])


def main() -> None:
    """Print both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=11)
    parser.add_argument("--repeat", type=int, default=5)
    wanted = parser.parse_args()
    os.chdir(Path(__file__).parents[1])
    costs: dict[str, list[tuple[float, float]]] = {"forked": [], "started": []}
    for _ in range(wanted.repeat):
        for name, way in (("forked", forked), ("started", started)):
            costs[name].append(asyncio.run(cost(way, wanted.clients)))
    for name, found in costs.items():
        print(f"{name:8} {wanted.clients} clients ready after", told([s for s, _ in found], "s"), end=", ")
        print("processor time", told([cpu for _, cpu in found], "s"))
    ratios = [ours[1] / theirs[1] for ours, theirs in zip(costs["forked"], costs["started"], strict=True)]
    print("processor time, forked to started:", told(ratios, "times"))


def told(values: list[float], unit: str) -> str:
    """The median of some runs, and how far they reach."""
    return f"{statistics.median(values):.2f} {unit} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
