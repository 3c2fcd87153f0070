from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulation.profile import ratetrace
from emulation.profile.direction import FULL_FRAME
from emulation.profile.ratetrace import Pace, RateTrace, paces, shares

TIMES = st.lists(st.integers(0, 3000), min_size=1, max_size=200).map(sorted).filter(lambda times: times[-1] > 0)
STEP_S = 0.05
COUNTS = st.lists(st.one_of(st.just(0), st.integers(0, 90)), min_size=1, max_size=120)


def delivered(found: list[Pace], *, step_s: float = STEP_S, late_s: float = 0.0) -> np.ndarray:
    """Frames that have left by the end of each step, where one always waits: htb, step by step.

    A frame begins when the last one is over, and takes what the rate in force then says; rates are set `late_s` late.
    A hold is a frame that goes before the others.
    """
    starts = [number * step_s + (late_s if number else 0) for number in range(len(found))]
    begun: list[float] = []
    free = 0.0
    for number, pace in enumerate(found):
        end = starts[number + 1] if number + 1 < len(found) else len(found) * step_s
        free = max(free, starts[number])
        if pace.holds:
            free += FULL_FRAME * 8 / pace.rate
        while free < end:
            begun.append(free)
            free += FULL_FRAME * 8 / pace.rate
    edges = np.arange(1, len(found) + 1) * step_s
    result: np.ndarray = np.searchsorted(np.array(begun), edges)
    return result


@given(TIMES, st.sampled_from([10, 50, 70, 1000]), st.integers(1, 9))
@example([705], 10, 6)
def test_a_trace_is_repeated_and_every_chance_counted_once(times: list[int], step_ms: int, rounds: int) -> None:
    trace, period = RateTrace(opportunities_ms=tuple(times)), times[-1]
    until_ms = rounds * period
    found = trace.counts(step_s=step_ms / 1e3, until_s=until_ms / 1e3)
    steps = math.ceil(until_ms / step_ms)
    chances = [lap * period + time for lap in range(steps * step_ms // period + 1) for time in times]
    assert len(found) == steps
    # A chance at the very end of a period is that period's, and so may be in either of two steps.
    inner = [chance for chance in chances if chance % period]
    wanted = np.histogram(inner, bins=np.arange(steps + 1) * step_ms - 0.5)[0]
    at_edges = np.histogram(
        [chance for chance in chances if not chance % period], bins=np.arange(steps + 1) * step_ms - 0.5
    )[0]
    assert np.all(found.cumsum() >= wanted.cumsum())
    assert found.sum() <= wanted.sum() + at_edges.sum() + times.count(period)


@given(COUNTS)
def test_a_queue_that_is_never_empty_delivers_what_was_recorded_at_any_time(counts: list[int]) -> None:
    found = paces(np.array(counts), step_s=STEP_S)
    assert len(found) == len(counts)
    assert np.abs(delivered(found) - np.cumsum(counts)).max() <= 1


@given(COUNTS, st.floats(0, 0.002))
def test_rates_that_are_set_a_little_late_cost_nothing_that_is_not_made_good(counts: list[int], late_s: float) -> None:
    behind = np.cumsum(counts) - delivered(paces(np.array(counts), step_s=STEP_S), late_s=late_s)
    # What a late change lets through or holds back at most: its lateness at the fastest rate there is.
    assert np.abs(behind).max() <= 2 + late_s / STEP_S * 1.2 * max(counts) * 2


@given(COUNTS)
def test_nothing_passes_in_a_gap(counts: list[int]) -> None:
    found = paces(np.array([*counts, *[0] * 40, 20]), step_s=STEP_S)
    passed = delivered(found)
    assert passed[len(counts) + 39] - passed[len(counts) + 1] == 0
    assert all(pace.held for pace in found[len(counts) + 1 : len(counts) + 40])


def test_a_hold_longer_than_htb_remembers_is_made_of_several() -> None:
    found = paces(np.array([5, *[0] * 2000, 5]), step_s=STEP_S)
    holds = [FULL_FRAME * 8 / pace.rate for pace in found if pace.holds]
    assert len(holds) == 5
    assert max(holds) < 25
    assert sum(holds) == pytest.approx(100, abs=1)


def test_a_trace_that_ends_in_a_gap_is_held_to_the_end() -> None:
    found = paces(np.array([4, 0, 0, 0]), step_s=STEP_S)
    assert [(pace.held, pace.holds) for pace in found] == [(False, False), (True, True), (True, False), (True, False)]


@given(COUNTS.filter(any))
def test_rates_are_what_the_kernel_can_be_told(counts: list[int]) -> None:
    for pace in paces(np.array(counts), step_s=STEP_S):
        assert pace.rate >= 8
        assert pace.rate % 8 == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\nthree\n", r":3: 'three' is not a whole number"),
        ("1\n-2\n", r":2: '-2'"),
        ("1\n\n2\n", r":2: ''"),
        ("5\n4\n", "4 ms comes after 5 ms"),
        ("0\n0\n", "at least 1 ms"),
        ("", "at least 1 item"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.trace"
    path.write_text(text)
    with pytest.raises((ValueError, ValidationError), match=message):
        ratetrace.read(path)


@given(COUNTS)
def test_where_a_rate_holds_at_once_a_steps_share_of_bits_is_its_count(counts: list[int]) -> None:
    found = shares(np.array(counts), step_s=STEP_S)
    assert [pace.held for pace in found] == [count == 0 for count in counts]
    assert all(pace.rate > 0 for pace in found)
    bits = [0.0 if pace.held else pace.rate * STEP_S for pace in found]
    assert bits == pytest.approx([count * FULL_FRAME * 8 for count in counts])
