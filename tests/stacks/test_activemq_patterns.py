"""Queues and requests, by both drivers of a real ActiveMQ."""

from __future__ import annotations

import asyncio

import pytest
from activemq_brokers import Broker, until
from pattern_stories import Stories

from records.messaging import Ack, Delivery
from stacks.activemq.driver import ActiveMQ
from stacks.activemq.openwire import ActiveMQOpenWire
from stacks.driver import StackError, Subscription

pytestmark = [pytest.mark.root, pytest.mark.broker]

BODIES = [b"%d" % number for number in range(40)]


@pytest.fixture(params=["activemq", "activemq-openwire"])
def stories(request: pytest.FixtureRequest, broker: Broker) -> Stories:
    openwire = request.param == "activemq-openwire"
    return Stories(
        ActiveMQOpenWire() if openwire else ActiveMQ(), [broker.openwire if openwire else broker.at], request.param
    )


def test_a_queue_gives_each_message_to_one_receiver(broker: Broker, stories: Stories) -> None:
    async def talk() -> None:
        got = await stories.queue(BODIES)
        assert sorted(got[0] + got[1]) == sorted(BODIES)
        assert all(got)
        assert all(mine == sorted(mine, key=int) for mine in got)
        await stories.close()

    broker.run(talk)


@pytest.mark.parametrize("ack", [Ack.AUTO, Ack.DUPS_OK])
def test_what_a_lost_receiver_has_not_acknowledged_goes_to_another(broker: Broker, stories: Stories, ack: Ack) -> None:
    async def talk() -> None:
        queue = f"{stories.prefix}-lost-{ack}"
        sender = await (await stories.client(f"sender-{ack}")).sender(queue, delivery=Delivery.PERSISTENT)
        for body in BODIES:
            await sender.send(body)
        first, got = await stories.client(f"first-{ack}"), []
        stories.connections.remove(first)
        half = asyncio.Event()

        def lost_at_half(body: bytes, _: bool) -> None:
            got.append(body)
            if len(got) == 20:
                first.abort()
                half.set()

        await first.receive(queue, lost_at_half, subscription=Subscription(prefetch=10), ack=ack)
        await half.wait()
        second, rest = await stories.client(f"second-{ack}"), []
        await second.receive(queue, lambda body, _: rest.append(body), subscription=Subscription(), ack=ack)
        async with asyncio.timeout(120):
            await until(lambda: set(got[:20]) | set(rest) >= set(BODIES[10:]))
        await stories.close()

    broker.run(talk)


def test_every_caller_gets_the_replies_to_its_own_requests(broker: Broker, stories: Stories) -> None:
    async def talk() -> None:
        replies = await stories.calls(BODIES)
        assert replies == [[(b"%d %b" % (number, body))[::-1] for body in BODIES] for number in range(2)]
        await stories.close()

    broker.run(talk)


def test_a_call_over_a_connection_that_ends_fails(broker: Broker, stories: Stories) -> None:
    async def talk() -> None:
        caller_connection = await stories.client("bereaved")
        caller = await caller_connection.caller(f"{stories.prefix}-nobody")
        waiting = asyncio.ensure_future(caller.call(b"anybody?"))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        caller_connection.abort()
        with pytest.raises(StackError):
            await waiting

    broker.run(talk)
