"""How tunnels end: behind what was sent, and with a word where something is lost or nobody is there any more."""

from __future__ import annotations

import math

import pytest
from iris_tunnel_ends import Ends

from stacks.iris.acked import WINDOW
from stacks.iris.ends import STALLED_S
from stacks.iris.frames import Kind
from stacks.iris.relay import TunnelAllow, TunnelClose, TunnelClosed, TunnelData

BOTH = pytest.mark.parametrize("direct", [False, True], ids=["acked", "direct"])


@pytest.mark.parametrize("busy", [False, True], ids=["alone", "beside other load"])
def test_a_tunnel_that_loses_a_packet_ends_and_says_so_whatever_else_goes_over_its_link(busy: bool) -> None:
    ends = Ends().opened()
    ends.allow()
    ends.send(b"a", b"b")
    del ends.way[0]
    ends.silence_s = 0.0 if busy else math.inf
    ends.wait(2 * STALLED_S, 1, 2)
    assert ends.got == []
    assert ends.said[2][-1] == TunnelClosed(9, "something was lost on the way")
    assert ends.said[1][-1] == TunnelClosed(1, "the other end is gone")
    assert ends.live == [0, 0]


def test_a_tunnel_that_is_closed_behind_a_lost_packet_ends_and_says_so() -> None:
    ends = Ends().opened()
    ends.allow()
    ends.send(b"a", b"b")
    del ends.way[-1]
    ends.tunnels[1].ask(7, TunnelClose(1))
    ends.silence_s = 0.0  # the nodes go on talking
    ends.wait(2 * STALLED_S, 1, 2)
    assert ends.got == [b"a"]
    assert ends.said[2][-1] == TunnelClosed(9, "something was lost on the way")
    assert ends.live == [0, 0]


def test_an_acknowledgement_that_is_lost_is_made_up_for_by_the_next_word() -> None:
    ends = Ends().opened()
    ends.allow()
    ends.send(*[b"a"] * WINDOW)
    ends.tunnels[1].ask(7, TunnelData(1, 1, b"b"))
    while ends.way:
        message = ends.way.pop(0)
        if message.kind is not Kind.ACK:
            ends.tunnels[message.key].arrived(message)
    assert len(ends.got) == WINDOW
    ends.wait(3 * STALLED_S, 1, 2)
    assert ends.got == [*[b"a"] * WINDOW, b"b"]
    assert ends.live == [1, 1]


def test_two_ends_whose_words_wait_behind_much_else_live_as_long_as_that_comes() -> None:
    """A slow link, on which all keeps its order: for minutes nothing of this tunnel comes, but other things do."""
    ends = Ends().opened()
    ends.allow()
    ends.send(b"a")
    ends.silence_s, behind = 0.0, []
    for _ in range(int(5 * STALLED_S)):
        ends.now += 1
        for tunnels in ends.tunnels.values():
            tunnels.tend()
        behind += ends.way
        ends.way.clear()
    assert ends.live == [1, 1]
    ends.way += behind
    ends.pass_on()
    assert ends.got == [b"a"]
    ends.wait(3 * STALLED_S, 1, 2)
    assert ends.live == [1, 1]
    ends.silence_s = math.inf
    for _ in range(int(STALLED_S) + 2):
        ends.now += 1
        ends.tunnels[1].tend()
        ends.way.clear()
    assert ends.said[1][-1] == TunnelClosed(1, f"no word of the other end for {STALLED_S:g} s")


def test_a_word_to_a_tunnel_that_is_no_more_ends_the_other_end() -> None:
    ends = Ends().opened()
    ends.tunnels[2].detach(7)
    ends.way.clear()  # its farewell is lost
    ends.silence_s = 0.0
    ends.wait(STALLED_S / 2, 1)
    assert ends.said[1] == [TunnelClosed(1, "the other end is gone")]


@BOTH
def test_what_was_sent_before_a_close_comes_though_the_application_leaves_at_once(direct: bool) -> None:
    ends = Ends(direct=direct).opened()
    ends.allow()
    chunks = [b"%d" % number for number in range(3 * WINDOW)]
    ends.send(*chunks)
    ends.tunnels[2].ask(7, TunnelAllow(9, 1))
    ends.tunnels[1].ask(7, TunnelClose(1))
    assert ends.said[1][-1] == TunnelClosed(1, "")
    ends.tunnels[1].detach(7)
    ends.tunnels[2].ask(7, TunnelData(9, 1, b"x"))  # of whoever has not heard yet that nobody takes it
    ends.wait(5, 1, 2)
    assert ends.got == chunks
    assert ends.said[2][-1] == TunnelClosed(9, "")
    assert ends.live == [0, 0]


def test_what_is_left_behind_goes_when_nobody_takes_it() -> None:
    ends = Ends().opened()
    ends.send(*[b"x"] * (2 * WINDOW))
    ends.tunnels[1].ask(7, TunnelClose(1))
    assert ends.live == [1, 1]
    ends.tunnels[2].detach(7)
    ends.pass_on()
    assert ends.live == [0, 0]
    ends = Ends().opened()
    ends.send(*[b"x"] * (2 * WINDOW))
    ends.tunnels[1].ask(7, TunnelClose(1))
    for _ in range(int(STALLED_S) + 2):  # the other node is gone
        ends.way.clear()
        ends.now += 1
        ends.tunnels[1].tend()
    assert ends.live[0] == 0
