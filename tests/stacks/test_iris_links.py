"""The connections of a node, with transports that take what they are told to."""

from __future__ import annotations

import gc
import weakref

import pytest
from free_ports import LOOPBACK
from iris_nodes import KEY, nodes_here, run
from iris_sessions import sent, shaken
from iris_transports import Busy, Full
from pattern_stories import until

from stacks.iris import links, relay
from stacks.iris.client import FaultError, TimedOutError
from stacks.iris.frames import Peer, beat
from stacks.iris.node import Processors, places
from stacks.iris.relay import encode
from stacks.iris.session import Session


def test_how_requests_end_has_room_behind_what_may_be_dropped_and_else_the_application_is_cut_off() -> None:
    link = links.RelayLink(Busy(), 1)  # type: ignore[arg-type]
    link._transport = full = Full(links.ROOM_BYTES + 1)  # type: ignore[assignment]
    link._early = None  # it is welcome
    for dropped in (relay.Published("t", b"x"), relay.Broadcasted(b"x"), relay.Requested(1, b"x", 9)):
        assert not link.say(dropped)
    assert link.say(relay.Replied(1, True))
    assert link.say(relay.TunnelAllow(1, 9))
    assert not link.say(relay.Replied(1, False, True, bytes(links.SMALL_BYTES)))
    assert not full.cut
    full.waits += links.SMALL_ROOM_BYTES
    assert not link.say(relay.Broadcasted(b"x"))
    assert not full.cut
    assert not link.say(relay.Replied(2, True))
    assert full.cut


def test_what_others_have_for_an_application_comes_behind_its_welcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "ROOM_BYTES", 1000)
    link = links.RelayLink(Busy(), 1)  # type: ignore[arg-type]
    link._transport = Full(0)  # type: ignore[assignment]
    early = [relay.Broadcasted(b"x"), relay.Requested(1, b"y", 9)]
    for message in early:
        assert link.say(message)
    assert not link.say(relay.Broadcasted(bytes(1000)))
    assert link._out == []
    link.welcome()
    late = relay.Broadcasted(b"z")
    link.say(late)
    assert b"".join(link._out) == b"".join(map(encode, (relay.Welcome(relay.VERSION), *early, late)))


def test_a_record_whose_length_was_changed_ends_the_session_after_a_minute() -> None:
    """Whoever changes it makes the receiver wait for bytes that are other records."""
    one, other = (Session(initiator=first, key=KEY, network="test", hello=b"") for first in (True, False))
    other.feed(b"".join(one.outgoing()))
    one.feed(b"".join(other.outgoing()))
    link = links.PeerLink(busy := Busy(), other)  # type: ignore[arg-type]
    link._transport = full = Full(0)  # type: ignore[assignment]
    link.peer = Peer(1, LOOPBACK, 1)
    for _ in range(199):  # a slow link, which never is between two records
        link.data_received((record := sent(one, beat(True)))[:5])
        busy.at += 1
        link.data_received(record[5:] + (record := sent(one, beat(True)))[:5])
        link.tend(busy.at)
        link.data_received(record[5:])
    assert not full.cut
    record = sent(one, beat(True))
    link.data_received(bytes((record[0] | 0x80, *record[1:])))
    for second in range(200, 262):
        busy.at = float(second)
        link.tend(busy.at)
        link.data_received(sent(one, beat(True)))
        assert full.cut is (second > 199 + links.RECORD_S)
    assert link._why == "a record has not come to its end within 60 s"


def test_a_connection_that_is_left_ends_behind_what_has_gathered_and_is_cut_after_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert links.LEAVE_S == 60
    monkeypatch.setattr(links, "LEAVE_S", 0.01)

    async def talk() -> None:
        one, other = shaken()
        link = links.PeerLink(Busy(), one)  # type: ignore[arg-type]
        link._transport = full = Full(1)  # type: ignore[assignment]
        link.send(beat(True))
        link.leave("there is another one")
        assert other.feed(b"".join(full.written)) == [beat(True)]
        assert (full.ended, full.cut) == (True, False)
        await until(lambda: full.cut)
        link.leave("there is another one")

    run(talk)


def test_what_has_gathered_goes_before_a_connection_is_closed_that_the_other_side_has_ended() -> None:
    one, other = shaken()
    link = links.PeerLink(Busy(), one)  # type: ignore[arg-type]
    link._transport = full = Full(0)  # type: ignore[assignment]
    link.send(beat(True))
    assert full.written == []
    link.eof_received()
    assert other.feed(b"".join(full.written)) == [beat(True)]


def test_a_connection_that_has_ended_leaves_nothing_even_without_a_garbage_collector() -> None:
    session = Session(initiator=False, key=KEY, network="test", hello=b"")
    link = links.PeerLink(Busy(), session)  # type: ignore[arg-type]
    gone = weakref.ref(link)
    gc.disable()
    try:
        del link
        assert gone() is None
    finally:
        gc.enable()


def test_a_member_without_a_handler_hears_nothing_and_stays() -> None:
    async def talk() -> None:
        async with nodes_here(2) as world:
            member, caller = await world.application(1, "plain"), await world.application(0)
            await until(lambda: len(world.nodes[1].overlay.trees.groups) == 5)
            caller.broadcast("plain", b"x")
            with pytest.raises(FaultError, match="this member answers no requests"):
                await caller.request("plain", b"x", 30_000)
            with pytest.raises(TimedOutError):
                await caller.open_tunnel("plain", 300)
            assert member.over is None

    run(talk)


def test_the_processors_are_read_and_places_are_addresses_and_ports() -> None:
    processors = Processors()
    assert 0 <= processors.load(10.0) <= 1
    assert places(["10.0.0.1", "10.0.0.2:7"], 5) == (("10.0.0.1", 5), ("10.0.0.2", 7))
    with pytest.raises(ValueError, match="invalid literal"):
        places(["10.0.0.1:x"], 5)
