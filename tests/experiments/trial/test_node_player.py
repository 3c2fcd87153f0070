"""When nodes' events are played, by a clock of the test."""

from __future__ import annotations

import asyncio

import pytest

from experiments.trial.nodeplayer import NodePlayer
from records.nodes import NodeEvent

START = 1_000
EVENTS = tuple(
    NodeEvent.model_validate({"at_s": at_s, "node": node, "event": what})
    for at_s, node, what in (
        (3, "sta2", "join"),
        (1, "sta1", "kill"),
        (1, "sta2", "vanish"),
        (2, "sta3", "join"),
    )
)


class World:
    """Time that stands at the latest moment slept until; a kill takes 10 s."""

    def __init__(self, *, fails: str = "") -> None:
        self.t_ns, self._fails = 0, fails
        self.seen: list[tuple[int, str, str]] = []

    async def sleep(self, t_ns: int) -> None:
        while self.t_ns < t_ns:
            await asyncio.sleep(0)

    async def run(self) -> None:
        for _ in range(20):
            self.t_ns += 500_000_000
            for _ in range(5):
                await asyncio.sleep(0)

    async def _do(self, what: str, node: str) -> int:
        if node == self._fails:
            raise RuntimeError(f"{node} does not {what}")
        self.seen.append((self.t_ns, what, node))
        return self.t_ns

    async def kill(self, node: str) -> int:
        moment = await self._do("kill", node)
        await self.sleep(moment + 10**10 // 2)
        return moment

    async def vanish(self, node: str) -> int:
        return await self._do("vanish", node)

    async def join(self, node: str) -> int:
        return await self._do("join", node)

    def ready_ns(self, node: str) -> int | None:
        return 77 if node == "sta3" else None


def played(world: World) -> NodePlayer:
    async def play() -> NodePlayer:
        player = NodePlayer(events=EVENTS, nodes=world, sleep=world.sleep)
        player.start(START)
        await world.run()
        await player.ended()
        return player

    return asyncio.run(play())


def test_every_event_is_played_at_its_moment_though_another_node_takes_its_time() -> None:
    world = World()
    played(world)
    assert [(t_ns // 10**9, what, node) for t_ns, what, node in world.seen] == [
        (1, "kill", "sta1"),
        (1, "vanish", "sta2"),
        (2, "join", "sta3"),
        (3, "join", "sta2"),
    ]


def test_what_has_been_played_is_told_with_its_moment_in_the_order_asked() -> None:
    found = played(World()).changes()
    assert [(one.at_s, one.node, one.event, one.ready_ns) for one in found] == [
        (1, "sta1", "kill", None),
        (1, "sta2", "vanish", None),
        (2, "sta3", "join", 77),
        (3, "sta2", "join", None),
    ]
    assert all(one.t_ns >= START + one.at_s * 1e9 for one in found)


def test_what_cannot_be_done_ends_the_trial_and_is_not_told_as_done() -> None:
    with pytest.raises(RuntimeError, match="sta3 does not join"):
        played(World(fails="sta3"))


def test_a_player_that_is_stopped_plays_no_more() -> None:
    world = World()

    async def play() -> None:
        player = NodePlayer(events=EVENTS, nodes=world, sleep=world.sleep)
        player.start(START)
        await player.stop()
        await world.run()

    asyncio.run(play())
    assert world.seen == []
