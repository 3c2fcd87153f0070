"""From a trial's counters and samples to the check of a trace's sum."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile import library
from emulation.tc.losstable import StageCount
from emulation.tc.player import Played
from emulation.tc.queuecounts import QueueCount
from experiments.trial.reading import Reading
from experiments.trial.traced import trace_checks
from records.directions import DIRECTIONS
from records.schema import resources_table

S = 10**9
START_S, WINDOW_S = 100, 18
# The whole of the library's trace: 3750 frames of 1514 bytes in 18 s, down the link.
TRACE_BYTES = 3750 * 1514

NOTHING_MET = StageCount(
    losses=(),
    dark=dict.fromkeys(DIRECTIONS, 0),
    entered=dict.fromkeys(DIRECTIONS, (0, 0)),
    received=dict.fromkeys(DIRECTIONS, 0),
)


def plan_of(name: str) -> LinkPlan:
    return linkplan.plan(library.load(name), ["sta1"], seed=1, seconds=WINDOW_S, timeline_s=WINDOW_S)


def measured(plan: LinkPlan, share: float) -> SimpleNamespace:
    """A trial whose downlink has carried this share of the trace, evenly, with an empty queue."""
    names = [queue.name for queue in linkplan.queues(plan)]

    def counts(at_s: float) -> tuple[QueueCount, ...]:
        bytes_ = round(TRACE_BYTES * share * at_s / WINDOW_S)
        return tuple(QueueCount(name=name, bytes=bytes_, packets=0, dropped=0, backlog_bytes=0) for name in names)

    rows = [
        (round((START_S + at_s) * S), f"queue:{one.name}", metric, value)
        for at_s in range(-1, WINDOW_S + 2)
        for one in counts(max(at_s, 0))
        for metric, value in (("sent_bytes", one.bytes), ("backlog_bytes", one.backlog_bytes))
    ]
    readings = tuple(
        Reading(t_ns=round((START_S + at_s) * S), queues=counts(max(at_s, 0)), stage=NOTHING_MET)
        for at_s in (-1, 0, WINDOW_S, WINDOW_S + 1)
    )
    played = [
        Played(label=one.label, at_s=one.at_s, due_ns=due, t_ns=due + 100_000)
        for one in plan.steps
        for due in (round((START_S + one.at_s) * S),)
    ]
    return SimpleNamespace(readings=readings, resources=resources_table(rows), played=played)


@pytest.mark.parametrize(("share", "holds"), [(0.5, True), (1.0, True), (1.05, False)])
def test_each_queue_that_a_trace_paces_is_held_to_its_sum(share: float, holds: bool) -> None:
    plan = plan_of("stepped-trace")
    (check,) = trace_checks(plan, measured(plan, share))  # type: ignore[arg-type]
    assert check.direction == "downlink"
    assert check.asked == pytest.approx(TRACE_BYTES * 8 / WINDOW_S, rel=0.001)
    assert check.delivered == pytest.approx(share * check.asked, rel=0.001)
    assert check.holds == holds
    assert check.detail.endswith(f"packets waited in 0 of {WINDOW_S} samples")


def test_a_link_without_a_trace_has_no_such_check() -> None:
    plan = plan_of("vehicle-handover")
    assert trace_checks(plan, measured(plan, 1.0)) == ()  # type: ignore[arg-type]
