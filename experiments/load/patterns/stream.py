"""Flows: all messages of a flow arrive at one receiver, once and in order."""

from __future__ import annotations

from experiments.load.pattern import Site
from records.manifest import Consumer, Producer
from records.workload import Stream
from stacks.driver import Connection, Publisher, Streaming

NEEDS = (Streaming,)


async def produce(connection: Connection, producer: Producer, work: Stream, site: Site) -> Publisher:
    """The sending end of the producer's flow."""
    del site
    assert isinstance(connection, Streaming)
    return await connection.stream(work.clients.channels[producer.topic])


async def consume(connection: Connection, consumer: Consumer, work: Stream, site: Site) -> None:
    """A receiving end of the consumer's flow, or of those to its address."""
    assert isinstance(connection, Streaming)
    await connection.accept(work.clients.channels[consumer.topic], site.handler(consumer.id))
