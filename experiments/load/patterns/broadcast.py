"""Senders and members: each message is for every member of the group."""

from __future__ import annotations

from experiments.load.pattern import Site
from records.manifest import Consumer, Producer
from records.workload import Broadcast
from stacks.driver import Broadcasting, Connection, Publisher

NEEDS = (Broadcasting,)


async def produce(connection: Connection, producer: Producer, work: Broadcast, site: Site) -> Publisher:
    """What sends to the group."""
    del site
    assert isinstance(connection, Broadcasting)
    return await connection.broadcaster(work.clients.channels[producer.topic])


async def consume(connection: Connection, consumer: Consumer, work: Broadcast, site: Site) -> None:
    """Join the group."""
    assert isinstance(connection, Broadcasting)
    await connection.join(work.clients.channels[consumer.topic], site.handler(consumer.id))
