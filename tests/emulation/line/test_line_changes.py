"""Timelines and recorded traces in the line, in virtual time: every change at its moment, every chance used once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.line.layout import Line
from emulation.line.medium import WIRED
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile import library, ratetrace
from emulation.profile.direction import FULL_FRAME
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from emulation.proof.traceproof import QueueReading, TraceUse, trace_check
from records.directions import DIRECTIONS

S, MS = 10**9, 10**6
STATIONS = ("sta1", "sta2")
MACS = {station: bytes([2, 0, 0, 0, 0, number]) for number, station in enumerate(STATIONS, 1)}
SERVER = bytes([2, 0, 0, 0, 1, 0])


def planned(profile: LinkProfile, *, seconds: float = 3.0, made_by: MediumName = "line") -> LinkPlan:
    return linkplan.plan(profile, STATIONS, seed=5, seconds=seconds, timeline_s=seconds, made_by=made_by)


def made(**settings: Any) -> LinkProfile:
    about = {"name": "made", "description": "made", "source": "made", "medium": "duplex", "rate": 1e6}
    return LinkProfile.model_validate(about | settings)


def frame(to: bytes = SERVER, size: int = 1250, number: int = 0) -> bytes:
    return to + bytes(6) + b"\x08\x00" + number.to_bytes(4, "big") + bytes(size - 18)


def play(line: Line, plan: LinkPlan, arrivals: list[tuple[int, int, bytes]]) -> list[tuple[int, int, int]]:
    """Frames (moment, port, data) while the timeline is played: what comes out (moment, port, number), to the end."""
    steps = list(plan.steps)
    for at, port, data in arrivals:
        while steps and round(steps[0].at_s * S) <= at:
            step = steps.pop(0)
            line.enter(round(step.at_s * S), step.state)
        line.medium.arrive(at, port, data)
    for step in steps:
        line.enter(round(step.at_s * S), step.state)
    line.medium.advance(1000 * S)
    return [(now, port, int.from_bytes(data[14:18], "big")) for now, port, data in line.medium.come_out(1000 * S)]


def trace_of(counts: list[int], step_ms: int = 50) -> dict[str, Any]:
    """A trace with so many chances in each step."""
    times = [number * step_ms + 1 for number, count in enumerate(counts) for _ in range(count)]
    return {"at": 0, "trace": {"uplink": {"opportunities_ms": [*times, len(counts) * step_ms]}, "step": step_ms / 1e3}}


def sent_bytes(plan: LinkPlan, edges: list[float]) -> list[float]:
    """Bytes that uplink 0 has really sent at each edge (s), where a full frame always waits."""
    line, steps = Line(plan, MACS), list(plan.steps)
    air = line.airs["uplink-0"]
    sender = line.up[0].sender
    found, now = [], 0

    def fill() -> None:
        while sender.has_room(FULL_FRAME):
            line.medium.arrive(now, 1, frame(size=FULL_FRAME))

    for moment in sorted({*(round(edge * S) for edge in edges), *(round(step.at_s * S) for step in steps)}):
        while (due := air.due()) < moment:
            now = due
            line.medium.advance(now)
            fill()
        now = moment
        line.medium.advance(now)
        left = air.left_bytes(now)
        if moment in {round(edge * S) for edge in edges}:
            found.append(air.sent_bytes - left)
        while steps and round(steps[0].at_s * S) <= moment:
            line.enter(moment, steps.pop(0).state)
        fill()
    return found


COUNTS = st.lists(st.one_of(st.just(0), st.integers(0, 60)), min_size=2, max_size=40)


@given(COUNTS)
def test_a_queue_that_is_never_empty_sends_in_every_step_exactly_what_was_recorded(counts: list[int]) -> None:
    plan = planned(made(timeline=[trace_of(counts)]), seconds=len(counts) * 0.05)
    (event,) = plan.profile.timeline
    assert event.trace
    assert event.trace.uplink
    recorded = event.trace.uplink.counts(step_s=0.05, until_s=len(counts) * 0.05)
    edges = [number * 0.05 for number in range(1, len(recorded) + 1)]
    # To the nanosecond: each frame and each change is rounded to one.
    off = np.array(sent_bytes(plan, edges)) - np.cumsum(recorded) * FULL_FRAME
    assert np.abs(off).max() <= 1 + 1e-6 * np.cumsum(recorded).max() * FULL_FRAME


def test_steps_made_for_htb_would_be_wrong_here() -> None:
    """They reckon with frames that end at the rate at which they began: the line shares a change out."""
    counts = [20, 1, 20, 0, 20, 1, 1, 30] * 5
    profile = made(timeline=[trace_of(counts)])
    edges = [number * 0.05 for number in range(1, len(counts))]
    recorded = np.cumsum(counts)[:-1] * FULL_FRAME
    right, wrong = (
        np.array(sent_bytes(planned(profile, seconds=2.0, made_by=way), edges)) - recorded
        for way in ("line", "tc")  # type: ignore[assignment]
    )
    assert np.abs(right).max() < 50
    assert np.abs(wrong).max() > 1000


@pytest.mark.parametrize(("asked", "holds"), [(1.0, True), (0.9, False), (2.0, False)])
def test_the_check_of_a_trace_holds_for_the_line_and_fails_for_another_trace(asked: float, holds: bool) -> None:
    profile = library.load("stepped-trace")
    plan = planned(profile, seconds=18.0)
    (event,) = profile.timeline
    assert event.trace
    assert event.trace.downlink
    line, steps = Line(plan, MACS), list(plan.steps)
    air, sender = line.airs["downlink-0"], line.down[0].sender
    readings: list[QueueReading] = []
    for at in range(0, 18 * S, MS):
        while steps and round(steps[0].at_s * S) <= at:
            line.enter(at, steps.pop(0).state)
        while sender.has_room(FULL_FRAME):
            line.medium.arrive(at, WIRED, frame(MACS["sta1"], FULL_FRAME))
        if at % (S // 4) == 0:
            readings.append(QueueReading(t_ns=at, sent_bytes=air.sent_bytes, backlog_bytes=air.backlog_bytes()))
    scaled = [
        QueueReading(t_ns=one.t_ns, sent_bytes=round(one.sent_bytes / asked), backlog_bytes=one.backlog_bytes)
        for one in readings
    ]
    use = TraceUse(
        queue="downlink-0", direction="downlink", trace=event.trace, rate_before=6e6, begins_ns=0, late_s=0.0,
        readings=scaled,
    )  # fmt: skip
    assert trace_check(use).holds is holds


def test_both_media_lose_the_same_packets_while_a_trace_is_played() -> None:
    """Lists are as long for one as for the other, though their steps have other rates."""
    profile = made(loss=0.05, rate="20 Mbit/s", timeline=[trace_of([80, 0, 80, 90])])
    for seconds in (3.0, 60.0, 600.0):
        lists = [
            [one.digest for one in planned(profile, seconds=seconds, made_by=way).losses] for way in ("tc", "line")
        ]  # type: ignore[arg-type]
        assert lists[0] == lists[1]


def test_a_rate_that_changes_while_a_frame_is_sent_is_shared_out_among_all_who_send() -> None:
    """Two stations of a duplex medium: 5 ms at 1 Mbit/s, the other half at 2; then all frames at 2."""
    plan = planned(made(timeline=[{"at": 0.005, "change": {"rate": "2 Mbit/s"}}]))
    came = play(Line(plan, MACS), plan, [(0, 1, frame(number=1)), (0, 2, frame(number=2)), (0, 1, frame(number=3))])
    assert came == [(7_500_000, WIRED, 1), (7_500_000, WIRED, 2), (12_500_000, WIRED, 3)]


def test_what_a_station_owes_to_its_own_rate_is_owed_at_the_new_one() -> None:
    """Two frames of 10,000 bits at 100 kbit/s of 1 Mbit/s: the second may begin after 100 ms; at 30 ms all becomes
    ten times as fast, so that what is left of it, 7,000 bits, takes 7 ms."""
    events = [{"at": 0.03, "change": {"rate": "1 Mbit/s"}}]
    plan = planned(made(medium="shared", stations={"sta1": {"rate": "100 kbit/s"}}, timeline=events))
    came = play(Line(plan, MACS), plan, [(0, 1, frame(number=1)), (0, 1, frame(number=2))])
    assert came == [(10 * MS, WIRED, 1), (47 * MS, WIRED, 2)]


def test_a_shorter_queue_keeps_what_waits_and_takes_no_more() -> None:
    events = [{"at": 0.001, "change": {"queue_packets": 3}}, {"at": 0.5, "change": {"queue_packets": 8}}]
    plan = planned(made(queue_packets=8, timeline=events))
    line = Line(plan, MACS)
    first = [(0, 1, frame(number=number)) for number in range(9)]
    second = [(52 * MS, 1, frame(number=20))]  # five have gone, four wait but for the one on air
    third = [(600 * MS + number, 1, frame(number=30 + number)) for number in range(12)]
    came = [number for _, _, number in play(line, plan, [*first, *second, *third])]
    assert came == [*range(9), *range(30, 39)]
    assert line.airs["uplink-0"].overflowed == 4


def test_an_outage_of_one_station_is_of_no_other_and_its_packets_are_counted() -> None:
    events = [{"at": 0.1, "outage": 0.1, "stations": ["sta1"]}]
    plan = planned(made(rate=None, timeline=events, loss_channel="station"))
    line = Line(plan, MACS)
    arrivals = [
        (at * MS, port, frame(to, 100, number=at * 10 + port))
        for at in range(50, 250, 10)
        for port, to in ((1, SERVER), (2, SERVER))
    ]
    down = [(at, WIRED, frame(MACS["sta1"], 100, 5)) for at, port, _ in arrivals if port == 1]
    came = play(line, plan, sorted([*arrivals, *down]))
    seen = {port: {number // 10 for _, _, number in came if number % 10 == port} for port in (1, 2)}
    assert seen[2] == set(range(50, 250, 10))
    assert seen[1] == {*range(50, 100, 10), *range(200, 250, 10)}
    assert sum(port == 1 for _, port, _ in came) == 10
    dark = {way: sum(one.dark for one in line.lists.values() if one.losses.direction == way) for way in DIRECTIONS}
    assert dark == {"uplink": 10, "downlink": 10}


def test_a_handover_has_its_own_losses_and_delay_and_leads_to_other_settings() -> None:
    events = [{"at": 0.1, "handover": {"lasts": 0.2, "loss": 0.5, "extra_delay": 0.03, "to": {"delay": "5 ms"}}}]
    plan = planned(made(rate=None, delay="1 ms", timeline=events))
    line = Line(plan, MACS)
    came = play(line, plan, [(at * MS, 1, frame(size=100, number=at)) for at in range(0, 500, 2)])
    delays = {number: now - number * MS for now, _, number in came}
    during = [number for number in delays if 100 <= number < 300]
    assert {delays[number] for number in delays if number < 100} == {1 * MS}
    assert {delays[number] for number in during} == {31 * MS}
    # Order is kept: those just after the handover wait for those of its end.
    assert {delays[number] for number in delays if number >= 330} == {5 * MS}
    within = plan.in_force(plan.steps[0].state, 0, "uplink", "sta1")
    assert len(during) == 100 - within.dropped_of(100)


def moments(plan: LinkPlan) -> Iterator[int]:
    return (round(step.at_s * S) for step in plan.steps)


def test_steps_of_a_trace_are_at_their_edges_to_the_nanosecond() -> None:
    plan = planned(made(timeline=[trace_of([3] * 20, step_ms=10)]), seconds=0.2)
    assert list(moments(plan)) == [number * 10 * MS for number in range(len(plan.steps))]


def test_what_tc_sets_for_a_trace_is_as_it_was() -> None:
    counts = np.array([3, 0, 5])
    profile = made(timeline=[trace_of([3, 0, 4])])
    (event,) = profile.timeline
    assert event.trace
    assert event.trace.uplink
    found = [step.state.sides[0].uplink.rate for step in planned(profile, seconds=0.15, made_by="tc").steps]
    wanted = ratetrace.paces(event.trace.uplink.counts(step_s=0.05, until_s=0.15), step_s=0.05)
    assert found == [*[one.rate for one in wanted], *found[len(wanted) :]]
    assert len(wanted) == len(counts)
