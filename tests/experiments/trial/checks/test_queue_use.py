"""A trial's queues are held against the rate that they had when each frame was sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from busy_medium import saturated

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.direction import FULL_FRAME
from emulation.profile.profile import LinkProfile
from emulation.proof.trialproof import QueueUse, trial_rate_check
from emulation.tc.player import Played
from emulation.tc.shaper import QueueCount
from experiments.trial.checks.queue_use import limits, queue_uses, rates_set
from records.airtime import Steps
from records.schema import resources_table

SECOND, START = 10**9, 50 * 10**9
STATIONS = ["sta1", "sta2"]
# Of README's own profile: 11 Mbit/s with 826 us a frame becomes 2 Mbit/s.
MY_LINK = {"rate": "11 Mbit/s", "frame_overhead": "826 us", "queue_bytes": 150_000}
SLOWER = {"at": "4 s", "change": {"rate": "2 Mbit/s"}}


def planned(**settings: Any) -> LinkPlan:
    base = {"name": "made", "description": "d", "source": "s", "medium": "shared"}
    profile = LinkProfile.model_validate(base | settings)
    return linkplan.plan(profile, STATIONS, seed=1, seconds=12, timeline_s=10)


def played(plan: LinkPlan) -> list[Played]:
    return [
        Played(label=one.label, at_s=one.at_s, due_ns=0, t_ns=START + round(one.at_s * SECOND)) for one in plan.steps
    ]


def observed(
    plan: LinkPlan, sizes: tuple[int, ...] = (FULL_FRAME,), *, faster: float = 1.0, backlog: float = 150_000
) -> QueueUse:
    """The use of `air` in 8 s in which it was never idle, at `faster` times the rates that were asked."""
    (queue,) = linkplan.queues(plan)
    found = limits(plan, played(plan), queue)
    steps = Steps(
        np.array([(max(one.t_ns, START) - START) / SECOND for one in found]),
        np.array([one.rate * faster for one in found]),
        np.array([one.medium.frame_overhead / faster for one in found]),
    )
    t_s, sent, frames = saturated(steps, sizes, until_s=8, every_s=0.25)
    counts = [
        QueueCount(name="air", bytes=int(a), packets=int(b), dropped=0, backlog_bytes=0)
        for a, b in zip(sent, frames, strict=True)
    ]
    t_ns = [START + round(t * SECOND) for t in t_s]
    resources = resources_table(
        [
            (t, "queue:air", metric, float(value))
            for t, one in zip(t_ns[:-1], counts, strict=False)
            for metric, value in (
                ("sent_bytes", one.bytes), ("sent_packets", one.packets), ("backlog_bytes", backlog),
            )
        ]
    )  # fmt: skip
    ends = (t_ns[0], counts[:1]), (t_ns[-1], counts[-1:])
    (use,) = queue_uses(plan, played(plan), resources, ends)
    return use


CHANGES = [
    pytest.param([SLOWER], id="slower"),
    pytest.param([{"at": "3 s", "change": {"rate": "54 Mbit/s"}}], id="faster"),
    pytest.param([SLOWER, {"at": "6.1 s", "change": {"rate": "11 Mbit/s"}}], id="there and back"),
    pytest.param([{"at": "4.1 s", "change": {"frame_overhead": "100 us"}}], id="another overhead"),
    pytest.param([{"at": "2 s", "change": {"frame_overhead": 0, "rate": "2 Mbit/s"}}], id="both"),
    pytest.param([], id="no change"),
]


@pytest.mark.parametrize("sizes", [(FULL_FRAME,), (FULL_FRAME, 66), (66,)], ids=str)
@pytest.mark.parametrize("timeline", CHANGES)
def test_a_link_that_was_used_to_the_full_over_a_change_has_held(
    timeline: list[dict[str, Any]], sizes: tuple[int, ...]
) -> None:
    check = trial_rate_check(observed(planned(**MY_LINK, timeline=timeline), sizes))
    assert check.holds, check
    assert check.delivered == pytest.approx(check.asked, rel=0.01)


@pytest.mark.parametrize("timeline", CHANGES)
def test_a_link_that_was_faster_than_asked_is_found_out(timeline: list[dict[str, Any]]) -> None:
    check = trial_rate_check(observed(planned(**MY_LINK, timeline=timeline), faster=1.06))
    assert check.delivered > check.high


def test_a_link_that_was_slower_than_asked_is_found_out_though_it_changed() -> None:
    plan = planned(**MY_LINK | {"queue_bytes": 10**6}, timeline=[SLOWER])
    assert trial_rate_check(observed(plan, backlog=10**6)).low > 0
    assert not trial_rate_check(observed(plan, faster=0.94, backlog=10**6)).holds


def test_what_waits_for_a_slow_station_does_not_show_that_the_medium_was_busy() -> None:
    plan = planned(rate=1e6, stations={"sta2": {"rate": 1e5}})
    assert not observed(plan).never_empty
    assert observed(planned(rate=1e6)).never_empty


def test_the_rates_and_overheads_of_a_timeline_are_rows() -> None:
    plan = planned(**MY_LINK, timeline=[SLOWER, {"at": "6 s", "change": {"frame_overhead": "100 us"}}])
    rows = rates_set(plan, played(plan), since_ns=7).to_pylist()
    found = {metric: [(row["t_ns"], row["value"]) for row in rows if row["metric"] == metric]
             for metric in ("rate_bit_per_s", "frame_overhead_s")}  # fmt: skip
    times = [7, START + 4 * SECOND, START + 6 * SECOND]
    assert found["rate_bit_per_s"] == list(zip(times, [11e6, 2e6, 2e6], strict=True))
    assert found["frame_overhead_s"] == list(zip(times, [826e-6, 826e-6, 100e-6], strict=True))
    still = planned(**MY_LINK)
    assert rates_set(still, [], since_ns=7).num_rows == 0


def test_without_samples_a_change_is_judged_by_the_two_readings() -> None:
    plan = planned(**MY_LINK, timeline=[SLOWER])
    ends = [
        (t_ns, [QueueCount(name="air", bytes=sent, packets=sent // FULL_FRAME, dropped=0, backlog_bytes=0)])
        for t_ns, sent in ((START, 0), (START + 8 * SECOND, 1000 * FULL_FRAME))
    ]
    (use,) = queue_uses(plan, played(plan), pa.Table.from_pylist([], resources_table([]).schema), (ends[0], ends[1]))
    assert 0 < use.carried_bits < use.rate * use.seconds
    assert not use.never_empty
