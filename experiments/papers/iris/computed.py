"""What the study says of ids, ways and trees, by arithmetic and on simulated nodes that run stacks/iris as it is.

    python experiments/papers/iris/computed.py [CASE ...]

Prints a line for each value.  Times are the simulator's, chance is drawn by the seed of the line.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial

from stacks.iris.frames import Kind, Message, Op
from stacks.iris.ids import SPACE, nearest
from stacks.iris.patterns import SPLITS, groups_of
from stacks.iris.simulator import TICK_S, World

SEEDS = range(1, 6)
NODES, MEMBERS = 12, 6  # as of the study's cluster: two clusters of six
MESSAGES = 600
SPEEDS, UNIT = (1, 2, 4), 400  # requests per second of a member whose speed is 1
OURS, OTHER = groups_of("c", "even", SPLITS), groups_of("c", "odd", SPLITS)
TOPIC = groups_of("t", "even", SPLITS)
Value = tuple[str, int | None, float]
"""Metric, seed (None: exact), value."""


class Watched(World):
    """sent: frames with a message of applications, by the node that sent them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.sent = Counter[int]()
        self.on_frame = self._count

    def _count(self, sender: int, _: int, frame: bytes) -> None:
        self.sent[sender] += frame[0] in (Op.BALANCE, Op.FLOOD, Op.DIRECT)


def grown(nodes: int, seed: int) -> Watched:
    """So many nodes, which know what they have to."""
    world = Watched(seed)
    world.grow(nodes, every_s=0.02)
    world.run(3)
    return world


def joined(nodes: int, seed: int, *, splits: int = SPLITS) -> tuple[Watched, list[int], list[int]]:
    """Nodes of which every other one is in a cluster of so many groups: the world, its members, and the others."""
    world = grown(nodes, seed)
    ids = list(world.nodes)
    ours, other = ids[::2], ids[1::2]
    for node in ours:
        world.nodes[node].overlay.trees.join(*OURS[:splits])
    world.run(3)
    world.sent.clear()
    return world, ours, other


def say(world: World, op: Op, kind: Kind, groups: tuple[int, ...], senders: list[int]) -> None:
    """MESSAGES, from each sender in turn to each group in turn; a request has a reply."""
    for number in range(MESSAGES):
        sender = senders[number % len(senders)]
        world.nodes[sender].overlay.send(Message(op, kind, groups[number % len(groups)], sender, number, b"body"))
        world.run(TICK_S / 10)
    world.run(1)
    if kind is Kind.REQUEST:
        for node, one in world.nodes.items():
            for request in [message for message in one.arrivals if message.kind is Kind.REQUEST]:
                reply = Message(Op.DIRECT, Kind.REPLY, request.origin, node, request.number, b"body")
                one.overlay.send(reply)
        world.run(1)


def heard(world: World, kind: Kind) -> Counter[int]:
    """How many messages of a kind each node was given."""
    return Counter({node: sum(m.kind is kind for m in one.arrivals) for node, one in world.nodes.items()})


def collision() -> Iterator[Value]:
    """By the study's formula."""
    nodes = 10_000
    yield "computed_share", None, -math.expm1(-(nodes**2) / (2 * SPACE))


def most_hops(nodes: int, seeds: range) -> Iterator[Value]:
    """The longest of many ways between random nodes and keys, in all worlds."""
    longest = 0
    for seed in seeds:
        world = grown(nodes, seed)
        ids = sorted(world.nodes)
        for _ in range(1000):
            key = world.random.randrange(SPACE)
            found = world.way(world.random.choice(ids), key)
            if found[-1] != nearest(ids, key):
                raise AssertionError(f"seed {seed}: a key of {nodes} nodes ended at another node than its own")
            longest = max(longest, len(found) - 1)
    yield "computed_number", None, float(longest)


def hops(op: Op, kind: Kind, per: tuple[Kind, ...]) -> Iterator[Value]:
    """Frames for each message that arrived, those of kinds `per`."""
    for seed in SEEDS:
        world, _, other = joined(NODES, seed)
        say(world, op, kind, OURS, other)
        arrived = sum(heard(world, one).total() for one in per)
        yield "computed_number", seed, world.sent.total() / arrived


def arrivals(op: Op, kind: Kind) -> Iterator[Value]:
    """How many members were given each message, in all worlds."""
    found = set()
    for seed in SEEDS:
        world, _, other = joined(NODES, seed)
        say(world, op, kind, OURS, other)
        times = Counter(m.number for one in world.nodes.values() for m in one.arrivals if m.kind is kind)
        found |= {times[number] for number in range(MESSAGES)}
    if len(found) != 1:
        raise AssertionError(f"messages were given to {sorted(found)} members, some to more than others")
    yield "computed_number", None, float(found.pop())


def messages_of_a_request() -> Iterator[Value]:
    """What arrives anywhere, by the number of requests."""
    for seed in SEEDS:
        world, _, other = joined(NODES, seed)
        say(world, Op.BALANCE, Kind.REQUEST, OURS, other)
        yield "computed_number", seed, sum(len(one.arrivals) for one in world.nodes.values()) / MESSAGES


