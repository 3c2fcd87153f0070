"""What JMS promises, kept by both drivers of a real broker."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from activemq_brokers import Broker, quiet, until
from activemq_clients import Clients, Got, numbered, wanted
from here import HERE

from experiments.conformance import syncs
from records.messaging import Ack, Delivery
from stacks.activemq.driver import ActiveMQ
from stacks.activemq.openwire import ActiveMQOpenWire
from stacks.driver import Endpoint, Selector, StackError, Subscription

pytestmark = [pytest.mark.root, pytest.mark.broker]

STACKS = (ActiveMQ(), ActiveMQOpenWire())


@pytest.fixture(params=STACKS, ids=lambda stack: stack.name)
def clients(request: pytest.FixtureRequest) -> Clients:
    return Clients(request.param)


@pytest.fixture
def at(broker: Broker, clients: Clients) -> Endpoint:
    return broker.openwire if isinstance(clients.stack, ActiveMQOpenWire) else broker.at


def named(what: str, clients: Clients) -> str:
    """A topic, or a client, of this driver's own: both share the broker."""
    return f"{what}-{clients.stack.name}"


def test_a_durable_subscription_gets_what_it_missed_and_another_does_not(
    broker: Broker, clients: Clients, at: Endpoint
) -> None:
    async def talk() -> tuple[Got, Got]:
        topic = named("missed", clients)
        for durable in (True, False):
            gone = await clients.subscriber(at, f"{topic}-{durable}", topic, durable=durable)
            await gone.connection.close()
        await clients.publish(at, topic, numbered(5))
        back = [await clients.subscriber(at, f"{topic}-{durable}", topic, durable=durable) for durable in (True, False)]
        await until(lambda: len(back[0].got) == 5)
        await quiet(back[1].got)
        for one in back:
            await one.connection.close()
        return back[0].got, back[1].got

    assert broker.run(talk) == ([(body, False) for body in numbered(5)], [])


@pytest.mark.parametrize("durable", [False, True])
def test_selectors_compare_numbers_not_text(broker: Broker, clients: Clients, at: Endpoint, durable: bool) -> None:
    async def talk() -> list[bytes]:
        topic = named(f"selected-{durable}", clients)
        selector = Selector(low=9, high=100)
        chosen = await clients.subscriber(at, topic, topic, durable=durable, selector=selector)
        values = [-10, 8, 9, 10, 11, 99, 100, 101, 1000]
        await clients.publish(at, topic, [b"%d" % value for value in values], props=values)
        await clients.publish(at, topic, [b"without"])
        await quiet(chosen.got, least=4)
        await chosen.connection.close()
        return chosen.bodies()

    assert broker.run(talk) == [b"9", b"10", b"11", b"99"]


def test_auto_has_the_broker_send_again_only_what_was_not_handled(
    broker: Broker, clients: Clients, at: Endpoint
) -> None:
    async def talk() -> tuple[list[bytes], list[bytes]]:
        topic = named("auto", clients)
        first = await clients.subscriber(at, topic, topic, durable=True, fail_at=4)
        await clients.publish(at, topic, numbered(4))
        await until(lambda: len(first.got) == 4)
        # Its answer shows that the broker has read the acknowledgements sent before.
        await first.connection.subscribe("other", ignore, subscription=Subscription(), ack=Ack.AUTO)
        await clients.publish(at, topic, numbered(10)[4:])
        await until(lambda: first.connection.lost is not None)
        second = await clients.subscriber(at, topic, topic, durable=True)
        await quiet(second.got, least=6)
        await second.connection.close()
        return first.bodies(), second.bodies()

    assert broker.run(talk) == (numbered(10)[:4], numbered(10)[4:])


def ignore(body: bytes, redelivered: bool) -> None:
    """Handle a message by doing nothing."""


def test_a_prefetch_that_the_broker_misreads_is_refused(broker: Broker, clients: Clients, at: Endpoint) -> None:
    async def talk() -> None:
        topic = named("thousand", clients)
        with pytest.raises(StackError, match="prefetch 1000 of a durable subscription"):
            await clients.subscriber(at, topic, topic, durable=True, prefetch=1000)

    broker.run(talk)


