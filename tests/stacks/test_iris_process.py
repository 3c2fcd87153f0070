"""Nodes as processes of their own: what they say last."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from free_ports import LOOPBACK, free_ports
from iris_nodes import KEY, run
from pattern_stories import until
from reference_servers import ROOT

from stacks.channel import opened
from stacks.driver import Endpoint
from stacks.iris.client import Application


@asynccontextmanager
async def node(key: Path, port: int, relay_port: int, peer: int) -> AsyncIterator[Process]:
    """A node that listens, and was told of another one; all that it says is in its output."""
    places = ("--host", LOOPBACK, "--port", str(port), "--relay-port", str(relay_port), "--peer", f"{LOOPBACK}:{peer}")
    command = (sys.executable, "-m", "stacks.iris", *places, "--key-file", str(key))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT, cwd=ROOT)
    try:
        assert process.stdout is not None
        assert json.loads(await process.stdout.readline())["listening"] == port
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def test_what_a_node_has_dropped_is_the_last_that_it_says_without_what_its_end_cuts_off(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY.hex())

    async def talk() -> None:
        one, other, *relays = free_ports(4)
        async with node(key, one, relays[0], other) as process, node(key, other, relays[1], one):
            member, caller = [await opened(Application, Endpoint(host=LOOPBACK, port=relays[0])) for _ in range(2)]
            asked: list[bytes | bytearray] = []
            member.on_request = lambda body, _: asked.append(body)
            await member.enter("c")  # when the nodes have found each other
            await caller.enter()
            caller.request("c", b"x", 60_000).add_done_callback(lambda ended: ended.exception())
            await until(lambda: bool(asked))
            process.terminate()
            said = (await process.communicate())[0].decode().splitlines()
            assert process.returncode == 0
            assert said[-2].endswith("is gone: the node ends")
            assert json.loads(said[-1]) == {"dropped": {}}

    run(talk)
