"""All connections of a node: each producer and each consumer has its own."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from experiments.load.protocol import ConsumerPlan, NodePlan, ProducerPlan
from experiments.load.recording import DeliveredLog
from results.manifest import Absence
from stacks.driver import (
    Ack,
    BodyType,
    Connection,
    Delivery,
    Endpoint,
    Handler,
    JmsConnection,
    Publisher,
    Receiver,
    Selector,
    Stack,
    StackError,
    Subscription,
)

PARALLEL = 16
CLOSE_TIMEOUT_S = 5.0
T = TypeVar("T")


class ConnectError(Exception):
    """A client could not connect or subscribe; the message has the provider's words."""


@dataclass(slots=True)
class Clients:
    """Connections by a label that people read, and the producers' publishers by producer id.

    producer_ports, consumer_ports: by id, the local port of every connection that the client has had.
    receiving: consumers that ask for one message after the other, without end.
    absences: by consumer id, when its connection was cut and made again.  gone: connections that were lost before they
    were cut.
    consume: connects and subscribes a consumer; StackError when refused, and the connection is gone again.
    """

    consume: Callable[[ConsumerPlan], Awaitable[None]]

    connections: dict[str, Connection] = field(default_factory=dict)
    publishers: dict[int, tuple[Connection, Publisher]] = field(default_factory=dict)
    producer_ports: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    consumer_ports: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    receiving: list[asyncio.Task[None]] = field(default_factory=list)
    absences: defaultdict[int, list[Absence]] = field(default_factory=lambda: defaultdict(list))

    gone: list[str] = field(default_factory=list)

    def cut(self, consumer: int) -> None:
        """End a consumer's connection without a word to the provider."""
        label = _consumer(consumer)
        connection = self.connections.pop(label)
        if connection.lost is None:
            connection.vanish()
        else:
            self.gone.append(f"{label}: {connection.lost}")

    def lost(self) -> tuple[str, ...]:
        """One line for each connection that ended without being closed."""
        now = (
            f"{label}: {reason}"
            for label, connection in self.connections.items()
            if (reason := connection.lost) is not None
        )
        return (*self.gone, *now)


def handler(log: DeliveredLog, consumer: int) -> Handler:
    """What a consumer's driver calls with each message."""
    now = time.monotonic_ns
    arrived = log.arrived
    log.by_consumer.setdefault(consumer, 0)

    def receive(body: bytes, redelivered: bool) -> None:
        arrived(consumer, now(), body, redelivered)

    return receive


def acknowledging(receive: Handler, acknowledge: Callable[[], None], *, every: int) -> Handler:
    """A consumer that acknowledges after every so many messages."""
    since = 0

    def receive_and_acknowledge(body: bytes, redelivered: bool) -> None:
        nonlocal since
        receive(body, redelivered)
        since += 1
        if since == every:
            since = 0
            acknowledge()

    return receive_and_acknowledge


async def one_by_one(receiver: Receiver, receive: Handler) -> None:
    """Receive for as long as the connection lives."""
    with suppress(StackError):  # the connection says so itself
        while True:
            receive(*await receiver.receive())


@asynccontextmanager
async def connected(plan: NodePlan, *, stack: Stack, log: DeliveredLog) -> AsyncIterator[Clients]:
    """Every client of the plan connected and subscribed; ConnectError for the first that is not.

    They are closed on the way out, for at most CLOSE_TIMEOUT_S.
    """
    turn = asyncio.Semaphore(PARALLEL)
    at = Endpoint(host=plan.host, port=plan.port)
    clients = Clients(consume=lambda consumer: _consume(consumer, plan, stack, log, clients))

    async def limited(label: str, action: Callable[[T], Awaitable[None]], client: T) -> None:
        async with turn:
            await _explained(f"{label} on node {plan.node} at {at.host}:{at.port}", action(client), plan)

    jobs = [limited(_consumer(one.id), clients.consume, one) for one in plan.consumers]
    jobs += [limited(_producer(one.id), lambda one: _produce(one, plan, stack, clients), one) for one in plan.producers]
    try:
        await _all(jobs)
        yield clients
    finally:
        await _end(clients.receiving)
        closing = [asyncio.ensure_future(connection.close()) for connection in clients.connections.values()]
        await _settle(closing)


