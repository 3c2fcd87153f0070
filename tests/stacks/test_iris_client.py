"""An application: how long it waits when it sends to many, and what is known of its requests when they fail."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

import pytest
from iris_nodes import nodes_here, run
from pattern_stories import until

from stacks.driver import StackError, UnansweredError
from stacks.iris import patterns, relay
from stacks.iris.client import FaultError

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


def test_a_request_that_a_member_has_had_is_in_doubt_when_it_fails_and_one_that_nobody_had_is_refused() -> None:
    async def talk() -> None:
        async with nodes_here(2) as world:
            had: list[bytes] = []

            def serve(body: bytes, reply: Callable[[bytes], None]) -> None:
                had.append(body)
                if body == b"answer":
                    reply(b"a reply")

            caller = await world.application(0)
            with pytest.raises(FaultError, match=patterns.NOBODY) as refused:
                await caller.request("c", b"?", 30_000)
            assert not isinstance(refused.value, UnansweredError)
            member = await world.application(1, "c", on_request=serve)
            await until(lambda: len(world.nodes[1].overlay.trees.groups) == 5)
            at, tell = world.nodes[0].patterns, world.nodes[0].patterns._tell
            full = relay.Replied(1, False, True, b"a reply")[1:]
            at._tell = lambda to, message: message[1:] != full and tell(to, message)
            with pytest.raises(UnansweredError, match=patterns.NO_ROOM_FOR_REPLY):
                await caller.request("c", b"answer", 30_000)
            left = caller.request("c", b"do not answer", 30_000)
            await until(lambda: len(had) == 2)
            await member.close()
            with pytest.raises(UnansweredError, match=patterns.MEMBER_LEFT):
                await left

    run(talk)


def test_what_stands_behind_the_end_of_a_connection_is_not_handed_over() -> None:
    async def talk() -> None:
        async with nodes_here(1) as world:
            heard: list[object] = []
            one = await world.application(0, on_broadcast=heard.append, on_tunnel=heard.append)
            said = relay.Broadcasted(b"1"), relay.Closed("enough"), relay.Broadcasted(b"2"), relay.TunnelOffered(1, 1)
            one.data_received(b"".join(map(relay.encode, said)))
            assert heard == [b"1"]
            assert one.lost == "the node ends the connection: enough"

    run(talk)
