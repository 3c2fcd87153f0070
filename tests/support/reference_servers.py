"""Reference servers for tests: in this process, and as a process of its own."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stacks.driver import Endpoint
from stacks.reference.faults import Faults
from stacks.reference.server import listen

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = "127.0.0.1"


@asynccontextmanager
async def server_here(faults: Faults | None = None) -> AsyncIterator[Endpoint]:
    """A server on this event loop."""
    server = await listen(host=LOOPBACK, port=0, faults=faults or Faults())
    try:
        yield Endpoint(host=LOOPBACK, port=server.sockets[0].getsockname()[1])
    finally:
        server.close()


def server_command(*, port: int, faults: tuple[str, ...] = ()) -> list[str]:
    words = [word for fault in faults for word in ("--fault", fault)]
    return [sys.executable, "-m", "stacks.reference", "--host", LOOPBACK, "--port", str(port), *words]


@asynccontextmanager
async def server_process(*faults: str) -> AsyncIterator[tuple[Endpoint, asyncio.subprocess.Process]]:
    """A server process on a free port, killed on the way out."""
    process = await asyncio.create_subprocess_exec(
        *server_command(port=0, faults=faults), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        port = json.loads(await asyncio.wait_for(process.stdout.readline(), 120))["listening"]
        yield Endpoint(host=LOOPBACK, port=port), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
