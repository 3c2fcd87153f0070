"""A server that plays a script with its one client, over a real socket on loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from stacks.driver import Endpoint

P = TypeVar("P")
Peers = Callable[[asyncio.StreamReader, asyncio.StreamWriter], P]


@asynccontextmanager
async def scripted(peer: Peers[P], script: Callable[[P], Awaitable[None]]) -> AsyncIterator[Endpoint]:
    """A server whose end of the connection is a `peer`; the script's failure is the test's."""
    played: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(peer(reader, writer))
            played.set_result(None)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            played.set_exception(error)
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield Endpoint(host="127.0.0.1", port=listening.sockets[0].getsockname()[1])
        async with asyncio.timeout(60):
            await played
