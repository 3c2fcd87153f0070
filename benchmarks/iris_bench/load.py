"""The load of one node: some connections of one process, which call, spread or send as fast as they are answered."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, field
from typing import Any

import uvloop

from records import no_gc
from stacks.channel import opened
from stacks.driver import Endpoint
from stacks.iris import memory
from stacks.iris.client import Application
from stacks.iris.tunnel import Tunnel

_LIMIT_MS = 60_000
_UNDER_WAY = 512  # messages of a tunnel that have been handed over


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """kind: requests, broadcasts, tunnel or echo.  own, other: clusters.  sends: whether this side does.  callers: at
    once, over `connections`."""

    kind: str
    relay: int
    own: str
    other: str
    sends: bool
    body_bytes: int
    callers: int
    connections: int


@dataclass(slots=True)
class Seen:
    """So far: what was done, and how long each request took, in seconds."""

    done: int = 0
    took_s: list[float] = field(default_factory=list)


def run(text: str) -> None:
    """Be the load of a plan: ready, go, look, look, until standard input ends."""
    uvloop.run(_load(Plan(**json.loads(text))))


async def _load(plan: Plan) -> None:
    seen, body = Seen(), bytes(plan.body_bytes)
    links = [await _member(plan, seen) for _ in range(plan.connections)]
    no_gc.off()
    memory.keep_freed()
    _say(ready=True)
    words = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(words), sys.stdin)
    tasks: list[asyncio.Task[Any]] = []
    while word := (await words.readline()).strip():
        if word == b"go" and plan.sends:
            senders = {"requests": _requests, "broadcasts": _broadcasts, "tunnel": _tunnel, "echo": _echo}
            each = [links[number % len(links)] for number in range(plan.callers)]
            tasks = [asyncio.ensure_future(senders[plan.kind](one, plan.other, body, seen)) for one in each]
        elif word == b"look":
            for task in tasks:
                if task.done():
                    task.result()
            took, seen.took_s = seen.took_s, []
            _say(at_s=time.monotonic(), cpu_s=time.process_time(), **asdict(Seen(seen.done, took)))


async def _member(plan: Plan, seen: Seen) -> Application:
    one = await opened(Application, Endpoint(host="127.0.0.1", port=plan.relay))
    one.on_request = lambda data, reply: reply(bytes(data))

    def heard(data: bytes) -> None:
        del data
        seen.done += 1

    def taken(tunnel: Tunnel) -> None:
        def came(data: bytes) -> None:
            seen.done += 1
            if plan.kind == "echo":
                tunnel.send(data)

        tunnel.on_message = came

    one.on_broadcast, one.on_tunnel = heard, taken
    await one.enter(plan.own)
    return one


async def _requests(one: Application, cluster: str, body: bytes, seen: Seen) -> None:
    while True:
        began = time.perf_counter()
        await one.request(cluster, body, _LIMIT_MS)
        seen.took_s.append(time.perf_counter() - began)
        seen.done += 1


async def _broadcasts(one: Application, cluster: str, body: bytes, seen: Seen) -> None:
    del seen  # what is heard counts
    while True:
        await one.broadcast(cluster, body)
        await asyncio.sleep(0)


async def _tunnel(one: Application, cluster: str, body: bytes, seen: Seen) -> None:
    del seen
    tunnel = await one.open_tunnel(cluster, _LIMIT_MS)
    under_way: list[Awaitable[None]] = []
    while True:
        under_way.append(tunnel.send(body))
        if len(under_way) >= _UNDER_WAY:
            await asyncio.gather(*under_way)
            under_way.clear()


async def _echo(one: Application, cluster: str, body: bytes, seen: Seen) -> None:
    tunnel = await one.open_tunnel(cluster, _LIMIT_MS)
    room = asyncio.Semaphore(_UNDER_WAY)

    def back(data: bytes) -> None:
        del data
        seen.done += 1
        room.release()

    tunnel.on_message = back
    while True:
        await room.acquire()
        await tunnel.send(body)


def _say(**answer: object) -> None:
    print(json.dumps(answer), flush=True)
