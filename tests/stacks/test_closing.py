"""Clients that leave servers which do not answer any more: they leave all the same, and leave no connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from stacks.channel import Channel, opened
from stacks.driver import Endpoint
from stacks.iris.client import Application
from stacks.reference.wire import Wire


async def silent(connections: list[asyncio.StreamReader]) -> tuple[asyncio.Server, Endpoint]:
    """A server that takes connections, and says nothing."""

    async def take(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        connections.append(reader)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    return server, Endpoint(host="127.0.0.1", port=server.sockets[0].getsockname()[1])


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait for its end, however it comes."""
    try:
        while await reader.read(1024):
            pass
    except ConnectionError:
        pass


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("kind", [Application, Wire])
def test_who_leaves_a_server_that_does_not_answer_has_left(kind: Callable[[], Channel], cancelled: bool) -> None:
    async def leave() -> None:
        connections: list[asyncio.StreamReader] = []
        server, at = await silent(connections)
        async with server:
            client = await opened(kind, at)
            closing = asyncio.create_task(client.close(3600.0 if cancelled else 0.05))  # type: ignore[attr-defined]
            if cancelled:
                await asyncio.sleep(0.05)
                closing.cancel()
            await asyncio.wait([closing])
            assert closing.cancelled() == cancelled
            await ended(connections[0])

    async def limited() -> None:
        async with asyncio.timeout(20):
            await leave()

    asyncio.run(limited())
