"""The ActiveMQ driver against a real broker."""

import asyncio

import pytest
from activemq_brokers import Broker, quiet, until
from activemq_clients import Clients, Got, numbered
from here import HERE

from records.messaging import Ack, Delivery
from stacks.activemq.driver import ActiveMQ
from stacks.driver import StackError, Subscription
from stacks.lazy import LAZY_MESSAGES

pytestmark = [pytest.mark.root, pytest.mark.broker]

STACK = ActiveMQ()
CLIENTS = Clients(STACK)
subscriber, publish = CLIENTS.subscriber, CLIENTS.publish


def _ignore(body: bytes, redelivered: bool) -> None:
    """Handle a message by doing nothing."""


def test_dups_ok_has_the_broker_send_again_what_was_handled_but_not_yet_acknowledged(broker: Broker) -> None:
    due, count = LAZY_MESSAGES, LAZY_MESSAGES + 7

    async def talk() -> tuple[list[bytes], list[bytes]]:
        at, topic = broker.at, "dups"
        first = await subscriber(at, "dups", topic, durable=True, ack=Ack.DUPS_OK, vanish_at=count)
        await publish(at, topic, numbered(due))
        await until(lambda: len(first.got) == due)
        await first.connection.subscribe("other", _ignore, subscription=Subscription(), ack=Ack.AUTO)
        await publish(at, topic, numbered(count)[due:])
        await until(lambda: len(first.got) == count)
        second = await subscriber(at, "dups", topic, durable=True, ack=Ack.DUPS_OK)
        await quiet(second.got, least=1)
        await second.connection.close()
        return first.bodies(), second.bodies()

    first, again = broker.run(talk)
    assert first == numbered(count)
    # Seven, or others where the acknowledgement by time came between: it covers some, and the count begins anew.
    assert 1 <= len(again) <= LAZY_MESSAGES
    assert again == first[-len(again) :]


def test_dups_ok_leaves_nothing_to_send_again_after_a_close(broker: Broker) -> None:
    async def talk() -> Got:
        at, topic = broker.at, "dups-closed"
        first = await subscriber(at, topic, topic, durable=True, ack=Ack.DUPS_OK)
        await publish(at, topic, numbered(7))
        await until(lambda: len(first.got) == 7)
        await first.connection.close()
        second = await subscriber(at, topic, topic, durable=True, ack=Ack.DUPS_OK)
        await quiet(second.got)
        await second.connection.close()
        return second.got

    assert broker.run(talk) == []


def test_bodies_arrive_as_they_were_sent(broker: Broker) -> None:
    bodies = [b"", b"\0", bytes(range(256)), b"\n\n\0a:b\r\n", b"z" * 1_000_000]

    async def talk() -> list[bytes]:
        reader = await subscriber(broker.at, "bodies", "bodies")
        await publish(broker.at, "bodies", bodies, delivery=Delivery.NONPERSISTENT)
        await until(lambda: len(reader.got) == len(bodies))
        await reader.connection.close()
        return reader.bodies()

    assert broker.run(talk) == bodies


def test_a_slow_subscriber_makes_the_publisher_wait_and_loses_nothing(broker: Broker) -> None:
    count, size = 4000, 5000  # far more than socket buffers and the topic's memory hold

    async def talk() -> tuple[int, list[bytes]]:
        at, topic = broker.at, "slow"
        reader = await subscriber(at, "slow", topic, ack=Ack.DUPS_OK)
        reader.connection._channel._transport.pause_reading()
        writer = await STACK.connect(HERE, [at], "slow-writer")
        publisher = await writer.publisher(topic, delivery=Delivery.NONPERSISTENT)
        sends = [publisher.send(body) for body in numbered(count, size)]
        await until(lambda: any(send.done() for send in sends))
        answered = -1
        while answered != (answered := sum(send.done() for send in sends)):
            await asyncio.sleep(0.5)
        reader.connection._channel._transport.resume_reading()
        await asyncio.gather(*sends)
        await until(lambda: len(reader.got) == count)
        await writer.close()
        await reader.connection.close()
        return answered, reader.bodies()

    answered, bodies = broker.run(talk)
    assert 0 < answered < count
    # The broker lets a message that comes when there is space again overtake those that wait for it.
    assert sorted(bodies) == sorted(numbered(count, size))


@pytest.mark.parametrize("delivery", list(Delivery))
def test_a_durable_subscription_that_is_away_does_not_hold_the_publisher_up(broker: Broker, delivery: Delivery) -> None:
    bodies = numbered(400, 10_000)  # four times the topic's memory

    async def talk() -> list[bytes]:
        at, topic = broker.at, f"away-{delivery}"
        await (await subscriber(at, topic, topic, durable=True)).connection.close()
        await publish(at, topic, bodies, delivery=delivery)
        back = await subscriber(at, topic, topic, durable=True)
        await until(lambda: len(back.got) == len(bodies))
        await back.connection.close()
        return back.bodies()

    assert broker.run(talk) == bodies


def test_a_reset_forgets_messages_and_subscriptions(broker: Broker) -> None:
    async def leave_some() -> None:
        await (await subscriber(broker.at, "forget", "forget", durable=True)).connection.close()
        await publish(broker.at, "forget", numbered(3))

    async def look() -> Got:
        back = await subscriber(broker.at, "forget", "forget", durable=True)
        await quiet(back.got)
        await back.connection.close()
        return back.got

    broker.run(leave_some)
    before = broker.pid()
    broker.do("reset")
    assert broker.pid() != before
    assert broker.run(look) == []


def test_a_broker_that_dies_fails_waiting_and_later_sends(broker: Broker) -> None:
    async def talk() -> tuple[set[str], str, str | None]:
        writer = await STACK.connect(HERE, [broker.at], "bereaved")
        publisher = await writer.publisher("dies", delivery=Delivery.PERSISTENT)
        await publisher.send(b"x")
        sends = [publisher.send(b"x" * 1000) for _ in range(3000)]
        await sends[0]
        broker.kill()
        answers = await asyncio.gather(*sends, return_exceptions=True)
        errors = {type(answer).__name__ for answer in answers if answer is not None}
        with pytest.raises(StackError) as caught:
            await publisher.send(b"x")
        await writer.close()
        return errors, str(caught.value), writer.lost

    try:
        errors, later, lost = broker.run(talk)
    finally:
        broker.do("reset")
    assert errors == {"StackError"}
    assert lost is not None
    assert later == lost
