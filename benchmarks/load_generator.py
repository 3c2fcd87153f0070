"""How many messages per second of processor time the load generator carries.

One client process runs a closed loop against the null stack: every message is published, delivered once, and
recorded on both sides.  The peer is the same number of awaits and marker packs in a bare event loop, in the same
run, so that the ratio holds on any machine.  Only processor time is used: other work on the machine does not
count, except that it spoils caches.

    python benchmarks/load_generator.py [--seconds 3] [--repeats 3] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.load.fleet import FleetResult, Member, fleet
from experiments.load.protocol import NodePlan
from records.clients import PubSubClients
from records.manifest import Consumer, Producer
from records.marker import Marker, pack_into
from records.workload import PubSub, Selection

TARGET_PER_CPU_SECOND = 30_000
BODY_BYTES = 100


async def null_run(folder: Path, *, seconds: float) -> FleetResult:
    """A trial of one client process against the null stack."""
    plan = NodePlan(
        node="bench",
        stack="null",
        address="127.0.0.1",
        services=(),
        workload=PubSub(
            clients=PubSubClients(publishers=1, subscribers=1),
            body_bytes=BODY_BYTES,
            selector=Selection(low=0, high=100),
        ),
        producers=(Producer(id=0, node="bench", topic=0),),
        consumers=(Consumer(id=0, node="bench", topic=0),),
        out_dir=str(folder),
    )
    async with fleet([Member(plan=plan)], logs=folder) as running:
        await running.ready(timeout_s=60)
        now = time.monotonic_ns()
        await running.go(go_ns=now, start_ns=now, end_ns=now + round(seconds * 1e9))
        await running.drain(limit_s=60, quiet_s=5)
        return await running.finish(timeout_s=60)


async def peer(count: int) -> float:
    """Processor seconds of `count` marker packs and awaits of a future that is done."""
    answer = asyncio.get_running_loop().create_future()
    answer.set_result(None)
    body = bytearray(BODY_BYTES)
    before = time.process_time()
    for seq in range(count):
        pack_into(body, Marker(0, seq, time.monotonic_ns()))
        await answer
    return time.process_time() - before


def measure(seconds: float) -> dict[str, float]:
    """One run of both."""
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(null_run(Path(folder), seconds=seconds))
    messages, done = result.published.num_rows, result.nodes["bench"]
    assert result.delivered.num_rows == messages == done.acked
    peer_seconds = uvloop.run(peer(messages))
    return {
        "messages": messages,
        "cpu_seconds": done.cpu_seconds,
        "per_cpu_second": messages / done.cpu_seconds,
        "peer_per_cpu_second": messages / peer_seconds,
        "cost_in_peers": done.cpu_seconds / peer_seconds,
        "worst_loop_lag_ms": done.worst_loop_lag_s * 1e3,
    }


def main() -> int:
    """Measure, print, and exit with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    runs = [measure(arguments.seconds) for _ in range(arguments.repeats)]
    median = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    met = median["per_cpu_second"] >= TARGET_PER_CPU_SECOND
    if arguments.json:
        print(json.dumps({"target_per_cpu_second": TARGET_PER_CPU_SECOND, "met": met, "median": median, "runs": runs}))
    else:
        for name, value in median.items():
            print(f"{name:22} {value:14,.2f}   (runs: {', '.join(f'{run[name]:,.2f}' for run in runs)})")
        print(f"target {TARGET_PER_CPU_SECOND:,} messages per processor second: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
