"""Callers and services: each request is for one of the services at its address, and its reply is the send's answer.

A service works on one request after the other, each for its service time, and replies with a body of the request's
size that begins with the request's marker, so that a caller can tell whose reply it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from experiments.load.clock import Clock
from experiments.load.pattern import Site
from experiments.load.schedule import LOAD
from records.manifest import Consumer, Producer
from records.workload import RequestReply, ServiceTime
from stacks.driver import Caller, Calling, Connection, Handler, Publisher, Serving

NEEDS = (Calling, Serving)

_CHUNK = 4096


async def produce(connection: Connection, producer: Producer, work: RequestReply, site: Site) -> Publisher:
    """What calls the producer's service."""
    assert isinstance(connection, Calling)
    caller = await connection.caller(work.clients.channels[producer.topic])
    return Asking(caller, site.handler(site.replies[producer.id]))


async def consume(connection: Connection, consumer: Consumer, work: RequestReply, site: Site) -> None:
    """Serve the consumer's address."""
    assert isinstance(connection, Serving)
    received = site.handler(consumer.id)
    if work.service_time.mean_s:
        desk = Desk(site.clock, service_times(work.service_time, service=consumer.id, seed=site.seed))
        site.tasks.append(asyncio.ensure_future(desk.work()))
        answer = desk.take
    else:
        answer = _at_once

    def take(body: bytes, reply: Callable[[bytes], None]) -> None:
        received(body, False)
        answer(body, reply)

    await connection.serve(work.clients.channels[consumer.topic], take)


def _at_once(body: bytes, reply: Callable[[bytes], None]) -> None:
    reply(body)


class Asking:
    """A caller as a load's loop sees it: the reply is the answer.  received: gets each reply as it comes."""

    def __init__(self, caller: Caller, received: Handler) -> None:
        self._caller = caller
        self._received = received

    def send(self, body: bytes | bytearray, prop: int | None = None) -> Coroutine[Any, Any, None]:
        """Call; the coroutine ends after the reply has been received, so that no answer has an earlier time."""
        del prop
        return self._take(self._caller.call(body))

    async def _take(self, reply: Awaitable[bytes]) -> None:
        self._received(await reply, False)


class Desk:
    """Requests that wait for their service, which has one at a time."""

    def __init__(self, clock: Clock, times_ns: Iterator[int]) -> None:
        self._clock = clock
        self._times_ns = times_ns
        self._waiting: asyncio.Queue[tuple[int, bytes, Callable[[bytes], None]]] = asyncio.Queue()

    def take(self, body: bytes, reply: Callable[[bytes], None]) -> None:
        """A request has come."""
        self._waiting.put_nowait((self._clock.now_ns(), body, reply))

    async def work(self) -> None:
        """Reply for as long as the task lives.  A late wake-up makes no later reply late."""
        free_ns = 0
        while True:
            came_ns, body, reply = await self._waiting.get()
            free_ns = max(free_ns, came_ns) + next(self._times_ns)
            await self._clock.sleep_until(free_ns)
            reply(body)


def service_times(asked: ServiceTime, *, service: int, seed: int) -> Iterator[int]:
    """How long each request in turn is worked on, nanoseconds."""
    if asked.distribution == "constant":
        return repeat(round(asked.mean_s * 1e9))
    return _exponential(asked.mean_s, np.random.default_rng((seed, service, 4, LOAD)))


def _exponential(mean_s: float, generator: np.random.Generator) -> Iterator[int]:
    while True:
        yield from (generator.exponential(mean_s, _CHUNK) * 1e9).astype(np.int64).tolist()
