"""A full broker's two answers over OpenWire: it withholds its answer, or refuses a send that is then repeated."""

import asyncio
from pathlib import Path

import pytest
from activemq_brokers import Broker, running_broker, until
from activemq_clients import Clients, numbered

from records.messaging import Ack, Delivery
from stacks.activemq.openwire import ActiveMQOpenWire
from stacks.driver import FullError, Publisher

pytestmark = [pytest.mark.root, pytest.mark.broker]

CLIENTS = Clients(ActiveMQOpenWire())
COUNT, SIZE = 1500, 5000  # far more than socket buffers and the topic's memory hold


async def fill(broker: Broker, *, refuses: bool) -> tuple[int, int, list[bytes]]:
    """Publish to a subscriber that stops reading: how many sends were answered and refused by then, what came after."""
    at = broker.openwire
    reader = await CLIENTS.subscriber(at, "slow", "slow", ack=Ack.DUPS_OK)
    transport = reader.connection._channel._transport
    transport.pause_reading()
    writer = await CLIENTS.connect_again(at, "slow-writer")
    publisher = await writer.publisher("slow", delivery=Delivery.NONPERSISTENT)
    sends = [publisher.send(body) for body in numbered(COUNT, SIZE)]
    await until(lambda: (all if refuses else any)(send.done() for send in sends))
    settled = -1
    while settled != (settled := sum(send.done() for send in sends)):
        await asyncio.sleep(0.5)
    refused = [number for number, send in enumerate(sends) if send.done() and send.exception() is not None]
    assert all(isinstance(sends[number].exception(), FullError) for number in refused)
    transport.resume_reading()
    await asyncio.gather(*sends, return_exceptions=True)
    assert writer.lost is None
    for body, send in zip(numbered(COUNT, SIZE), sends, strict=True):
        if send.exception() is not None:
            await again(publisher, body)
    await until(lambda: len(reader.got) == COUNT)
    await writer.close()
    await reader.connection.close()
    return settled, len(refused), reader.bodies()


async def again(publisher: Publisher, body: bytes) -> None:
    while True:
        try:
            return await publisher.send(body)
        except FullError:
            await asyncio.sleep(0.01)


def test_a_full_broker_withholds_its_answer_and_loses_nothing(broker: Broker) -> None:
    answered, refused, got = broker.run(lambda: fill(broker, refuses=False))
    assert 0 < answered < COUNT
    assert refused == 0
    assert sorted(got) == sorted(numbered(COUNT, SIZE))


def test_a_full_broker_refuses_and_takes_the_message_later(tmp_path: Path) -> None:
    with running_broker(tmp_path, activemq_when_full="refuse") as broker:
        answered, refused, got = broker.run(lambda: fill(broker, refuses=True))
    assert answered == COUNT
    assert 0 < refused < COUNT
    assert sorted(got) == sorted(numbered(COUNT, SIZE))
