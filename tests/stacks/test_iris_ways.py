"""Connections of direct tunnels: tried for as long as it takes a busy node to have room, and then no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from free_ports import LOOPBACK, free_ports
from iris_nodes import KEY, nodes_here, run
from pattern_stories import until

from stacks.iris import ways
from stacks.iris.direct import Way
from stacks.iris.frames import Peer
from stacks.iris.links import Flushed, hello
from stacks.iris.session import Session
from stacks.iris.tunnel import Tunnel
from stacks.iris.ways import Ways

WHO = pytest.mark.parametrize("who", ["nobody", "somebody who says nothing", "another node"])


class Waiting:
    """The end of a tunnel.  begun, lost_at: its connections, and when it has heard that there is none.

    forsaken: whether its application has gone.
    """

    def __init__(self) -> None:
        self.begun, self.lost_at = list[Way](), list[float]()
        self.forsaken = False

    def begin(self, way: Way) -> None:
        self.begun.append(way)

    def alive(self) -> None:
        pass

    def came(self, frames: list[bytes]) -> None:
        pass

    def lost(self) -> None:
        self.lost_at.append(asyncio.get_running_loop().time())


class Tries(Ways):
    """Of a node that has nothing else.  tries: how many sessions were made."""

    def __init__(self) -> None:
        self.tries = 0
        super().__init__(self._soon, self._made, asyncio.get_running_loop().time)

    @staticmethod
    def _soon(link: Flushed) -> None:
        asyncio.get_running_loop().call_soon(link.flush)

    def _made(self, dialled: bool, introduction: bytes) -> Session:
        self.tries += 1
        return Session(initiator=dialled, key=KEY, network="test", hello=introduction)

    @property
    def nothing_left(self) -> bool:
        return not self._tasks and not self._links


@asynccontextmanager
async def there(who: str) -> AsyncIterator[Peer]:
    """Where a node should be, whose identifier is 1."""
    if who == "nobody":
        yield Peer(1, LOOPBACK, free_ports(1)[0])
    elif who == "another node":
        async with nodes_here(1) as world:
            yield Peer(1, LOOPBACK, world.nodes[0].own.port)
    else:

        async def heard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        async with await asyncio.start_server(heard, LOOPBACK, 0) as server:
            yield Peer(1, LOOPBACK, server.sockets[0].getsockname()[1])


def test_nobody_is_tried_again_for_an_application_that_has_gone() -> None:
    async def talk() -> None:
        async with there("nobody") as place:
            here, end = Tries(), Waiting()
            end.forsaken = True
            here.reach(place, 7, end)  # type: ignore[arg-type]
            await until(lambda: bool(end.lost_at))
            assert here.tries == 1

    run(talk)


@WHO
def test_who_is_not_there_is_tried_for_some_seconds_and_then_given_up_once(
    monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    monkeypatch.setattr(ways, "REACH_S", 0.5)

    async def talk() -> None:
        async with there(who) as place:
            here, end = Tries(), Waiting()
            begun_at = asyncio.get_running_loop().time()
            here.reach(place, 7, end)  # type: ignore[arg-type]
            await until(lambda: bool(end.lost_at))
            assert end.lost_at[0] - begun_at >= 0.5
            await until(lambda: here.nothing_left)
            await asyncio.sleep(0.2)
            assert (len(end.begun), len(end.lost_at), here.nothing_left) == (0, 1, True)

    run(talk)


@WHO
def test_a_node_that_ends_meanwhile_leaves_nothing(who: str) -> None:
    async def talk() -> None:
        async with there(who) as place:
            here, end = Tries(), Waiting()
            here.reach(place, 7, end)  # type: ignore[arg-type]
            await asyncio.sleep(0.15)
            assert not here.nothing_left
            here.close()
            await until(lambda: here.nothing_left)
            tries = here.tries
            await asyncio.sleep(0.2)
            assert (here.tries, end.begun, end.lost_at) == (tries, [], [])

    run(talk)


def test_who_is_there_just_when_time_is_up_has_no_connection() -> None:
    async def talk() -> None:
        own, here = Peer(1, LOOPBACK, free_ports(1)[0]), Tries()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            session = Session(initiator=False, key=KEY, network="test", hello=hello(own))
            session.feed(await reader.read(1000))
            writer.writelines(session.outgoing())
            with suppress(ConnectionError):
                await reader.read()
            writer.close()

        class Late(Waiting):
            def begin(self, way: Way) -> None:
                super().begin(way)
                for task in here._tasks:
                    task.cancel()

        async with await asyncio.start_server(answer, LOOPBACK, own.port):
            here.reach(own, 7, end := Late())  # type: ignore[arg-type]
            await until(lambda: bool(end.begun) and not here._tasks)
            await until(lambda: here.nothing_left)
            assert len(end.lost_at) == 1

    run(talk)


def test_a_node_that_has_too_many_peers_at_once_which_it_does_not_know_yet_gets_all_tunnels(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ways.REACH_S == 3
    monkeypatch.setattr(ways, "REACH_S", 60)  # a stall is no failure
    monkeypatch.setattr("stacks.iris.node.UNKNOWN", 2)

    async def talk() -> None:
        async with nodes_here(2, direct=True) as world:
            taken: list[Tunnel] = []
            await world.application(1, "sink", on_tunnel=taken.append)
            opener = await world.application(0)
            await until(lambda: len(world.nodes[1].overlay.trees.groups) == 5)
            tunnels = await asyncio.gather(*(opener.open_tunnel("sink", 60_000) for _ in range(12)))
            got: list[bytes] = []
            for tunnel in taken:
                tunnel.on_message = got.append
            for tunnel in tunnels:
                await tunnel.send(b"x")
            await until(lambda: len(got) == 12)
            assert [tunnel.over for tunnel in (*tunnels, *taken)] == [None] * 24

    run(talk)
    assert "there are 2 peers already that have not shown that they have the key" in capfd.readouterr().err
