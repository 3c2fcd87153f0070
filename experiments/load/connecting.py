"""All connections of a node: each producer and each consumer has its own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from experiments.load.clock import Clock
from experiments.load.pattern import PatternModule, Site, module
from experiments.load.protocol import NodePlan, client_id
from experiments.load.recording import DeliveredLog
from records.manifest import ClientSocket, Consumer, Producer
from records.nodes import Absence
from stacks.driver import Connection, Endpoint, Here, Peer, Publisher, Stack, StackError, from_home

PARALLEL = 16
CLOSE_TIMEOUT_S = 5.0
T = TypeVar("T", Consumer, Producer)


class ConnectError(Exception):
    """A client could not connect or subscribe; the message has the provider's words."""


@dataclass(slots=True)
class Clients:
    """Connections by a label that people read, and the producers' publishers by producer id.

    producer_sockets, consumer_sockets: by id, the local ends of every connection that the client has had.
    absences: by consumer id, when its connection was cut and made again.  gone: connections that were lost before they
    were cut.
    consume: connects and subscribes a consumer; StackError when refused, and the connection is gone again.
    """

    consume: Callable[[Consumer], Awaitable[None]]

    connections: dict[str, Connection] = field(default_factory=dict)
    publishers: dict[int, tuple[Connection, Publisher]] = field(default_factory=dict)
    producer_sockets: defaultdict[int, list[ClientSocket]] = field(default_factory=lambda: defaultdict(list))
    consumer_sockets: defaultdict[int, list[ClientSocket]] = field(default_factory=lambda: defaultdict(list))
    absences: defaultdict[int, list[Absence]] = field(default_factory=lambda: defaultdict(list))

    gone: list[str] = field(default_factory=list)

    def cut(self, consumer: int) -> None:
        """End a consumer's connection without a word to the provider."""
        label = consumer_label(consumer)
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


@asynccontextmanager
async def connected(plan: NodePlan, *, stack: Stack, log: DeliveredLog, clock: Clock) -> AsyncIterator[Clients]:
    """Every client of the plan connected, and every consumer subscribed; ConnectError for the first that is not.

    They are closed on the way out, for at most CLOSE_TIMEOUT_S.
    """
    turn = asyncio.Semaphore(PARALLEL)
    replies = {one.caller: one.id for one in plan.consumers if one.caller is not None}
    site = Site(log=log, clock=clock, seed=plan.seed, replies=replies)
    peers = tuple(Peer(**one.model_dump()) for one in plan.peers)
    here = Here(node=plan.node, address=plan.address, peers=peers)
    node = _Node(plan, here, stack, module(plan.workload.pattern), site)
    clients = Clients(consume=lambda consumer: node.consume(consumer, clients))

    async def limited(label: str, action: Callable[[T], Awaitable[None]], client: T) -> None:
        async with turn:
            await _explained(f"{label} on node {plan.node}{_at(plan)}", action(client), plan)

    jobs = [limited(consumer_label(one.id), clients.consume, one) for one in plan.consumers if one.caller is None]
    jobs += [limited(producer_label(one.id), lambda one: node.produce(one, clients), one) for one in plan.producers]
    try:
        await _all(jobs)
        yield clients
    finally:
        await _end(site.tasks)
        closing = [asyncio.ensure_future(connection.close()) for connection in clients.connections.values()]
        await _settle(closing)


@dataclass(frozen=True, slots=True)
class _Node:
    """Connects the clients of one node as their pattern wants them."""

    plan: NodePlan
    here: Here
    stack: Stack
    pattern: PatternModule
    site: Site

    async def consume(self, consumer: Consumer, clients: Clients) -> None:
        label = consumer_label(consumer.id)
        connection = await self._connect("consumer", consumer)
        _keep(clients, connection, label, clients.consumer_sockets[consumer.id])
        try:
            await self.pattern.consume(connection, consumer, self.plan.workload, self.site)
        except BaseException:
            clients.connections.pop(label).abort()
            raise

    async def produce(self, producer: Producer, clients: Clients) -> None:
        connection = await self._connect("producer", producer)
        _keep(clients, connection, producer_label(producer.id), clients.producer_sockets[producer.id])
        if (reply := self.site.replies.get(producer.id)) is not None:
            clients.consumer_sockets[reply] = clients.producer_sockets[producer.id]
        publisher = await self.pattern.produce(connection, producer, self.plan.workload, self.site)
        clients.publishers[producer.id] = (connection, publisher)

    async def _connect(self, role: str, client: Producer | Consumer) -> Connection:
        plan = self.plan
        at = [Endpoint(**one.model_dump()) for one in plan.services]
        return await self.stack.connect(self.here, from_home(at, client.topic), client_id(plan.node, role, client.id))


def _at(plan: NodePlan) -> str:
    return "".join(f" at {one.host}:{one.port}" for one in plan.services[:1])


def consumer_label(number: int) -> str:
    """What a consumer's connection is called where it is told of."""
    return f"consumer {number}"


def producer_label(number: int) -> str:
    """What a producer's connection is called where it is told of."""
    return f"producer {number}"


def _keep(clients: Clients, connection: Connection, label: str, sockets: list[ClientSocket]) -> None:
    clients.connections[label] = connection
    sockets.extend(ClientSocket(protocol=one.protocol, port=one.port, tls=one.tls) for one in connection.sockets)


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
