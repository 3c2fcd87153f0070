"""A recorded trace held by its sum."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from emulated_links import profile

from emulation.plan import linkplan
from emulation.profile.direction import FULL_FRAME
from emulation.profile.events import Trace
from emulation.profile.ratetrace import RateTrace
from emulation.proof.traceproof import QueueReading, TraceUse, trace_check
from emulation.proof.trialproof import QueueUse, trial_rate_check

# 3 Mbit/s in one half of each second, nothing in the other.
TRACE = RateTrace(opportunities_ms=(*range(4, 501, 4), 1000))
SECONDS, SAMPLE_S, BACKLOG = 20, 0.25, 150_000
FULL = FULL_FRAME * 126 * SECONDS


def use(share: float, *, backlog: int, begins_s: float = 0.0, rate_before: float = 1e6) -> TraceUse:
    """A queue that has carried this share of what the trace let through in each sample."""
    times = [number * SAMPLE_S for number in range(int(SECONDS / SAMPLE_S) + 1)]
    through = [_through(one - begins_s, rate_before) for one in times]
    sent = accumulate(((later - earlier) * share for earlier, later in pairwise(through)), initial=5000.0)
    readings = [
        QueueReading(t_ns=round(t * 1e9), sent_bytes=round(bytes_), backlog_bytes=backlog)
        for t, bytes_ in zip(times, sent, strict=True)
    ]
    return TraceUse(
        queue="uplink-0", direction="uplink", trace=Trace(uplink=TRACE), rate_before=rate_before,
        begins_ns=round(begins_s * 1e9), late_s=0.001, readings=readings,
    )  # fmt: skip


def _through(since_s: float, rate_before: float) -> float:
    if since_s < 0:
        return since_s * rate_before / 8
    whole, rest = divmod(round(since_s * 1e3), 1000)
    return FULL_FRAME * (whole * 126 + sum(one <= rest for one in TRACE.opportunities_ms))


def test_a_queue_that_carries_what_the_trace_lets_through_holds() -> None:
    check = trace_check(use(1.0, backlog=BACKLOG))
    assert check.holds, check
    assert check.asked == pytest.approx(FULL * 8 / SECONDS, rel=0.01)
    assert check.low > 0.9 * check.asked, "packets waited all the time"


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_tenth_too_much_or_too_little_in_sum_is_found_out(share: float) -> None:
    assert not trace_check(use(share, backlog=BACKLOG)).holds


def test_a_queue_that_was_empty_at_times_may_carry_less_but_never_more() -> None:
    check = trace_check(use(0.3, backlog=0))
    assert check.holds
    assert check.low < 0, "what may be under way at either end"
    assert not trace_check(use(1.1, backlog=0)).holds


def test_what_passed_before_the_trace_began_is_held_to_the_rate_of_that_time() -> None:
    assert trace_check(use(1.0, backlog=BACKLOG, begins_s=10.0, rate_before=2e6)).holds
    assert not trace_check(use(1.1, backlog=BACKLOG, begins_s=10.0, rate_before=2e6)).holds


def test_the_check_of_the_mean_rate_alone_does_not_see_it() -> None:
    """It allows a frame for each change of the rate, and a trace changes it twenty times a second."""
    made = linkplan.plan(
        profile(rate=1e6, timeline=[{"at": 0, "trace": {"uplink": {"opportunities_ms": TRACE.opportunities_ms}}}]),
        ["sta1"], seed=1, seconds=SECONDS, timeline_s=SECONDS,
    )  # fmt: skip
    mean = QueueUse(
        name="uplink-0", direction="uplink", rate=FULL * 8 / SECONDS, seconds=SECONDS, carried_bits=1.1 * FULL * 8,
        at_once_bits=0, never_empty=False, changes_bits=len(made.steps) * FULL_FRAME * 8,
    )  # fmt: skip
    assert trial_rate_check(mean).holds
