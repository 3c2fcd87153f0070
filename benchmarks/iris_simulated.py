"""Iris on simulated nodes, which run stacks/iris as it is: what they say without load, and how many there may be.

    python benchmarks/iris_simulated.py air [--nodes 12] [--network nistnet-80211] [--subnet-bits 16] [--seconds S]
    python benchmarks/iris_simulated.py keys [--nodes 1000] [--keys 10000] [--seed 1]

`air`: bytes by kind on the wire of an idle, converged overlay whose nodes have found each other by a scan, and their
share of a medium's air, which each frame crosses twice.  Exit status 1 when looking for nodes takes 1 % or more.

`keys`: an overlay is grown node by node, then keys are routed from random nodes.  Exit status 1 when one ends at a node
other than the closest, or takes more than ceil(log16 n) + 1 hops.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from iris_bench.wire import ARP, BOOTSTRAP, idle

from emulation.profile import library
from stacks.iris.ids import SPACE, nearest
from stacks.iris.simulator import World

MOST_OF_THE_AIR = 0.01
GROWS_EVERY_S, SETTLES_S = 0.02, 3.0


def main() -> int:
    """Print, and exit with 1 when a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    of = parser.add_subparsers(dest="what", required=True)
    asked = of.add_parser("air")
    asked.add_argument("--nodes", type=int, default=12)
    asked.add_argument("--network", default="nistnet-80211")
    asked.add_argument("--subnet-bits", type=int, default=16)
    asked.add_argument("--seconds", type=float, default=600.0)
    asked = of.add_parser("keys")
    asked.add_argument("--nodes", type=int, default=1000)
    asked.add_argument("--keys", type=int, default=10_000)
    asked.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.what == "air":
        return air(given.network, nodes=given.nodes, subnet_bits=given.subnet_bits, seconds=given.seconds)
    return keys(nodes=given.nodes, number=given.keys, seed=given.seed)


def air(network: str, *, nodes: int, subnet_bits: int, seconds: float) -> int:
    """A row for each kind of frame."""
    medium = library.load(network).uplink
    if medium.rate is None:
        raise SystemExit(f"{network} has no rate, so nothing is a share of its air")
    wire = idle(nodes, subnet_bits=subnet_bits, seconds=seconds, seed=1)
    share = {
        kind: wire.air(kind, rate=medium.rate, overhead=medium.frame_overhead) / seconds for kind in sorted(wire.frames)
    }
    print("| kind | frames/s | bytes/s | of the air |\n|---|---:|---:|---:|")
    for kind, part in share.items():
        print(f"| {kind} | {wire.frames[kind] / seconds:.1f} | {wire.bytes[kind] / seconds:,.0f} | {part:.2%} |")
    return int(share.get(BOOTSTRAP, 0) + share.get(ARP, 0) >= MOST_OF_THE_AIR)


def keys(*, nodes: int, number: int, seed: int) -> int:
    """Where keys end, how many hops they take, and what growing such a world costs."""
    began = time.process_time()
    world = World(seed)
    world.grow(nodes, every_s=GROWS_EVERY_S)
    world.run(SETTLES_S)
    grown_s = time.process_time() - began
    ids, hops, wrong = sorted(world.nodes), Counter[int](), 0
    for _ in range(number):
        key = world.random.randrange(SPACE)
        way = world.way(world.random.choice(ids), key)
        hops[len(way) - 1] += 1
        wrong += way[-1] != nearest(ids, key)
    most, memory_mb = math.ceil(math.log(nodes, 16)) + 1, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    mean = sum(one * times for one, times in hops.items()) / number
    print(f"{nodes} nodes: grown in {grown_s:.1f} s of processor time, {memory_mb:.0f} MB at most")
    print(f"{number} keys: {wrong} at another node than the closest; hops {mean:.2f}, at most {max(hops)} of {most}")
    return int(wrong > 0 or max(hops) > most)


if __name__ == "__main__":
    sys.exit(main())
