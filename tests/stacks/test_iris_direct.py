"""Direct tunnels: each lives as long as its connection, and nobody else's connection is one."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from free_ports import LOOPBACK
from hypothesis import given
from hypothesis import strategies as st
from iris_nodes import KEY, nodes_here, run
from iris_sessions import sent, shaken
from iris_transports import Full
from iris_tunnel_ends import Ends
from pattern_stories import until

from stacks.iris import frames, relay
from stacks.iris.direct import Direct
from stacks.iris.ends import REPAY_BYTES, STALLED_S
from stacks.iris.frames import FrameError, Op
from stacks.iris.links import RECORD_S
from stacks.iris.payload import BULK_BYTES
from stacks.iris.relay import TunnelAccept, TunnelAllow, TunnelClose, TunnelClosed, TunnelData
from stacks.iris.session import Session
from stacks.iris.tunnel import Tunnel
from stacks.iris.ways import TunnelLink, Ways


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=40), st.integers(1, 200))
def test_chunks_arrive_once_and_in_order_however_much_room_there_is(chunks: list[bytes], room: int) -> None:
    ends = Ends(direct=True).opened()
    ends.send(*chunks)
    while len(ends.got) < len(chunks):
        ends.allow(room)
        ends.pass_on()
    assert ends.got == chunks


@pytest.mark.parametrize("direct", [False, True], ids=["acked", "direct"])
def test_what_was_sent_is_granted_again_when_there_is_much_of_it(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.allow()
    for number in range(1, 201):
        ends.send(bytes(50_000))
        ends.pass_on()
        assert number * 50_000 - REPAY_BYTES < ends.granted <= number * 50_000
    assert len(ends.got) == 200


def test_a_large_chunk_that_was_changed_on_the_way_is_refused() -> None:
    ends = Ends(direct=True).opened()
    ends.allow()
    ends.send(bytes(BULK_BYTES), bytes(BULK_BYTES))
    coming = ends.lines[0].coming
    assert bytes(99) not in coming[0]
    coming[1] = coming[1][:-1] + bytes((coming[1][-1] ^ 1,))
    with pytest.raises(FrameError, match="are not what was sealed"):
        ends.pass_on()
    assert ends.got == [bytes(BULK_BYTES)]


@pytest.mark.parametrize("cut", [0, 1])
def test_a_tunnel_ends_when_its_connection_ends(cut: int) -> None:
    ends = Ends(direct=True).opened()
    ends.lines[cut].cut()
    ends.pass_on()
    assert ends.said[1] == [TunnelClosed(1, "the other end is gone")]
    assert ends.said[2] == [TunnelClosed(9, "the other end is gone")]
    assert ends.live == [0, 0]


def test_who_has_closed_while_the_other_is_full_waits_until_that_has_all() -> None:
    ends = Ends(direct=True).opened()
    ends.tunnels[1].ask(7, TunnelAllow(1, 1))
    for answer in (b"a", b"b", b"c"):  # for which there is no room
        ends.tunnels[2].ask(7, TunnelData(9, 1, answer))
    ends.send(b"a", b"b")
    ends.pass_on()
    ends.tunnels[1].ask(7, TunnelClose(1))
    ends.wait(3 * STALLED_S, 1, 2)
    assert ends.live == [1, 1]
    ends.allow()
    ends.pass_on()
    assert ends.got == [b"a", b"b"]
    assert ends.said[2][-1] == TunnelClosed(9, "")
    assert ends.live == [0, 0]


def test_who_has_closed_while_it_was_full_gives_up_an_end_that_says_nothing() -> None:
    ends = Ends(direct=True).opened()
    for answer in (b"a", b"b"):  # for which there is no room
        ends.tunnels[2].ask(7, TunnelData(9, 1, answer))
    ends.pass_on()
    ends.tunnels[1].ask(7, TunnelClose(1))
    for _ in range(int(STALLED_S) + 1):
        assert ends.lines[1].there
        ends.now += 1
        ends.tunnels[1].tend()
    assert not ends.lines[1].there
    ends.pass_on()
    assert ends.live == [0, 0]


class Slow:
    """An end with its connection, which brings what the test says.  there: the session of who sends.  said: what the
    application is told.
    """

    def __init__(self) -> None:
        self.now, self.said = 0.0, list[relay.Message]()
        self.there, here = shaken()
        self.end = Direct(7, 9, lambda _, message: self.said.append(message), lambda: None, clock=lambda: self.now)
        ways = Ways(lambda _: None, lambda *_: here, lambda: self.now)
        self.link = TunnelLink(ways, here, self.end)
        self.link._transport = self.transport = Full(0)  # type: ignore[assignment]
        self.end.begin(self.link)
        self.end.allow(100)

    def wait(self, seconds: int, bring: bytes = b"", *, every_s: int = 1) -> None:
        """Let time pass until the connection is cut; meanwhile there comes one byte after the other."""
        for second in range(seconds):
            if not self.transport.cut:
                self.now += 1
                if second % every_s == 0 and (byte := bring[second // every_s : second // every_s + 1]):
                    self.link.data_received(byte)
                self.end.tend(self.now)


def test_parts_of_a_record_are_signs_of_life_and_silence_is_none() -> None:
    slow = Slow()
    record = sent(slow.there, b"\0" + (20).to_bytes(4, "big") + bytes(20))
    assert STALLED_S < len(record) < RECORD_S
    slow.wait(len(record), record)
    assert not slow.transport.cut
    assert slow.said[1:] == [TunnelData(9, 20, bytes(20))]
    slow.wait(int(2 * STALLED_S))
    assert slow.now == len(record) + STALLED_S + 1
    assert slow.said[-1] == TunnelClosed(9, f"no word of the other end for {STALLED_S:g} s")


def test_a_record_whose_length_was_changed_ends_the_tunnel_though_there_are_signs_of_life() -> None:
    slow = Slow()
    record = sent(slow.there, b"\2")
    slow.link.data_received(bytes((record[0] | 0x80, *record[1:])))
    for _ in range(20):
        slow.wait(10, sent(slow.there, b"\2"), every_s=10)
    assert slow.transport.cut
    assert RECORD_S < slow.now <= RECORD_S + 10


def test_a_record_that_waits_for_room_is_no_changed_one() -> None:
    slow = Slow()
    record = sent(slow.there, b"\2")
    slow.link.data_received(record[:9])
    slow.now += 2 * RECORD_S
    slow.link.go_on()
    slow.link.data_received(record[9:12])
    slow.link.data_received(record[12:])
    assert not slow.transport.cut


def test_who_cannot_be_reached_is_gone_and_who_has_left_meanwhile_is_cut() -> None:
    ends = Ends(direct=True).offered()
    ends.tunnels[2].ask(7, TunnelAccept(200, 9))
    ends.reaching.pop()[2].lost()
    assert ends.said[2][-1] == TunnelClosed(9, "the other end is gone")
    ends.offered(number=2).tunnels[2].ask(7, TunnelAccept(201, 10))
    ends.tunnels[2].detach(7)
    ends.pass_on()
    assert ends.said[1][-1] == TunnelClosed(2, "the other end is gone")
    assert ends.live == [0, 0]


@given(st.binary(max_size=8), st.sampled_from([0, 65_531, 65_536, 65_541]))
def test_any_bytes_are_a_chunk_or_refused(head: bytes, more: int) -> None:
    frame = head + bytes(more)
    ends = Ends(direct=True).opened()
    end = ends.lines[0].end
    assert end is not None
    try:
        end.came([frame])
    except FrameError:
        return
    assert 5 < len(frame) <= 65_536 + 5 if frame[:1] == b"\0" else frame[:1] in (b"\1", b"\2")


def test_introductions_for_tunnels_are_read_as_they_were_written() -> None:
    assert frames.read_tunnel(frames.tunnel(2**64 - 1)) == 2**64 - 1
    assert frames.read_tunnel(frames.peers(Op.STATE, [])) is None
    with pytest.raises(FrameError, match="an introduction for a tunnel has 3 bytes"):
        frames.read_tunnel(frames.tunnel(1)[:3])


def test_nobody_without_the_key_and_no_number_but_one_that_is_waited_for_opens_a_tunnel() -> None:
    async def talk() -> None:
        async with nodes_here(2, direct=True) as world:
            there: list[Tunnel] = []
            await world.application(1, "sink", on_tunnel=there.append)
            opener = await world.application(0)
            node = world.nodes[0]

            async def knock(key: bytes, number: int) -> bytes:
                knocking = Session(initiator=True, key=key, network="test", hello=frames.tunnel(number))
                reader, writer = await asyncio.open_connection(LOOPBACK, node.own.port)
                writer.writelines(knocking.outgoing())
                answer = await reader.read(1000)
                if answer:
                    knocking.feed(answer)
                    knocking.send(b"\2")
                    knocking.send(b"\0\0\0\0\1x")
                    writer.writelines(knocking.outgoing())
                    assert await reader.read() == b""
                writer.close()
                return answer

            for number in range(20):
                assert await knock(bytes(32), number) == b""
                assert await knock(KEY, number)
            assert len(node.patterns.tunnels) == 0
            await until(lambda: len(world.nodes[1].overlay.trees.groups) == 5)
            tunnel = await opener.open_tunnel("sink", 30_000)
            got: list[bytes] = []
            tunnel.on_message = got.append
            await until(lambda: bool(there))
            large = Random(4).randbytes(3_000_000)
            await there[0].send(large)
            await until(lambda: got == [large])
            world.nodes[1].close()
            await until(lambda: tunnel.over == "the other end is gone")

    run(talk)
