"""The alarm clock never wakes early, and wakes everyone."""

import asyncio
import random
import time
from collections.abc import Coroutine
from typing import Any

import pytest
import uvloop

from experiments.load.clock import alarm_clock

MS = 1_000_000


def run(loop: str, story: Coroutine[Any, Any, None]) -> None:
    if loop == "uvloop":
        uvloop.run(story)
    else:
        asyncio.run(story)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_nobody_wakes_early_and_everybody_wakes(loop: str) -> None:
    async def story() -> None:
        woken: list[int] = []
        early: list[int] = []
        with alarm_clock() as clock:

            async def sleeper(t_ns: int) -> None:
                await clock.sleep_until(t_ns)
                early.append(t_ns - time.monotonic_ns())
                woken.append(t_ns)

            now = time.monotonic_ns()
            times = [now + number * MS // 3 for number in range(-5, 100)]
            random.Random(1).shuffle(times)
            async with asyncio.timeout(120):
                await asyncio.gather(*map(sleeper, times))
        assert max(early) <= 0
        assert sorted(woken) == sorted(times)

    run(loop, story())


def test_a_cancelled_sleeper_does_not_keep_the_next_from_waking() -> None:
    async def story() -> None:
        with alarm_clock() as clock:
            now = time.monotonic_ns()
            first = asyncio.ensure_future(clock.sleep_until(now + 5 * MS))
            second = asyncio.ensure_future(clock.sleep_until(now + 20 * MS))
            await asyncio.sleep(0)
            first.cancel()
            async with asyncio.timeout(120):
                await second

    asyncio.run(story())
