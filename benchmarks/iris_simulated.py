"""Iris on simulated nodes, which run stacks/iris as it is: what they say without load, and how many there may be.

    python benchmarks/iris_simulated.py air [--nodes 12] [--network nistnet-80211] [--subnet-bits 16] [--seconds S]
    python benchmarks/iris_simulated.py keys [--nodes 1000] [--keys 10000] [--seed 1]
    python benchmarks/iris_simulated.py shares [--members 6] [--per-member 9] [--seconds 30] [--worlds 20]

`air`: bytes by kind on the wire of an idle, converged overlay whose nodes have found each other by a scan, and their
share of a medium's air, which each frame crosses twice.  Exit status 1 when looking for nodes takes 1 % or more.

`keys`: an overlay is grown node by node, then keys are routed from random nodes.  Exit status 1 when one ends at a node
other than the closest, or takes more than ceil(log16 n) + 1 hops.

`shares`: requests to a cluster of equal members on nodes of their own, and what share of an equal one each has had.
First every node sees the load of its own machine, which needs all of it for four times as many requests, then all see
the same load, as nodes do that share a machine.
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
from stacks.iris.frames import Kind, Message, Op
from stacks.iris.ids import SPACE, nearest
from stacks.iris.patterns import SPLITS, groups_of
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
    asked = of.add_parser("shares")
    asked.add_argument("--members", type=int, default=6)
    asked.add_argument("--per-member", type=float, default=9.0)
    asked.add_argument("--seconds", type=float, default=30.0)
    asked.add_argument("--worlds", type=int, default=20)
    given = parser.parse_args()
    if given.what == "shares":
        return shares(members=given.members, per_s=given.per_member, seconds=given.seconds, worlds=given.worlds)
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


def shares(*, members: int, per_s: float, seconds: float, worlds: int) -> int:
    """The range of shares over all members and worlds, and how far they are from an equal one in the mean."""
    for what, serves in (("of its own machine", 4 * per_s), ("of one machine, for all", None)):
        found = [share for seed in range(worlds) for share in _shares(seed, members, per_s, seconds, serves)]
        off = sum(abs(share - 1) for share in found) / len(found)
        print(f"load {what}: {min(found):.2f} to {max(found):.2f} of an equal share, off by {off:.2f} in the mean")
    return 0


def _shares(seed: int, members: int, per_s: float, seconds: float, serves: float | None) -> list[float]:
    world = World(seed)
    world.grow(members, every_s=GROWS_EVERY_S)
    world.run(SETTLES_S)
    ids, groups = list(world.nodes), groups_of("c", "services", SPLITS)
    for node in world.nodes.values():
        node.serves = serves
        node.overlay.trees.join(*groups)
    world.run(SETTLES_S)
    for number in range(round(members * per_s * seconds)):
        sender = ids[number % members]
        message = Message(Op.BALANCE, Kind.REQUEST, groups[number % SPLITS], sender, number, b"body")
        world.nodes[sender].overlay.send(message)
        world.run(1 / (members * per_s))
    got = [len(node.arrivals) for node in world.nodes.values()]
    return [one * members / sum(got) for one in got]


if __name__ == "__main__":
    sys.exit(main())
