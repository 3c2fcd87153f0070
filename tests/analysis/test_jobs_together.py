"""Small trials share a task: neighbours, none twice, none left out, and never so many that cores would wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analysis.reductions.cost import BYTE_S, reduced_s
from analysis.spark.jobs import FEWEST_TASKS, TASK_S, together


@given(st.lists(st.integers(0, 3 * round(TASK_S / BYTE_S)), max_size=1_000))
def test_each_trial_is_one_tasks_and_a_task_has_what_takes_a_second_at_most(sizes: list[int]) -> None:
    groups = together(sizes)
    assert [place for group in groups for place in group] == list(range(len(sizes)))
    assert all(len(group) == 1 or sum(reduced_s(sizes[place]) for place in group) <= TASK_S for group in groups)
    assert len(groups) >= min(len(sizes), FEWEST_TASKS)


def test_ten_thousand_small_trials_are_some_hundred_tasks() -> None:
    assert 200 < len(together([20_000] * 10_000)) < 500
    assert len(together([20_000] * FEWEST_TASKS)) == FEWEST_TASKS
