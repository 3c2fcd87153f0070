"""Small trials share a task: neighbours, none twice, none left out, and never so many that cores would wait."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from analysis.reductions.cost import reduced_s
from analysis.spark.jobs import FEWEST_TASKS, TASK_S, together

SMALL = reduced_s(20_000)


@given(number=st.integers(0, 5_000), some=st.lists(st.floats(0.0, 3 * TASK_S), min_size=1, max_size=9))
@example(number=5_000, some=[SMALL])
@example(number=5_000, some=[SMALL, 0.6, 0.6])
def test_each_trial_is_one_tasks_and_a_task_has_what_takes_a_second_at_most(number: int, some: list[float]) -> None:
    takes_s = (some * number)[:number]
    groups = together(takes_s)
    assert [place for group in groups for place in group] == list(range(number))
    assert all(len(one) == 1 or sum(takes_s[place] for place in one) <= TASK_S + 1e-9 for one in groups)
    assert len(groups) >= min(number, FEWEST_TASKS)


def test_as_many_small_trials_share_a_task_as_take_a_second() -> None:
    groups = together([SMALL] * 10_000)
    assert {len(group) for group in groups[:-1]} == {int(TASK_S / SMALL)}
    assert {len(group) for group in together([SMALL] * 2 * FEWEST_TASKS)} == {2}
    assert {len(group) for group in together([SMALL] * (2 * FEWEST_TASKS - 1))} == {1}


def test_a_trial_that_takes_a_whole_tasks_time_shares_with_nobody() -> None:
    groups = together([SMALL, SMALL, TASK_S, SMALL] * 500)
    assert [len(group) for group in groups if any(place % 4 == 2 for place in group)] == [1] * 500
    assert max(map(len, groups)) == 3
