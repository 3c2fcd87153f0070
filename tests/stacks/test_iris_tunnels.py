"""Tunnels of both kinds: ordered, throttled; what is lost ends them.  Tests hold the way between two ends."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iris_nodes import nodes_here, run
from iris_tunnel_ends import Ends
from pattern_stories import until

from stacks.driver import StackError
from stacks.iris import relay
from stacks.iris.acked import WINDOW
from stacks.iris.client import TimedOutError
from stacks.iris.ends import GRANT_BYTES, STALLED_S
from stacks.iris.frames import FrameError, Kind, Message, Op
from stacks.iris.relay import (
    CHUNK_LIMIT,
    TunnelAccept,
    TunnelAllow,
    TunnelClose,
    TunnelClosed,
    TunnelData,
    TunnelOffered,
    TunnelOpen,
)
from stacks.iris.tunnel import REPAY_BYTES, ROOM_BYTES, Tunnel
from stacks.iris.tunnels import TEND_S

BOTH = pytest.mark.parametrize("direct", [False, True], ids=["acked", "direct"])


def test_both_applications_learn_that_the_tunnel_is_there_and_what_they_may_send() -> None:
    ends = Ends()
    ends.tunnels[1].open(7, TunnelOpen(1, "c", 1000), (5,))
    (asked,) = ends.way
    assert (asked.op, asked.kind, asked.key) == (Op.BALANCE, Kind.TUNNEL, 5)
    ends.way.clear()
    ends.tunnels[2].offer(7, asked)
    ends.tunnels[2].ask(7, TunnelAccept(200, 9))
    ends.pass_on()
    assert ends.said[2] == [TunnelOffered(200, 65_536), TunnelAllow(9, GRANT_BYTES)]
    assert ends.said[1] == [relay.TunnelOpened(1, False, 65_536), TunnelAllow(1, GRANT_BYTES)]
    assert [len(wheel) for wheel in ends.wheels.values()] == [0, 0], "nothing waits any more"


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=40), st.randoms(use_true_random=False), st.integers(1, 5))
def test_chunks_arrive_once_and_in_order_whichever_way_packets_take(
    chunks: list[bytes], draw: Random, ack_every: int
) -> None:
    ends = Ends(ack_every=ack_every).opened()
    ends.allow()
    ends.send(*chunks)
    while ends.way:
        message = ends.way.pop(draw.randrange(len(ends.way)))
        for _ in range(draw.choice((1, 1, 2))):  # TCP brings nothing twice; two ways may
            ends.tunnels[message.key].arrived(message)
    assert ends.got == chunks
    ends.now += TEND_S
    for node in (2, 1):
        ends.tunnels[node].tend()
        ends.pass_on()
    assert ends.granted == sum(map(len, chunks)), "what has come is granted back, what is left over by the next tending"


def test_only_a_window_is_on_the_way_and_an_acknowledgement_makes_room() -> None:
    ends = Ends().opened()
    ends.allow()
    ends.send(*[b"x"] * (WINDOW + 10))
    assert len(ends.way) == WINDOW
    ends.pass_on()
    assert len(ends.got) == WINDOW + 10


def test_large_chunks_are_granted_again_before_there_are_enough_of_them_for_an_acknowledgement() -> None:
    ends = Ends(ack_every=128).opened()
    ends.allow()
    count = 3 * GRANT_BYTES // CHUNK_LIMIT
    for _ in range(count):
        ends.send(bytes(CHUNK_LIMIT))
        ends.pass_on()
    assert len(ends.got) == count
    assert ends.granted > 2 * GRANT_BYTES


@BOTH
def test_who_has_no_room_is_sent_nothing_and_holds_the_sender_up(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.allow(100)
    chunk = bytes(60)
    ends.send(*[chunk] * 300)
    ends.pass_on()
    assert len(ends.got) == 1
    for _ in range(3 * int(STALLED_S / TEND_S)):  # that lasts, and the tunnel lives
        ends.now += TEND_S
        for tunnels in ends.tunnels.values():
            tunnels.tend()
        ends.pass_on()
    large = bytes(65_536)
    with pytest.raises(relay.RelayError, match="a chunk of 65536 bytes, where"):
        ends.send(*[large] * (2 * GRANT_BYTES // len(large)))
    ends.allow()
    ends.pass_on()
    assert ends.got[:300] == [chunk] * 300
    assert ends.got[300:] == [large] * (len(ends.got) - 300)
    assert len(ends.got) > 300 + (GRANT_BYTES // len(large)) // 2
    ends.send(b"on it goes")
    ends.pass_on()
    assert ends.got[-1] == b"on it goes"


@BOTH
def test_the_rest_of_a_message_that_has_begun_needs_no_room_of_its_own(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.allow(10)
    ends.tunnels[1].ask(7, TunnelData(1, 30, bytes(10)))
    for _ in range(2):
        ends.tunnels[1].ask(7, TunnelData(1, 0, bytes(10)))
    ends.pass_on()
    assert len(ends.got) == 3


@BOTH
def test_a_close_comes_behind_what_was_sent(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.send(b"a", b"b")
    ends.tunnels[1].ask(7, TunnelClose(1))
    ends.pass_on()
    assert ends.said[1][-1] == TunnelClosed(1, "")
    assert ends.said[2] == []
    ends.allow()
    ends.pass_on()
    assert ends.got == [b"a", b"b"]
    assert ends.said[2][-1] == TunnelClosed(9, "")
    ends.pass_on()
    assert [len(tunnels) for tunnels in ends.tunnels.values()] == [0, 0]


def test_what_was_sent_before_a_close_comes_even_where_something_is_sent_back_meanwhile() -> None:
    ends = Ends().opened()
    ends.send(b"a", b"b")
    ends.tunnels[1].ask(7, TunnelClose(1))
    ends.pass_on()
    ends.tunnels[2].ask(7, TunnelData(9, 1, b"x"))  # to nobody, who says so
    ends.pass_on()
    assert ends.said[2] == []
    ends.allow()
    ends.pass_on()
    assert ends.got == [b"a", b"b"]
    assert ends.said[2][-1] == TunnelClosed(9, "")


def test_an_application_may_have_both_ends_of_a_tunnel_and_leave() -> None:
    ends = Ends()
    here = ends.tunnels[1]
    here.open(7, TunnelOpen(1, "c", 1000), (5,))
    here.offer(7, ends.way.pop())
    here.ask(7, TunnelAccept(101, 9))
    ends.pass_on()
    here._send = here.arrived  # as on one node, where nothing lies between
    here.detach(7)
    assert len(here) == 0


@BOTH
def test_a_number_that_is_taken_and_a_chunk_of_no_bytes_are_refused(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    with pytest.raises(relay.RelayError, match="there is a tunnel 1 already"):
        ends.tunnels[1].open(7, TunnelOpen(1, "c", 1000), (5,))
    with pytest.raises(relay.RelayError, match="a chunk of no bytes"):
        ends.tunnels[1].ask(7, TunnelData(1, 0, b""))
    ends.tunnels[1].open(7, TunnelOpen(2, "c", 1000), (5,))
    with pytest.raises(relay.RelayError, match="there is a tunnel 2 already"):
        ends.tunnels[1].open(7, TunnelOpen(2, "c", 1000), (5,))


@BOTH
def test_an_application_that_leaves_ends_its_tunnels_at_once(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.tunnels[2].detach(7)
    ends.pass_on()
    assert ends.said[1] == [TunnelClosed(1, "the other end is gone")]
    ends.send(b"late")  # the application may not have heard
    assert ends.way == []


def test_a_packet_for_a_tunnel_that_is_no_more_ends_the_other_end() -> None:
    ends = Ends().opened()
    ends.tunnels[2].detach(7)
    ends.way.clear()  # its farewell is lost
    ends.send(b"a")
    ends.pass_on()
    assert ends.said[1] == [TunnelClosed(1, "the other end is gone")]


@BOTH
def test_nobody_in_time_is_told_and_who_accepts_later_hears_of_it(direct: bool) -> None:
    ends = Ends(direct=direct)
    ends.tunnels[1].open(7, TunnelOpen(1, "c", 1000), (5,))
    ends.tunnels[2].offer(7, ends.way.pop())
    (number,) = ends.wheels[1].due(2.0)
    assert ends.tunnels[1].expired(number)
    assert ends.said[1] == [relay.TunnelOpened(1, True)]
    ends.tunnels[2].ask(7, TunnelAccept(200, 9))
    ends.pass_on()
    assert ends.said[2][-1] == TunnelClosed(9, "the other end is gone")
    ends.tunnels[2].ask(7, TunnelAccept(201, 10))
    assert ends.said[2][-1] == TunnelClosed(10, "it was accepted too late")
    assert not ends.tunnels[1].expired(12345)


def test_what_cannot_be_read_is_refused() -> None:
    ends = Ends().opened()
    for kind in (Kind.DATA, Kind.ACK, Kind.CLOSE, Kind.ACCEPT):
        with pytest.raises(FrameError, match=f"a tunnel's {kind.name} has 3 bytes"):
            ends.tunnels[2].arrived(Message(Op.DIRECT, kind, 2, 1, 200, b"abc"))
    with pytest.raises(relay.RelayError, match="a Closed is out of place"):
        ends.tunnels[2].ask(7, relay.Closed(""))


@BOTH
def test_real_tunnels_carry_small_and_large_messages_both_ways_between_nodes(direct: bool) -> None:
    async def talk() -> None:
        async with nodes_here(2, direct=direct) as world:
            got: list[bytes] = []
            there: list[Tunnel] = []

            def take(tunnel: Tunnel) -> None:
                there.append(tunnel)
                tunnel.on_message = lambda data: (got.append(data), tunnel.send(data[::-1]))[0]

            one = await world.application(0)
            with pytest.raises(TimedOutError):
                await one.open_tunnel("sink", 30_000)  # at once: there is no member
            await world.application(1, "sink", on_tunnel=take)
            await until(lambda: len(world.nodes[1].overlay.trees.groups) == 5)
            tunnel = await one.open_tunnel("sink", 30_000)
            echoed: list[bytes] = []
            tunnel.on_message = echoed.append
            draw = Random(3)
            sent = [draw.randbytes(draw.choice((1, 60, 65_536, 65_537, 500_000))) for _ in range(60)]
            await asyncio.gather(*map(tunnel.send, sent))
            await until(lambda: len(echoed) == len(sent))
            assert got == sent
            assert echoed == [data[::-1] for data in sent]
            tunnel.close()
            await until(lambda: tunnel.over is not None and there[0].over is not None)
            with pytest.raises(StackError, match="the tunnel is closed"):
                await tunnel.send(b"late")

    run(talk)


@BOTH
def test_who_hears_nothing_of_the_other_end_gives_the_tunnel_up_and_idle_ones_live_on(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    for _ in range(int(3 * STALLED_S / TEND_S)):
        ends.now += TEND_S
        for tunnels in ends.tunnels.values():
            tunnels.tend()
        ends.pass_on()
    assert [len(tunnels) for tunnels in ends.tunnels.values()] == [1, 1]
    for _ in range(int(STALLED_S / TEND_S) + 2):
        ends.now += TEND_S
        ends.tunnels[2].tend()
        ends.way.clear()
    assert ends.said[2][-1] == TunnelClosed(9, f"no word of the other end for {STALLED_S:g} s")


@BOTH
def test_what_an_application_has_no_room_for_stays_until_it_has(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.allow()
    ends.full = True
    ends.send(b"a", b"b")
    ends.pass_on()
    assert ends.got == []
    ends.full = False
    ends.now += TEND_S + 0.1
    ends.tunnels[2].tend()
    ends.pass_on()
    assert ends.got == [b"a", b"b"]


def test_a_tunnel_is_closed_behind_chunks_that_wait_for_an_allowance() -> None:
    said: list[relay.Message] = []

    async def talk() -> None:
        tunnel = Tunnel(said.append, 5)
        tunnel.heard(TunnelAllow(5, 3))
        sent = [tunnel.send(b"abc"), tunnel.send(b"def")]
        tunnel.close()
        tunnel.close()
        late = tunnel.send(b"late")
        assert said == [TunnelData(5, 3, b"abc")]
        tunnel.heard(TunnelAllow(5, 30))
        await asyncio.gather(*sent)
        with pytest.raises(StackError, match="the tunnel is closed"):
            await late

    asyncio.run(talk())
    assert said == [TunnelData(5, 3, b"abc"), TunnelData(5, 3, b"def"), TunnelClose(5)]


def test_an_application_allows_again_what_it_has_when_there_is_much_of_it() -> None:
    said: list[relay.Message] = []
    tunnel = Tunnel(said.append, 5)
    tunnel.begin()
    for number in range(1, 201):
        tunnel.heard(TunnelData(5, CHUNK_LIMIT, bytes(CHUNK_LIMIT)))
        allowed = sum(one.bytes for one in said if isinstance(one, TunnelAllow)) - ROOM_BYTES
        assert number * CHUNK_LIMIT - REPAY_BYTES < allowed <= number * CHUNK_LIMIT
    assert len(said) == 4