def _consumer(number: int) -> str:
    return f"consumer {number}"


def _producer(number: int) -> str:
    return f"producer {number}"


async def _consume(consumer: ConsumerPlan, plan: NodePlan, stack: Stack, log: DeliveredLog, clients: Clients) -> None:
    label = _consumer(consumer.id)
    at = Endpoint(host=plan.host, port=plan.port)
    connection = await stack.connect(at, f"{plan.node}-consumer-{consumer.id}")
    _keep(clients, connection, label, clients.consumer_ports[consumer.id])
    try:
        await _subscribe(connection, consumer, plan, log, clients.receiving)
    except BaseException:
        clients.connections.pop(label).abort()
        raise


async def _subscribe(
    connection: Connection,
    consumer: ConsumerPlan,
    plan: NodePlan,
    log: DeliveredLog,
    receiving: list[asyncio.Task[None]],
) -> None:
    subscription = Subscription(
        name=f"consumer-{consumer.id}" if consumer.durable else None,
        selector=consumer.selector and Selector(low=consumer.selector[0], high=consumer.selector[1]),
        prefetch=plan.prefetch,
    )
    receive = handler(log, consumer.id)
    if plan.ack is Ack.CLIENT:
        receive = acknowledging(receive, _jms(connection).acknowledge, every=plan.acknowledge_every)
    if plan.receive == "listener":
        await connection.subscribe(consumer.topic_name, receive, subscription=subscription, ack=plan.ack)
        return
    receiver = await _jms(connection).receiver(consumer.topic_name, subscription=subscription, ack=plan.ack)
    receiving.append(asyncio.ensure_future(one_by_one(receiver, receive)))


async def _produce(producer: ProducerPlan, plan: NodePlan, stack: Stack, clients: Clients) -> None:
    connection = await stack.connect(Endpoint(host=plan.host, port=plan.port), f"{plan.node}-producer-{producer.id}")
    _keep(clients, connection, _producer(producer.id), clients.producer_ports[producer.id])
    delivery = Delivery.PERSISTENT if plan.persistent else Delivery.NONPERSISTENT
    if plan.body_type is BodyType.BYTES:
        publisher = await connection.publisher(producer.topic_name, delivery=delivery)
    else:
        publisher = await _jms(connection).typed_publisher(
            producer.topic_name, delivery=delivery, body_type=plan.body_type
        )
    clients.publishers[producer.id] = (connection, publisher)


def _jms(connection: Connection) -> JmsConnection:
    if not isinstance(connection, JmsConnection):
        raise StackError("this stack has only Bytes messages and listeners, and no CLIENT acknowledgement")
    return connection


def _keep(clients: Clients, connection: Connection, label: str, ports: list[int]) -> None:
    clients.connections[label] = connection
    if connection.local is not None:
        ports.append(connection.local[1])


async def _explained(who: str, action: Awaitable[None], plan: NodePlan) -> None:
    try:
        await asyncio.wait_for(action, plan.connect_timeout_s)
    except StackError as error:
        raise ConnectError(f"{who}: {error}") from error
    except TimeoutError:
        raise ConnectError(f"{who}: no answer within {plan.connect_timeout_s} s") from None


async def _all(jobs: Sequence[Awaitable[None]]) -> None:
    """Run all; the first failure cancels the rest."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks that have no end of their own; the first that failed before says why."""
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


async def _settle(closing: Sequence[asyncio.Future[None]]) -> None:
    """Wait for the closes; a broker that is gone or silent must not keep us."""
    if not closing:
        return
    done, late = await asyncio.wait(closing, timeout=CLOSE_TIMEOUT_S)
    for task in late:
        task.cancel()
    for task in done:
        error = task.exception()
        if error is not None and not isinstance(error, StackError):
            raise error
