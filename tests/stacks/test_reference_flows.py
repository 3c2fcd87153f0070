"""Flows of the reference broker: who has what, in which order, and what its faults do to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from taking import Taking

from stacks.reference.broker import Broker
from stacks.reference.faults import Faults, Lane
from stacks.reference.flows import Flows
from stacks.reference.routes import Route

FLOW = "flow/f"


def end(destination: str = FLOW) -> Route:
    return Route(destination, None, durable=False, lane=Lane(Faults()), keeps=False)


def flows(ends: int, *, split: int = 0) -> tuple[Flows, list[Route]]:
    mine, routes = Flows(Faults(split=split)), [end() for _ in range(ends)]
    for route in routes:
        mine.attach(route)
    return mine, routes


def receiver(mine: Flows, sender: object, destination: str = FLOW) -> Route:
    way = mine.way(destination, sender)
    assert way is not None
    return way[0]


@given(ends=st.integers(1, 5), senders=st.lists(st.integers(0, 6), max_size=40))
def test_all_of_one_senders_goes_to_one_and_senders_are_spread_evenly(ends: int, senders: list[int]) -> None:
    mine, routes = flows(ends)
    pairs = {(sender, id(receiver(mine, sender))) for sender in senders}
    assert len(pairs) == len(set(senders))
    each = [sum(one == id(route) for _, one in pairs) for route in routes]
    assert max(each) - min(each) <= 1


def test_without_a_receiving_end_it_is_for_nobody() -> None:
    mine, (only,) = flows(1)
    assert mine.way("flow/other", 0) is None
    mine.detach(only)
    assert mine.way(FLOW, 0) is None


def test_senders_go_on_at_another_end_when_theirs_has_gone_and_the_others_stay() -> None:
    mine, routes = flows(3)
    before = {sender: receiver(mine, sender) for sender in range(3)}
    mine.detach(routes[0])
    for sender, own in before.items():
        now = receiver(mine, sender)
        assert now is not routes[0]
        assert own is routes[0] or now is own


@pytest.mark.parametrize("senders", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("split", [1, 2, 3, 4])
def test_every_kth_message_of_each_flow_after_its_first_goes_to_another_end(senders: int, split: int) -> None:
    mine, _ = flows(2, split=split)
    had = [[receiver(mine, sender) for sender in range(senders)] for _ in range(13)]
    for its in zip(*had, strict=True):
        astray = [number for number, route in enumerate(its) if route is not its[0]]
        assert astray == list(range(split, 13, split))


def test_with_one_end_nothing_is_split() -> None:
    mine, (only,) = flows(1, split=1)
    assert all(receiver(mine, "s") is only for _ in range(5))


def test_flows_of_one_sender_are_each_their_own_and_a_sender_that_comes_again_is_new() -> None:
    mine, routes = flows(2)
    other = end("flow/g")
    mine.attach(other)
    assert receiver(mine, "s", "flow/g") is other
    first = receiver(mine, "s")
    mine.sender_gone("s")
    assert receiver(mine, "s") is not first
    assert first in routes


@pytest.mark.parametrize("fault", [Faults(swap=3), Faults(reorder=3)], ids=["swap", "reorder"])
@pytest.mark.parametrize("ends", [1, 2])
def test_messages_that_change_places_are_of_one_sender_whoever_else_sends_there(fault: Faults, ends: int) -> None:
    later: list[Callable[[], None]] = []
    broker = Broker(faults=fault, later=lambda _, action: later.append(action), crash=lambda: None)
    outlets = [Taking() for _ in range(ends)]
    for number, outlet in enumerate(outlets):
        broker.subscribe(client_id=str(number), number=1, destination=FLOW, durable="", selector=None, outlet=outlet)
    for seq in range(6):
        for sender in (b"a", b"b", b"c"):
            broker.publish(FLOW, None, b"%b%d" % (sender, seq), sender=sender)
    for action in later:
        action()
    for sender in (b"a", b"b", b"c"):
        its = [[body for body in outlet.bodies if body.startswith(sender)] for outlet in outlets]
        (order,) = [one for one in its if one]
        assert order == [b"%b%d" % (sender, seq) for seq in (0, 1, 3, 2, 4, 5)]
