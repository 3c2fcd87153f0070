"""What nodes of Iris stamp: every message of a load where it comes and where it goes, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from free_ports import LOOPBACK
from iris_nodes import KEY, nodes_here, run
from iris_transports import Full

from records.marker import Marker, pack_into
from records.stamped import read
from records.stamps import Point, Stamps
from stacks.iris import relay
from stacks.iris.links import RelayLink
from stacks.iris.node import Node, Settings
from stacks.iris.stamped import StampedNode
from stacks.iris.tunnel import Tunnel

GIVEN, OUT, IN, GOT = Point.FROM_APPLICATION, Point.TO_PEER, Point.FROM_PEER, Point.TO_APPLICATION


def marked(seq: int, size: int = 100) -> bytes:
    body = bytearray(size)
    pack_into(body, Marker(7, seq, 1))
    return bytes(body)


def stamped(folder: Path) -> list[list[tuple[int, Point, bool]]]:
    """For each node what it stamped, in the order of its own time: number of the message, point, reply."""
    found = []
    for path in sorted(folder.glob("stamps-*")):
        content = read(path)
        assert content.ended
        rows = sorted(content.rows.tolist(), key=lambda row: row[2])
        found.append([(seq, Point(point), bool(reply)) for _, seq, _, point, reply, _ in rows])
    return found


def stamping(folder: Path) -> Callable[[Settings], Node]:
    numbers = count(1)
    return lambda settings: StampedNode(settings, Stamps(folder / f"stamps-{next(numbers)}"))


@pytest.mark.parametrize("size", [100, 200_000], ids=["in records", "sealed end to end"])
def test_a_request_and_its_reply_are_stamped_at_both_nodes(tmp_path: Path, size: int) -> None:
    async def talk() -> None:
        async with nodes_here(2, kind=stamping(tmp_path)) as nodes:
            await nodes.application(1, "echo", on_request=lambda body, reply: reply(body))
            caller = await nodes.application(0)
            assert await caller.request("echo", marked(3, size), 5000) == marked(3, size)
            assert await caller.request("echo", b"a body without a marker", 5000)

    run(talk)
    assert stamped(tmp_path) == [
        [(3, GIVEN, False), (3, OUT, False), (3, IN, True), (3, GOT, True)],
        [(3, IN, False), (3, GOT, False), (3, GIVEN, True), (3, OUT, True)],
    ]


@pytest.mark.parametrize("size", [100, 200_000])
def test_a_message_of_an_acked_tunnel_is_stamped_once_at_each_point_however_many_chunks_it_has(
    tmp_path: Path, size: int
) -> None:
    async def talk() -> None:
        async with nodes_here(2, kind=stamping(tmp_path), splits=1) as nodes:
            got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

            def take(tunnel: Tunnel) -> None:
                tunnel.on_message = got.set_result

            await nodes.application(1, "sink", on_tunnel=take)
            sender = await nodes.application(0)
            tunnel = await sender.open_tunnel("sink", 5000)
            await tunnel.send(marked(4, size))
            assert await got == marked(4, size)

    run(talk)
    assert stamped(tmp_path) == [[(4, GIVEN, False), (4, OUT, False)], [(4, IN, False), (4, GOT, False)]]


def test_what_is_for_an_application_that_is_going_is_given_to_nobody(tmp_path: Path) -> None:
    async def talk() -> None:
        node = stamping(tmp_path)(Settings(address=LOOPBACK, port=1, key=KEY, network="test"))
        assert isinstance(node, StampedNode)
        link = node._applications[1] = RelayLink(node, 1)
        link._transport = there = Full(0)  # type: ignore[assignment]
        assert node._tell(1, relay.Broadcasted(marked(3)))
        there.abort()
        assert node._tell(1, relay.Broadcasted(marked(4)))
        node._stamps.close()

    run(talk)
    assert stamped(tmp_path) == [[(3, GOT, False)]]
