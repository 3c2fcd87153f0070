"""Client processes and the reference broker collect no garbage while they load, answer and drain."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from collections_seen import noting, seen
from load_runs import MS, consumer, node_plan, reference_server

from experiments.load.fleet import Member, fleet
from experiments.load.nursery import PROCESS

BROKER = "stacks.reference"


def test_nobody_collects_garbage_from_ready_to_the_end_of_the_drain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in noting(tmp_path / "collections").items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)

    async def story() -> tuple[int, int, int]:
        async with reference_server() as port:
            listening_ns = time.monotonic_ns()
            # So many connections are more than the youngest generation waits for, in either process.
            plan = node_plan(tmp_path, port, consumers=tuple(consumer(number) for number in range(150)))
            async with fleet([Member(plan=plan)], logs=tmp_path, progress=lambda _: None) as running:
                await running.ready(timeout_s=120)
                ready_ns = time.monotonic_ns()
                go_ns = ready_ns + 100 * MS
                await running.go(go_ns=go_ns, start_ns=go_ns, end_ns=go_ns + 300 * MS)
                drained = await running.drain(limit_s=20, quiet_s=0.5)
                await running.finish(timeout_s=120)
        return listening_ns, ready_ns, drained.drained_ns

    listening_ns, ready_ns, drained_ns = asyncio.run(story())
    found = seen(tmp_path / "collections")
    for module in (PROCESS, BROKER):
        assert any(one.of(module) for one in found), "each does so while it starts, or this test shows nothing"
    assert [one for one in found if one.of(PROCESS) and one.ended_ns > ready_ns and one.began_ns < drained_ns] == []
    assert [one for one in found if one.of(BROKER) and one.ended_ns > listening_ns] == []
