"""The Mosquitto driver against a real broker, in both versions of MQTT."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Literal

import pytest
from here import HERE
from hypothesis import given, settings
from hypothesis import strategies as st
from paho_client import paho_client
from pattern_stories import Stories, until
from stack_servers import Deployed, deployed

from records.messaging import Ack, Delivery
from stacks.driver import StackError, Subscription
from stacks.mosquitto.driver import Mosquitto, MosquittoKnobs

pytestmark = [pytest.mark.root, pytest.mark.broker]

BODIES = [b"%d" % number for number in range(40)]
# Mosquitto refuses control characters and what is no character (MQTT 5, section 1.5.4, lets it).
TOPICS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="+#"), max_size=20)
EXAMPLES = count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    with deployed(Mosquitto(), tmp_path_factory.mktemp("mosquitto")) as running:
        yield running


@pytest.fixture(params=["3.1.1 qos 0", "3.1.1 qos 1", "3.1.1 qos 2", "5 qos 0", "5 qos 1", "5 qos 2"])
def stories(request: pytest.FixtureRequest, broker: Deployed) -> Stories:
    version, _, qos = request.param.split()
    knobs = MosquittoKnobs.model_validate({"version": version, "qos": int(qos), "window": 20})
    return Stories(Mosquitto(knobs), broker.services, request.param.replace(" ", "-"))


def test_a_queue_gives_each_message_to_one_receiver(broker: Deployed, stories: Stories) -> None:
    async def talk() -> None:
        got = await stories.queue(BODIES)
        assert sorted(got[0] + got[1]) == sorted(BODIES)
        assert all(mine == sorted(mine, key=int) for mine in got)
        await stories.close()

    broker.run(talk)


def test_every_member_of_a_group_gets_every_message_in_order(broker: Deployed, stories: Stories) -> None:
    async def talk() -> None:
        bodies = [b"", bytes(range(256)), b"z" * 300_000, *BODIES]
        assert await stories.broadcast(bodies) == [bodies] * 3
        await stories.close()

    broker.run(talk)


@pytest.mark.parametrize("stories", ["5 qos 0", "5 qos 1", "5 qos 2"], indirect=True)
def test_every_caller_gets_the_replies_to_its_own_requests(broker: Deployed, stories: Stories) -> None:
    async def talk() -> None:
        replies = await stories.calls(BODIES)
        assert replies == [[(b"%d %b" % (number, body))[::-1] for body in BODIES] for number in range(2)]
        await stories.close()

    broker.run(talk)


@pytest.mark.parametrize(
    ("stories", "durable", "missed"),
    [("3.1.1 qos 1", True, True), ("5 qos 1", True, True), ("5 qos 2", True, True), ("5 qos 1", False, False)],
    indirect=["stories"],
)
def test_what_a_subscriber_misses_waits_for_it_when_it_is_durable(
    broker: Deployed, stories: Stories, durable: bool, missed: bool
) -> None:
    async def talk() -> None:
        again = await stories.missed(BODIES, durable=durable)
        assert again == [*(BODIES if missed else []), b"after"]
        await stories.close()

    broker.run(talk)


def test_a_client_with_a_name_in_use_takes_it_over(broker: Deployed) -> None:
    """MQTT's rule (section 3.1.4), other than JMS's; 2.0.11 says nothing of why."""
    stories = Stories(Mosquitto(), broker.services, "twice")

    async def talk() -> str | None:
        first = await stories.client("same")
        await first.publisher("t", delivery=Delivery.NONPERSISTENT)
        second = await stories.client("same")
        await second.publisher("t", delivery=Delivery.NONPERSISTENT)
        await until(lambda: first.lost is not None)
        await second.close()
        lost: str | None = first.lost
        return lost

    assert broker.run(talk) == "the server closed the connection"


def test_a_topic_that_is_a_pattern_is_refused(broker: Deployed) -> None:
    stories = Stories(Mosquitto(), broker.services, "pattern")

    async def talk() -> None:
        connection = await stories.client("c")
        with pytest.raises(StackError, match="topic 'a/#': a message goes to one topic"):
            await connection.publisher("a/#", delivery=Delivery.NONPERSISTENT)
        await asyncio.wait_for(stories.close(), 10)

    broker.run(talk)


@settings(max_examples=4)
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("version", ["3.1.1", "5"])
@given(
    topics=st.lists(TOPICS, min_size=1, max_size=3, unique=True),
    bodies=st.lists(st.binary(max_size=300), min_size=1, max_size=10),
)
def test_our_client_and_paho_get_what_either_sends(
    broker: Deployed, version: Literal["3.1.1", "5"], qos: Literal[0, 1, 2], topics: list[str], bodies: list[bytes]
) -> None:
    example = next(EXAMPLES)
    names = [f"{example}/{topic}" for topic in topics]
    sent = [(name, body) for name in names for body in bodies for _ in range(2)]
    ours: list[tuple[str, bytes]] = []

    async def talk() -> list[tuple[str, bytes, int]]:
        stack = Mosquitto(MosquittoKnobs(version=version, qos=qos))
        connection = await stack.connect(HERE, broker.services, f"ours-{example}")
        with paho_client(broker.services[0], f"paho-{example}", 5 if version == "5" else 4) as oracle:
            oracle.subscribe(*((name, qos) for name in names))
            for name in names:
                take = lambda body, _, name=name: ours.append((name, body))  # noqa: E731
                await connection.subscribe(name, take, subscription=Subscription(), ack=Ack.AUTO)
            for name in names:
                publisher = await connection.publisher(name, delivery=Delivery.NONPERSISTENT)
                for body in bodies:
                    await publisher.send(body)
                    oracle.publish(name, body, qos)
            await until(lambda: len(ours) >= len(sent) and len(oracle.got) >= len(sent))
            await connection.close()
        return oracle.got

    theirs = broker.run(talk)
    assert sorted(ours) == sorted(sent)
    assert sorted(theirs) == [(*one, qos) for one in sorted(sent)]
    if qos:  # each was answered before the next was sent, by either
        assert ours == sent
        assert [(name, body) for name, body, _ in theirs] == sent
