"""Which stacks there are, and what they can be asked for."""

import asyncio
from typing import get_type_hints

import pytest
from here import HERE

from experiments.load.pattern import module
from records.messaging import Ack, Delivery, Guarantee
from records.workload import Pattern
from stacks.driver import Endpoint, Selector, Subscription
from stacks.null.driver import Null
from stacks.reference.driver import Reference
from stacks.registry import StackLacksError, UnknownStackError, get, names, require, stacks


def test_every_stack_is_there_under_its_own_name() -> None:
    found = stacks()
    assert tuple(found) == names()
    assert {"activemq", "activemq-openwire", "null", "reference", "reference-peers"} <= set(names())
    assert all(stack.name == name for name, stack in found.items())


def test_an_unknown_stack_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownStackError, match=r"'rabbit' is not one of activemq, .*, reference-peers"):
        get("rabbit")


def test_what_a_stack_offers_may_be_required() -> None:
    require(Reference(), patterns=[Pattern.PUBSUB], guarantees=[Guarantee.DURABLE])


def test_a_missing_guarantee_says_which_stacks_could() -> None:
    with pytest.raises(StackLacksError, match=r"'null' does not offer durable; .*: reference$"):
        require(Null(), guarantees=[Guarantee.DURABLE], others=[Null(), Reference()])


def test_when_no_stack_could_that_is_said() -> None:
    with pytest.raises(StackLacksError, match=r"does not offer persistent; .*: none$"):
        require(Null(), patterns=[Pattern.STREAM], guarantees=[Guarantee.PERSISTENT], others=[Null(), Reference()])


@pytest.mark.parametrize("name", names())
def test_a_stack_that_offers_a_pattern_has_what_the_pattern_takes(name: str) -> None:
    offered = get_type_hints(get(name).connect)["return"]
    lacking = [
        (pattern, kind)
        for pattern in get(name).patterns
        for kind in module(pattern).NEEDS
        if not issubclass(offered, kind)
    ]
    assert lacking == []


def test_the_null_stack_delivers_before_send_returns() -> None:
    async def story() -> None:
        stack, got = Null(), []
        at = Endpoint(host="", port=1)
        consumer, producer = await stack.connect(HERE, [at], "c"), await stack.connect(HERE, [at], "p")
        chosen = Subscription(selector=Selector(low=1, high=2))
        await consumer.subscribe("t", lambda body, _: got.append(body), subscription=chosen, ack=Ack.AUTO)
        publisher = await producer.publisher("t", delivery=Delivery.NONPERSISTENT)
        body = bytearray(b"one")
        answer = publisher.send(body, 1)
        body[:] = b"two"
        assert got == [b"one"]
        await answer
        await publisher.send(body, 2)
        await publisher.send(body)
        assert got == [b"one"]

    asyncio.run(story())