def test_a_connection_leaves_in_peace_after_a_refused_subscription(
    broker: Broker, clients: Clients, at: Endpoint
) -> None:
    """Whoever comes back at once under the same client id is not refused, and nothing is sent again."""

    async def talk() -> Got:
        topic = named("refused", clients)
        first = await clients.subscriber(at, topic, topic, durable=True, ack=Ack.DUPS_OK)
        with pytest.raises(StackError):
            await first.connection.subscribe(topic, ignore, subscription=wanted(durable=True), ack=Ack.DUPS_OK)
        if first.connection.lost is None:  # STOMP ends the connection with the error
            await clients.publish(at, topic, numbered(3))
            await until(lambda: len(first.got) == 3)
        await first.connection.close()
        back = await clients.subscriber(at, topic, topic, durable=True)
        await quiet(back.got)
        await back.connection.close()
        return back.got

    assert broker.run(talk) == []


def test_messages_of_one_producer_arrive_in_order_with_many_under_way(
    broker: Broker, clients: Clients, at: Endpoint
) -> None:
    async def talk() -> list[bytes]:
        topic = named("ordered", clients)
        reader = await clients.subscriber(at, topic, topic, ack=Ack.DUPS_OK)
        writer = await clients.stack.connect(HERE, [at], f"{topic}-writer")
        publisher = await writer.publisher(topic, delivery=Delivery.NONPERSISTENT)
        await asyncio.gather(*(publisher.send(body) for body in numbered(3000)))
        await until(lambda: len(reader.got) == 3000)
        await writer.close()
        await reader.connection.close()
        return reader.bodies()

    assert broker.run(talk) == numbered(3000)


def test_a_client_that_is_cut_off_comes_back_to_what_it_missed(broker: Broker, clients: Clients, at: Endpoint) -> None:
    async def talk() -> Got:
        topic = named("cut", clients)
        gone = await clients.subscriber(at, topic, topic, durable=True)
        gone.connection.abort()
        await clients.publish(at, topic, numbered(5))
        back = await clients.subscriber(at, topic, topic, durable=True)
        await until(lambda: len(back.got) == 5)
        await back.connection.close()
        return back.got

    assert [body for body, _ in broker.run(talk)] == numbered(5)


def test_a_client_id_in_use_is_refused_in_the_brokers_words(broker: Broker, clients: Clients, at: Endpoint) -> None:
    """About one refusal in 5,000 the broker closes without its words when processors are short: three tries."""

    async def talk() -> list[str]:
        refusals = []
        for number in (1, 2, 3):
            client_id = f"twin-{number}"
            first = await clients.connect_again(at, client_id)
            with pytest.raises(StackError) as caught:
                await clients.stack.connect(HERE, [at], client_id)
            await first.close()
            refusals.append(str(caught.value))
        return refusals

    refusals = broker.run(talk)
    told = [refusal for number, refusal in enumerate(refusals, 1) if f"Client: twin-{number} already" in refusal]
    assert len(told) >= 2, refusals


def test_persistent_messages_outlive_the_broker_and_others_do_not(
    broker: Broker, clients: Clients, at: Endpoint
) -> None:
    def topic_of(delivery: Delivery) -> str:
        return named(f"outlive-{delivery}", clients)

    async def before() -> None:
        for delivery in Delivery:
            topic = topic_of(delivery)
            await (await clients.subscriber(at, topic, topic, durable=True)).connection.close()
            await clients.publish(at, topic, numbered(3), delivery=delivery)

    async def after() -> dict[Delivery, list[bytes]]:
        got = {}
        for delivery in Delivery:
            topic = topic_of(delivery)
            back = await clients.subscriber(at, topic, topic, durable=True)
            await quiet(back.got, least=3 if delivery is Delivery.PERSISTENT else 0)
            await back.connection.close()
            got[delivery] = back.bodies()
        return got

    broker.run(before)
    broker.kill()
    broker.do("start")
    assert broker.run(after) == {Delivery.PERSISTENT: numbered(3), Delivery.NONPERSISTENT: []}


def test_a_persistent_message_is_on_disk_before_its_answer(
    broker: Broker, clients: Clients, at: Endpoint, tmp_path: Path
) -> None:
    spans: dict[Delivery, list[tuple[float, float]]] = {delivery: [] for delivery in Delivery}

    async def talk() -> None:
        topic = named("synced", clients)
        await (await clients.subscriber(at, topic, topic, durable=True)).connection.close()
        connection = await clients.stack.connect(HERE, [at], f"publisher of {topic}")
        for delivery in Delivery:
            publisher = await connection.publisher(topic, delivery=delivery)
            for body in numbered(10):
                begun = time.time()
                await publisher.send(body, None)
                spans[delivery].append((begun, time.time()))
        await connection.close()

    with syncs.watched([broker.pid()], tmp_path / "syncs"):
        broker.run(talk)
    done = syncs.ends((tmp_path / "syncs").read_text())
    assert syncs.covered(spans[Delivery.PERSISTENT], done) == 10
