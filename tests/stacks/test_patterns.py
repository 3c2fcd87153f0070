"""Queues, requests, broadcasts and streams: every stack keeps what it offers, and each fault breaks one promise."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from pattern_stories import Stories, until, whole_streams
from reference_servers import server_here

from records.messaging import Ack, Delivery
from records.workload import MESSAGE_PATTERNS
from stacks import registry
from stacks.driver import StackError, Subscription, UnansweredError
from stacks.null.driver import Null
from stacks.reference.driver import Reference
from stacks.reference.faults import Faults

BODIES = [b"%d" % number for number in range(40)]


def told(story: Callable[[Stories], Awaitable[None]], *, of: str = "reference", faults: Faults | None = None) -> None:
    """Run a story against the reference broker, or the null stack."""

    async def run() -> None:
        async with asyncio.timeout(60):
            if of == "null":
                await story(Stories(Null()))
                return
            async with server_here(faults) as at:
                stories = Stories(Reference(), [at])
                await story(stories)
                await stories.close()

    asyncio.run(run())


BOTH = pytest.mark.parametrize("stack", ["null", "reference"])


@BOTH
def test_every_pattern_of_messages_is_offered(stack: str) -> None:
    assert registry.get(stack).patterns == MESSAGE_PATTERNS


@BOTH
def test_a_queue_gives_each_message_to_one_receiver_in_turn(stack: str) -> None:
    async def story(stories: Stories) -> None:
        got = await stories.queue(BODIES)
        assert sorted(got[0] + got[1]) == sorted(BODIES)
        assert [len(mine) for mine in got] == [20, 20]
        assert all(mine == sorted(mine, key=int) for mine in got)

    told(story, of=stack)


@BOTH
def test_every_caller_gets_the_replies_to_its_own_requests(stack: str) -> None:
    async def story(stories: Stories) -> None:
        replies = await stories.calls(BODIES)
        assert replies == [[(b"%d %b" % (number, body))[::-1] for body in BODIES] for number in range(2)]

    told(story, of=stack)


@BOTH
def test_every_member_gets_every_broadcast(stack: str) -> None:
    async def story(stories: Stories) -> None:
        assert await stories.broadcast(BODIES) == [BODIES] * 3

    told(story, of=stack)


@BOTH
def test_a_stream_arrives_once_and_in_order(stack: str) -> None:
    async def story(stories: Stories) -> None:
        assert await stories.stream(BODIES) == BODIES

    told(story, of=stack)


@BOTH
def test_streams_into_one_address_have_one_receiver_each_in_turn(stack: str) -> None:
    async def story(stories: Stories) -> None:
        heard = whole_streams(await stories.streams(BODIES), BODIES)
        assert sorted(map(sorted, heard)) == [[0, 2], [1, 3]]

    told(story, of=stack)


def test_what_a_queue_holds_waits_for_a_receiver_and_goes_to_another_when_one_leaves() -> None:
    async def story(stories: Stories) -> None:
        sender = await (await stories.client("sender")).sender("q", delivery=Delivery.NONPERSISTENT)
        for body in BODIES:
            await sender.send(body)
        first, got = await stories.client("first"), []
        stories.connections.remove(first)

        def leave_at_ten(body: bytes, _: bool) -> None:
            got.append(body)
            if len(got) == 10:
                first.abort()

        with suppress(StackError):  # its own end may come before the answer
            await first.receive("q", leave_at_ten, subscription=Subscription(), ack=Ack.AUTO)
        second, rest = await stories.client("second"), []
        await second.receive(
            "q", lambda body, again: rest.append((body, again)), subscription=Subscription(), ack=Ack.AUTO
        )
        await until(lambda: len({*got, *(body for body, _ in rest)}) == len(BODIES))
        assert [body for body, _ in rest] == BODIES[-len(rest) :]
        assert len(rest) >= len(BODIES) - 10
        assert rest[0][1]  # it had been sent to the first

    told(story)


def test_a_request_to_nobody_is_refused_and_one_whose_server_leaves_stays_unanswered() -> None:
    async def story(stories: Stories) -> None:
        caller = await (await stories.client("caller")).caller("s")
        with pytest.raises(StackError, match="nobody serves service/s") as refused:
            await caller.call(b"anybody?")
        assert not isinstance(refused.value, UnansweredError)
        server = await stories.client("server")
        await server.serve("s", lambda *_: server.abort())
        with pytest.raises(UnansweredError, match="the server of service/s has gone"):  # it may have been served
            await caller.call(b"you there?")
        stories.connections.remove(server)

    told(story)


def test_the_fault_double_gives_a_message_to_two_receivers() -> None:
    async def story(stories: Stories) -> None:
        got = await stories.queue(BODIES)
        await asyncio.sleep(0.1)
        copies = Counter(got[0] + got[1])
        assert {body for body, count in copies.items() if count == 2} == set(BODIES[9::10])
        assert len(copies) == len(BODIES)

    told(story, faults=Faults(double=10))


def test_the_fault_misreply_gives_replies_to_the_wrong_caller() -> None:
    async def story(stories: Stories) -> None:
        replies = await stories.calls(BODIES)
        strangers = [reply for number in range(2) for reply in replies[number] if not reply.endswith(b" %d" % number)]
        assert len(strangers) >= 2  # each mistake hands two replies to the wrong caller
        assert sorted(replies[0] + replies[1]) == sorted((b"%d %b" % (n, b))[::-1] for n in range(2) for b in BODIES)

    told(story, faults=Faults(misreply=10))


def test_the_fault_cross_gives_replies_to_another_request_of_the_same_caller() -> None:
    async def story(stories: Stories) -> None:
        replies = await stories.calls(BODIES)
        for number in range(2):
            own = [(b"%d %b" % (number, body))[::-1] for body in BODIES]
            assert sorted(replies[number]) == sorted(own)
            assert sum(reply != mine for reply, mine in zip(replies[number], own, strict=True)) >= 2

    told(story, faults=Faults(cross=10))


def test_the_fault_omit_leaves_the_last_member_out() -> None:
    async def story(stories: Stories) -> None:
        got = await stories.broadcast(BODIES, wanted=3 * len(BODIES) - 4)
        assert got[:2] == [BODIES] * 2
        assert got[2] == [body for number, body in enumerate(BODIES, 1) if number % 10]

    told(story, faults=Faults(omit=10))


def test_the_fault_swap_changes_the_order_of_a_stream_alone() -> None:
    async def story(stories: Stories) -> None:
        got = await stories.stream(BODIES)
        assert sorted(got, key=int) == BODIES
        assert got != BODIES
        assert await stories.broadcast(BODIES) == [BODIES] * 3

    told(story, faults=Faults(swap=10))
