"""Subscribers that are cut off and come back, against a real reference server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from load_runs import Outcome, consumer, node_plan, run, warm_server

from experiments.scenario.settings import Settings
from records.nodes import Absence
from records.workload import Away

AWAY = Away(at_s=0.3, lasts_s=0.4)
RATE = 100.0


def trial(folder: Path, *, durable: bool) -> Outcome:
    async def story() -> Outcome:
        async with warm_server() as port:
            plan = node_plan(
                folder,
                port,
                consumers=(consumer(0, durable=durable), consumer(1, durable=durable)),
                work={"loop": "open", "rate": RATE, "away": AWAY},
            )
            # Without durability the drain waits in vain for what was missed.
            return await run([plan], window_s=1.2, limit_s=20.0 if durable else 2.0)

    return asyncio.run(story())


def absences(outcome: Outcome) -> list[Absence]:
    told = outcome.result.nodes["sta1"].absences
    assert sorted(told) == [0, 1]
    assert all(len(some) == 1 for some in told.values())
    return [some[0] for some in told.values()]


@pytest.mark.root
def test_a_durable_subscriber_gets_what_it_missed(tmp_path: Path) -> None:
    outcome = trial(tmp_path, durable=True)
    counted = outcome.reconciled()
    assert counted.closes
    assert (counted.lost, counted.in_doubt) == (0, 0)
    assert outcome.longest_silence_s() > 0.9 * AWAY.lasts_s


@pytest.mark.root
def test_what_another_misses_is_lost(tmp_path: Path) -> None:
    outcome = trial(tmp_path, durable=False)
    counted = outcome.reconciled()
    assert counted.closes
    assert counted.lost >= 2 * RATE * AWAY.lasts_s * 0.8
    arrived = outcome.result.delivered.column("t_recv_ns").to_numpy()
    for one in absences(outcome):
        assert one.back_ns is not None
        assert not np.any((arrived > one.left_ns) & (arrived < one.due_ns))
        assert np.any(arrived > one.back_ns)


@pytest.mark.root
def test_going_away_is_no_lost_connection_and_each_connection_has_its_port(tmp_path: Path) -> None:
    outcome = trial(tmp_path, durable=True)
    done = outcome.result.nodes["sta1"]
    assert done.lost_connections == ()
    assert [len({one.port for one in sockets}) for sockets in done.consumer_sockets.values()] == [2, 2]
    for one in absences(outcome):
        assert one.back_ns is not None
        assert one.left_ns < one.due_ns <= one.back_ns
        assert (one.due_ns - one.left_ns) / 1e9 <= AWAY.lasts_s


def test_whoever_comes_back_after_the_window_is_refused() -> None:
    workload = {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100, "away": {"at_s": 6, "lasts_s": 4}}
    with pytest.raises(ValueError, match=r"subscribers would come back 10 s into the window, which lasts 10 s"):
        Settings.model_validate({"scenario": "x", "network": "wireline-100m", "workload": workload})
