"""What the proof makes of measurements; the measurements themselves are in test_stages_*.py."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_links import profile
from hypothesis import given
from hypothesis import strategies as st

from emulation.plan import linkplan
from emulation.profile.direction import FULL_FRAME
from emulation.proof.asked import asked_of, order_is_kept
from emulation.proof.order import order_check, overtakers
from emulation.proof.probe import Arrivals
from emulation.proof.proof import Samples, probe_direction
from emulation.proof.rateproof import rate_check, rate_frame_bytes, rate_frames
from emulation.proof.trialproof import CHANGE_TOLERANCE_S, QueueUse, timeline_checks, trial_rate_check
from emulation.tc.player import Played, play
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck

OUTAGES = profile(timeline=[{"at": 1, "outage": 0.5}, {"at": 3, "outage": 0.5}])
PLAN = linkplan.plan(OUTAGES, ["sta1"], seed=1, seconds=10, timeline_s=10)


def played(*late_s: float) -> list[Played]:
    return [
        Played(label=step.label, at_s=step.at_s, due_ns=0, t_ns=round(late * 1e9))
        for step, late in zip(PLAN.steps, late_s, strict=False)
    ]


def test_changes_in_time_hold() -> None:
    (check,) = timeline_checks(PLAN, played(0, 0.001, 0.002, 0.001), until_s=10)
    assert check.holds
    assert check.delivered == 0.002


def test_a_change_that_is_late_is_found_out() -> None:
    (check,) = timeline_checks(PLAN, played(0, 0, CHANGE_TOLERANCE_S + 0.001, 0), until_s=10)
    assert not check.holds


def test_a_change_that_never_came_is_found_out() -> None:
    (check,) = timeline_checks(PLAN, played(0, 0, 0), until_s=10)
    assert check.delivered == float("inf")
    assert not check.holds


def test_changes_that_were_not_due_yet_are_not_missed() -> None:
    (check,) = timeline_checks(PLAN, played(0, 0), until_s=2)
    assert check.holds
    assert timeline_checks(PLAN, [], until_s=0.5) == ()


class Clock:
    """A player's clock: it waits no time, and may be told to stop."""

    def __init__(self, stops_at_ns: int | None = None) -> None:
        self.waited: list[int] = []
        self.played: list[Played] = []
        self._stops_at_ns = stops_at_ns

    def until(self, due_ns: int) -> bool:
        self.waited.append(due_ns)
        return self._stops_at_ns is None or due_ns < self._stops_at_ns


def test_a_player_does_each_step_at_its_time_and_keeps_a_record() -> None:
    clock, done = Clock(), []
    play(PLAN.steps, 5_000_000_000, lambda step: lambda: done.append(step.label), clock)  # type: ignore[arg-type]
    assert clock.waited == [6_000_000_000, 6_500_000_000, 8_000_000_000, 8_500_000_000]
    assert done == ["outage begins", "outage ends"] * 2
    assert [one.due_ns for one in clock.played] == clock.waited


def test_a_player_that_is_stopped_does_nothing_more() -> None:
    clock = Clock(stops_at_ns=7_000_000_000)
    play(PLAN.steps, 5_000_000_000, lambda _: lambda: None, clock)  # type: ignore[arg-type]
    assert [one.label for one in clock.played] == ["outage begins", "outage ends"]


@given(st.lists(st.integers(0, 30), max_size=40))
def test_overtakers_are_those_with_a_lower_number_behind_them(numbers: list[int]) -> None:
    order = list(dict.fromkeys(numbers))
    slow = sum(any(later < one for later in order[place + 1 :]) for place, one in enumerate(order))
    assert overtakers(np.array(numbers, dtype=np.int64)) == slow


def arrivals(*numbers: int) -> Arrivals:
    order = np.array(numbers, dtype=np.int64)
    return Arrivals(
        sent=max(numbers) + 1, number=order, sent_ns=order, received_ns=order, frame_bytes=np.full(len(order), 58)
    )


def test_one_packet_that_overtakes_another_breaks_a_link_that_keeps_order() -> None:
    assert order_check("uplink", [arrivals(0, 1, 2), arrivals(3, 5, 6)]).holds, "those between were lost"
    found = order_check("uplink", [arrivals(0, 1, 2), arrivals(3, 5, 4, 6)])
    assert (found.quantity, found.delivered, found.holds) == ("reordered", 1, False)


def test_a_packet_that_comes_while_the_next_ones_are_sent_was_overtaken_as_well() -> None:
    assert not order_check("downlink", [arrivals(0, 2), arrivals(3, 1, 4)]).holds


def test_a_copy_that_comes_late_overtakes_nothing() -> None:
    assert order_check("downlink", [arrivals(0, 1, 1, 2, 0, 3)]).holds


def test_order_is_kept_unless_a_profile_lets_packets_overtake() -> None:
    kept = {"delay": 0.02, "jitter": 0.005}
    assert order_is_kept(profile(**kept).uplink)
    assert order_is_kept(profile(delay=0.02, keep_order=False).uplink), "as all wait equally long"
    assert not order_is_kept(profile(**kept, keep_order=False).uplink)
    assert not order_is_kept(profile(delay=0.02, reorder=0.01).uplink)


