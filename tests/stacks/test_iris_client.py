"""An application that sends to many: how long it waits, and what becomes of who waits when that ends."""

from __future__ import annotations

import asyncio
import gc

import pytest
from iris_nodes import nodes_here, run
from pattern_stories import until

from stacks.driver import StackError

SAY = pytest.mark.parametrize("say", ["broadcast", "publish"])


@SAY
def test_who_does_not_wait_for_room_any_longer_ends_it_for_nobody_else(say: str) -> None:
    async def talk() -> None:
        async with nodes_here(1) as world:
            one = await world.application(0)

            async def said() -> None:
                await getattr(one, say)("c", b"x")

            one.pause_writing()  # as asyncio does when the node takes less than is said
            before = asyncio.create_task(said())
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await said()
            later = asyncio.create_task(said())
            await asyncio.sleep(0.01)
            assert (before.done(), later.done()) == (False, False)
            one.resume_writing()
            await asyncio.gather(before, later)
            await said()

    run(talk)


@SAY
def test_a_connection_that_is_lost_ends_the_waiting_and_is_no_news_to_who_does_not_wait(say: str) -> None:
    errors: list[object] = []

    async def talk() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with nodes_here(1) as world:
            one = await world.application(0)
            one.pause_writing()
            waits = getattr(one, say)("c", b"x")
            getattr(one, say)("c", b"x")
            world.nodes[0].close()
            with pytest.raises(StackError, match="connection"):
                await waits
            await until(lambda: one.over is not None)

    run(talk)
    gc.collect()
    assert not errors