def spread(*, by_root: bool) -> Iterator[Value]:
    """Frames of a publish: as it is, from the first member on its way; or, as of Scribe, after it has come to the root.

    Either way every edge of the tree is passed once.
    """
    for seed in SEEDS:
        world, ours, other = joined(64, seed)
        if not by_root:
            say(world, Op.FLOOD, Kind.PUBLISH, OURS, [*ours, *other])
            yield "computed_number", seed, world.sent.total() / MESSAGES
            continue
        frames = 0
        for number in range(MESSAGES):
            group, sender = OURS[number % SPLITS], [*ours, *other][number % 64]
            frames += len(world.way(sender, group)) - 1
            trees = (one.overlay.trees.groups.get(group) for one in world.nodes.values())
            frames += sum(known is not None and known.parent is not None for known in trees)
        yield "computed_number", seed, frames / MESSAGES


def busiest(splits: int) -> Iterator[Value]:
    """The share of all frames of broadcasts that the busiest node passed on, of a cluster of so many groups.

    The first frame of each broadcast is its sender's own.
    """
    for seed in SEEDS:
        world, _, other = joined(NODES, seed, splits=splits)
        say(world, Op.FLOOD, Kind.BROADCAST, OURS[:splits], other)
        passed = world.sent - Counter(other[number % len(other)] for number in range(MESSAGES))
        yield "computed_share", seed, max(passed.values()) / passed.total()


def strangers() -> Iterator[Value]:
    """Messages for a cluster that were given to subscribers of a topic of the same name, and the other way round."""
    crossed = 0
    for seed in SEEDS:
        world, ours, other = joined(NODES, seed)
        for node in other:
            world.nodes[node].overlay.trees.join(*TOPIC)
        world.run(3)
        say(world, Op.FLOOD, Kind.BROADCAST, OURS, [*ours, *other])
        say(world, Op.FLOOD, Kind.PUBLISH, TOPIC, [*ours, *other])
        broadcasts, events = heard(world, Kind.BROADCAST), heard(world, Kind.PUBLISH)
        if broadcasts.total() + events.total() != 2 * MEMBERS * MESSAGES:
            raise AssertionError(f"seed {seed}: {broadcasts} {events}: not every member had every message")
        crossed += sum(broadcasts[node] for node in other) + sum(events[node] for node in ours)
    yield "computed_number", None, float(crossed)


@cache
def shares_by_speed(seed: int) -> tuple[float, ...]:
    """The shares of requests that three members had, of which one is twice and one four times as fast as the first.

    1000 requests per second for three seconds, after two in which nodes learn of each other's capacity.
    """
    world = grown(NODES, seed)
    ids = list(world.nodes)
    members = ids[::4]
    for node, speed in zip(members, SPEEDS, strict=True):
        world.nodes[node].serves = speed * UNIT
        world.nodes[node].overlay.trees.join(*OURS)
    world.run(3)
    before = Counter[int]()
    for number in range(5000):
        if number == 2000:
            before = heard(world, Kind.REQUEST)
        sender = ids[number % NODES]
        message = Message(Op.BALANCE, Kind.REQUEST, OURS[number % SPLITS], sender, number, b"body")
        world.nodes[sender].overlay.send(message)
        world.run(0.001)
    world.run(1)
    got = heard(world, Kind.REQUEST) - before
    return tuple(got[node] / got.total() for node in members)


def served(place: int) -> Iterator[Value]:
    """One of these shares."""
    for seed in SEEDS:
        yield "computed_share", seed, shares_by_speed(seed)[place]


REQUEST, BROADCAST = (Op.BALANCE, Kind.REQUEST), (Op.FLOOD, Kind.BROADCAST)
CASES: dict[str, Callable[[], Iterator[Value]]] = {
    "id-collision": collision,
    "most-hops-12": partial(most_hops, 12, SEEDS),
    "most-hops-64": partial(most_hops, 64, SEEDS),
    "most-hops-256": partial(most_hops, 256, SEEDS[:1]),  # growing one takes seconds
    "hops-of-requests": partial(hops, *REQUEST, (Kind.REQUEST, Kind.REPLY)),
    "hops-of-broadcasts": partial(hops, *BROADCAST, (Kind.BROADCAST,)),
    "members-of-a-request": partial(arrivals, *REQUEST),
    "members-of-a-broadcast": partial(arrivals, *BROADCAST),
    "messages-of-a-request": messages_of_a_request,
    "spread-from-the-first-member": partial(spread, by_root=False),
    "spread-by-the-root": partial(spread, by_root=True),
    "busiest-of-five-groups": partial(busiest, SPLITS),
    "busiest-of-one-group": partial(busiest, 1),
    "cluster-and-topic-of-one-name": strangers,
    **{f"served-by-speed-{speed}": partial(served, place) for place, speed in enumerate(SPEEDS)},
}


def main(names: list[str]) -> None:
    """Print the values of these cases, or of all."""
    if wrong := [name for name in names if name not in CASES]:
        raise SystemExit(f"{wrong[0]!r} is no case: there are {', '.join(CASES)}")
    print("case,metric,seed,value")
    for name in names or CASES:
        for metric, seed, value in CASES[name]():
            print(f"{name},{metric},{'' if seed is None else seed},{value!r}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