def proven(*, keep_order: bool) -> dict[str, LinkCheck]:
    """A probe of a link of which a packet in each hundred overtakes the one before it."""
    asked = profile(delay=0.02, jitter=0.005, keep_order=keep_order)
    plan = linkplan.plan(asked, ["sta1"], seed=1, seconds=5, timeline_s=5)
    steps = probe_direction(asked_of(plan, plan.first, 0, "uplink"), Samples(jitter=300))
    first, here = 0, next(steps)
    while True:
        numbers = np.arange(first, first + here.frames)
        numbers[99::100], numbers[98::100] = numbers[98::100].copy(), numbers[99::100].copy()
        sent_ns = (numbers - first) * round(here.spacing_s * 1e9)
        first += here.frames
        made = Arrivals(
            sent=here.frames, number=numbers, sent_ns=sent_ns, received_ns=sent_ns + 20_000_000,
            frame_bytes=np.full(here.frames, here.size),
        )  # fmt: skip
        try:
            here = steps.send(made)
        except StopIteration as end:
            return {check.quantity: check for check in end.value}


def test_a_proof_holds_order_where_it_is_kept_and_says_nothing_where_it_is_not() -> None:
    found = proven(keep_order=True)["reordered"]
    assert found.delivered > 0
    assert not found.holds
    assert "reordered" not in proven(keep_order=False)


def test_what_is_sent_at_once_fits_into_a_queue_that_counts_packets() -> None:
    """On a slow link the frames are small, and more of them have as many bytes as the queue has packets' room."""
    side = profile(rate=1e5, queue_packets=12).uplink
    assert rate_frame_bytes(side) < FULL_FRAME
    assert rate_frames(side)[0] <= 12


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_packet_that_was_lost_has_used_the_air_whichever_way_it_went(direction: Direction) -> None:
    plan = linkplan.plan(profile(rate=1e6, loss=0.2), ["sta1"], seed=1, seconds=5, timeline_s=5)
    (loss,) = (one for one in plan.losses if one.direction == direction)
    side = getattr(plan.first.sides[0], direction)
    left = np.arange(60)
    arrived = left[~loss.lists(left)]
    for place, holds in ((arrived, True), (np.arange(len(arrived)), False)):
        received_ns = (place * side.airtime(FULL_FRAME) * 1e9).astype(np.int64)
        burst = Arrivals(
            sent=60, number=arrived, sent_ns=received_ns, received_ns=received_ns,
            frame_bytes=np.full(len(arrived), FULL_FRAME),
        )  # fmt: skip
        assert rate_check(asked_of(plan, plan.first, 0, direction), burst).holds == holds


@pytest.mark.parametrize(("faster", "holds"), [(1.0, True), (1.03, False), (0.97, False)])
def test_a_full_bucket_that_fills_while_frames_are_sent_is_not_taken_for_the_rate(faster: float, holds: bool) -> None:
    """At 1 Gbit/s a sender is about as fast as the link, so what the bucket held lasts for most of the burst."""
    plan = linkplan.plan(
        profile(rate=1e9, burst_bytes=500_000, queue_bytes=520_000), ["sta1"], seed=1, seconds=5, timeline_s=5
    )
    asked = asked_of(plan, plan.first, 0, "uplink")
    at_once, paced = rate_frames(asked.side)
    airtime_ns = asked.side.airtime(FULL_FRAME) * 1e9
    went = np.concatenate([np.arange(at_once) * 0.6, at_once * 0.6 + np.arange(paced) * 0.98]) * airtime_ns
    received, tokens, last = [], 500_000 * 8.0, 0.0
    for at in went:  # a token bucket of the link's own rate
        now = max(float(at), last)
        tokens = min(tokens + (now - last) * faster, 500_000 * 8) - FULL_FRAME * 8
        last = now + max(0.0, -tokens / faster)
        tokens = max(tokens, 0.0)
        received.append(last)
    burst = Arrivals(
        sent=len(went), number=np.arange(len(went)), sent_ns=went.astype(np.int64),
        received_ns=np.array(received).astype(np.int64), frame_bytes=np.full(len(went), FULL_FRAME),
        went_ns=went.astype(np.int64), went_bytes=np.full(len(went), FULL_FRAME),
    )  # fmt: skip
    assert rate_check(asked, burst).holds == holds


def use(*, carried_bits: float, never_empty: bool, changes_bits: float = 0.0) -> QueueUse:
    return QueueUse(
        name="air", direction="uplink", rate=1e6, seconds=10, carried_bits=carried_bits, at_once_bits=25_000,
        never_empty=never_empty, changes_bits=changes_bits,
    )  # fmt: skip


def test_a_queue_may_carry_less_than_its_rate_only_when_it_was_empty_at_times() -> None:
    assert trial_rate_check(use(carried_bits=5e6, never_empty=False)).holds
    assert not trial_rate_check(use(carried_bits=5e6, never_empty=True)).holds
    assert not trial_rate_check(use(carried_bits=11e6, never_empty=False)).holds


def test_what_changes_of_the_rate_let_through_or_held_back_is_allowed_for() -> None:
    changes = 100 * FULL_FRAME * 8
    for bits in (9.0e6, 11e6):
        assert not trial_rate_check(use(carried_bits=bits, never_empty=True)).holds
        assert trial_rate_check(use(carried_bits=bits, never_empty=True, changes_bits=changes)).holds
