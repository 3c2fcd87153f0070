"""Flows of the reference broker: who has what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stacks.reference.faults import Every, Faults, Lane
from stacks.reference.flows import Flows
from stacks.reference.routes import Route

FLOW = "flow/f"


def end(destination: str = FLOW) -> Route:
    return Route(destination, None, durable=False, lane=Lane(Faults()), keeps=False)


def flows(ends: int, *, split: int = 0) -> tuple[Flows, list[Route]]:
    mine, routes = Flows(Every(split)), [end() for _ in range(ends)]
    for route in routes:
        mine.attach(route)
    return mine, routes


@given(ends=st.integers(1, 5), senders=st.lists(st.integers(0, 6), max_size=40))
def test_all_of_one_senders_goes_to_one_and_senders_are_spread_evenly(ends: int, senders: list[int]) -> None:
    mine, routes = flows(ends)
    had = [(sender, mine.receiver(FLOW, sender)) for sender in senders]
    pairs = {(sender, id(route)) for sender, route in had}
    assert len(pairs) == len(set(senders))
    each = [sum(one == id(route) for _, one in pairs) for route in routes]
    assert max(each) - min(each) <= 1


def test_without_a_receiving_end_it_is_for_nobody() -> None:
    mine, (only,) = flows(1)
    assert mine.receiver("flow/other", 0) is None
    mine.detach(only)
    assert mine.receiver(FLOW, 0) is None


def test_senders_go_on_at_another_end_when_theirs_has_gone_and_the_others_stay() -> None:
    mine, routes = flows(3)
    before = {sender: mine.receiver(FLOW, sender) for sender in range(3)}
    mine.detach(routes[0])
    for sender, own in before.items():
        now = mine.receiver(FLOW, sender)
        assert now is not routes[0]
        assert own is routes[0] or now is own


def test_a_split_message_goes_to_another_end_and_the_next_one_to_the_senders_own() -> None:
    mine, _ = flows(2, split=3)
    had = [mine.receiver(FLOW, "s") for _ in range(6)]
    assert [route is had[0] for route in had] == [True, True, False, True, True, False]
    alone, (only,) = flows(1, split=1)
    assert alone.receiver(FLOW, "s") is only


def test_flows_of_one_sender_are_each_their_own_and_a_sender_that_comes_again_is_new() -> None:
    mine, routes = flows(2)
    other = end("flow/g")
    mine.attach(other)
    assert mine.receiver("flow/g", "s") is other
    first = mine.receiver(FLOW, "s")
    mine.sender_gone("s")
    assert mine.receiver(FLOW, "s") is not first
    assert first in routes
