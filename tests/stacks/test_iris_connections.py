"""Connections between two nodes: one stays of those that both have dialled, and one serves all places of a node."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from dataclasses import replace

import pytest
import uvloop
from iris_nodes import nodes_here, run
from pattern_stories import until

from stacks.iris.frames import Kind, Message, Op, Peer
from stacks.iris.links import PeerLink
from stacks.iris.node import Node, Settings

MARK, COUNT = b"\xff", 60


class Talking(Node):
    """It sends much over every connection, and from then on reads nothing: so much of it waits.

    ends: its connections.  shaking: those that it has dialled, which it does not read from before it is told to.  gone:
    those that are over.  got: how much has come over each.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.ends, self.shaking, self.gone = list[PeerLink](), list[PeerLink](), list[PeerLink]()
        self.got = Counter[PeerLink]()

    def made_peer(self, link: PeerLink) -> None:
        super().made_peer(link)
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # the kernel does not take all of it
            link._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, buffer, 100_000)
        if link.dialled:
            self._loop.call_soon(link._transport.pause_reading)  # as reading begins only behind this
            self.shaking.append(link)

    def known(self, link: PeerLink, peer: Peer) -> None:
        super().known(link, peer)
        link._transport.pause_reading()
        self.ends.append(link)
        for _ in range(COUNT):
            assert link.send(MARK, bytes(100_000))

    def frames(self, link: PeerLink, frames: list[bytes]) -> None:
        self.got[link] += sum(frame[:1] == MARK for frame in frames)
        super().frames(link, [frame for frame in frames if frame[:1] != MARK])

    def lost_peer(self, link: PeerLink, why: str) -> None:
        self.gone.append(link)
        super().lost_peer(link, why)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_of_two_connections_the_one_that_is_given_up_ends_behind_what_was_sent_over_it(loop: str) -> None:
    async def talk() -> None:
        async with nodes_here(2, kind=Talking) as world:
            nodes = [node for node in world.nodes if isinstance(node, Talking)]
            for node in nodes:
                node._wake()
            await until(lambda: [len(node._unknown) for node in nodes] == [2, 2])
            await until(lambda: all(one.dialled or one._session.peer for node in nodes for one in node._unknown))
            await asyncio.sleep(0.1)  # until both answers are there
            for node in nodes:
                node.shaking[0]._transport.resume_reading()
            await until(lambda: [len(node.ends) for node in nodes] == [2, 2])
            left = []
            for node, other in (nodes, nodes[::-1]):
                (kept,) = node._links.values()
                assert kept.dialled == (node.own.id < other.own.id)
                left += [(node, one) for one in node.ends if one is not kept]
            await until(lambda: all(one._why == "there is another connection to this node" for _, one in left))
            assert all(one._transport.get_write_buffer_size() for _, one in left)
            for node in nodes:
                for one in node.ends:
                    one._transport.resume_reading()
            await until(lambda: all(one in node.gone for node, one in left))
            assert [node.got[one] for node, one in left] == [COUNT, COUNT]
            await until(lambda: all(len(node.got) == 2 and set(node.got.values()) == {COUNT} for node in nodes))
            assert [len(node.gone) for node in nodes] == [1, 1]

    if loop == "uvloop":
        uvloop.run(asyncio.wait_for(talk(), 600))
    else:
        run(talk)


class Named(Node):
    """It knows by a name where the others are.  dials: how often it has connected to one."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(replace(settings, told=tuple(("localhost", port) for _, port in settings.told)))
        self.dials = 0

    def _link(self, place: tuple[str, int] | None = None) -> PeerLink:
        self.dials += place is not None
        return super()._link(place)

    def seek_again(self) -> set[tuple[str, int]]:
        """As some seconds later; the places that it dials."""
        self._dialling.clear()
        self._seek()
        return self._dialling


def test_a_node_that_is_known_by_a_name_is_dialled_once_and_again_when_it_is_gone() -> None:
    async def talk() -> None:
        async with nodes_here(2, kind=Named) as world:
            one, other = world.nodes
            assert isinstance(one, Named)
            other._settings = replace(other._settings, told=())
            await world.application(0)
            (link,) = one._links.values()
            assert one.seek_again() == set()
            await asyncio.sleep(0.5)
            assert (one.dials, list(one._links.values())) == (1, [link])
            other.close()
            await until(lambda: not one.overlay.peers)
            world.nodes[1] = new = Node(replace(other._settings, told=()))
            await new.listen()
            await until(lambda: list(one.overlay.peers) == [new.own.id])
            assert one.seek_again() == set()

    run(talk)


def test_a_node_of_no_use_is_dialled_again_by_none_of_its_names() -> None:
    async def talk() -> None:
        async with nodes_here(2, kind=Named) as world:
            one, other = world.nodes
            assert isinstance(one, Named)
            other._settings = replace(other._settings, told=())
            await world.application(0)
            one.overlay.table.remove(other.own.id)
            one.hang_up(other.own.id)
            await until(lambda: not one._links)
            assert one.seek_again() == set()
            assert one.dials == 1

    run(talk)


def test_what_is_for_a_node_whose_connection_has_just_been_cut_has_no_connection() -> None:
    async def talk() -> None:
        async with nodes_here(2) as world:
            await world.application(0)
            here, there = (node.overlay for node in world.nodes)
            world.nodes[0].hang_up(there.own.id)
            assert there.own.id in here.peers
            here.send(Message(Op.DIRECT, Kind.REPLY, there.own.id, here.own.id, 1, b"reply"))
            assert here.counts == {"no connection": 1}

    run(talk)
