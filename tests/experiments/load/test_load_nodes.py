"""Clients that are killed, and clients that join late, against a real reference server on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from load_runs import MS, alive, consumer, node_plan, producer, warm_fleet, warm_server

from experiments.load.fleet import FleetResult, Member
from experiments.load.protocol import NodePlan

RATE = 100.0
WINDOW_S, KILLED_S, JOINED_S = 1.5, 0.5, 0.7


def plans(folder: Path, port: int) -> list[NodePlan]:
    """sta1 stays, sta2 is for being killed, sta3 joins late; each sends and receives."""
    made = []
    for number, name in enumerate(("sta1", "sta2", "sta3")):
        out = folder / name
        out.mkdir()
        clients = {
            "producers": (producer(number).model_copy(update={"node": name}),),
            "consumers": (consumer(number).model_copy(update={"node": name}),),
        }
        work = {"loop": "open", "rate": RATE}
        made.append(node_plan(out, port, work=work, node=name, late=name == "sta3", **clients))
    return made


class Story:
    """What a run of the three has left."""

    result: FleetResult
    killed_ns: int
    asked_ns: int
    ready_ns: int | None
    go_ns: int
    killed_pid: int
    drained: str

    def __init__(self) -> None:
        self.looks: list[tuple[int, tuple[str, ...]]] = []

    async def under_way(self, stations: Collection[str]) -> int:
        """Less each time that it is asked."""
        self.looks.append((2 - len(self.looks), tuple(sorted(stations))))
        return self.looks[-1][0]

    def received(self, consumer: int) -> np.ndarray:
        table = self.result.delivered
        found: np.ndarray = table.column("t_recv_ns").to_numpy()[table.column("consumer").to_numpy() == consumer]
        return found

    def sent(self, producer: int) -> np.ndarray:
        table = self.result.published
        found: np.ndarray = table.column("t_send_ns").to_numpy()[table.column("producer").to_numpy() == producer]
        return found


async def tell(folder: Path) -> Story:
    story = Story()
    async with warm_server() as port:
        members = [Member(plan=one) for one in plans(folder, port)]
        async with warm_fleet(members, logs=folder) as running:
            await running.ready(timeout_s=120)
            story.killed_pid = running.pids["sta2"]
            story.go_ns = time.monotonic_ns() + 100 * MS
            end_ns = story.go_ns + round(WINDOW_S * 1e9)
            await running.go(go_ns=story.go_ns, start_ns=story.go_ns, end_ns=end_ns)
            await running.until(story.go_ns + round(KILLED_S * 1e9))
            story.killed_ns = await running.kill("sta2")
            await running.until(story.go_ns + round(JOINED_S * 1e9))
            story.asked_ns = time.monotonic_ns()
            running.join("sta3")
            story.drained = (await running.drain(limit_s=20, quiet_s=0.5, under_way=story.under_way)).reason
            story.ready_ns = running.ready_ns("sta3")
            story.result = await running.finish(timeout_s=120)
    return story


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return asyncio.run(tell(tmp_path_factory.mktemp("nodes")))


def test_what_a_killed_client_recorded_is_kept_up_to_its_last_moment(story: Story) -> None:
    done = story.result.nodes["sta2"]
    assert done.killed_ns == story.killed_ns
    for times in (story.sent(1), story.received(1)):
        assert len(times)
        assert times.max() <= story.killed_ns
    assert done.rows == {"published": len(story.sent(1)), "delivered": len(story.received(1))}


def test_a_killed_client_is_gone_and_the_others_go_on(story: Story) -> None:
    assert not alive(story.killed_pid)
    assert story.sent(0).max() > story.killed_ns
    assert story.received(0).max() > story.killed_ns
    assert story.result.lost_connections == ()


def test_a_client_that_joins_late_does_nothing_before(story: Story) -> None:
    assert story.ready_ns is not None
    assert story.ready_ns > story.asked_ns
    assert story.sent(2).min() >= story.ready_ns
    assert story.received(2).min() >= story.asked_ns


def test_what_an_open_loop_would_have_sent_before_it_joined_is_left_out(story: Story) -> None:
    """Else it would send all of it at once."""
    table = story.result.published
    mine = table.column("producer").to_numpy() == 2
    due = table.column("t_sched_ns").to_numpy()[mine]
    assert due.min() >= story.ready_ns
    assert table.column("seq").to_numpy()[mine].tolist() == list(range(len(due)))


def test_the_drain_does_not_wait_for_who_is_gone_but_for_what_is_under_way_to_the_others(story: Story) -> None:
    assert story.drained == "quiet"
    assert [left for left, _ in story.looks] == [2, 1, 0]
    assert {there for _, there in story.looks} == {("sta1", "sta3")}


def test_who_joins_late_and_has_not_connected_at_the_end_has_no_ledger(tmp_path: Path) -> None:
    """And neither has who is killed before it has connected: neither is a failure."""

    async def late() -> FleetResult:
        async with warm_server() as port:
            first, second, third = plans(tmp_path, port)
            members = [Member(plan=one) for one in (first, second.model_copy(update={"late": True}), third)]
            async with warm_fleet(members, logs=tmp_path) as running:
                await running.ready(timeout_s=120)
                go_ns = time.monotonic_ns() + 100 * MS
                await running.go(go_ns=go_ns, start_ns=go_ns, end_ns=go_ns + 300 * MS)
                await running.kill("sta2")
                await running.drain(limit_s=20, quiet_s=0.2)
                return await running.finish(timeout_s=120)

    result = asyncio.run(late())
    assert list(result.nodes) == ["sta1"]
    assert set(result.published.column("producer").to_pylist()) == {0}
