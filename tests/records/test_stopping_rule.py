from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.stopping import CellPrecision, End, Rule, judge

RULE = Rule(least=3, most=10, half_width=0.05, metrics=("delivered_per_s", "latency_mean_s"))
ONE = RULE.model_copy(update={"metrics": ("delivered_per_s",)})


def trials(*values: float, metric: str = "delivered_per_s") -> list[dict[str, float]]:
    return [{metric: value} for value in values]


@pytest.mark.parametrize(
    ("values", "run", "end"),
    [
        ((), 0, End.GOING_ON),
        ((100,), 1, End.GOING_ON),
        ((100, 100), 2, End.GOING_ON),  # precise, but fewer than the least number
        ((100, 100, 100), 3, End.PRECISE),
        ((0, 0, 0), 3, End.PRECISE),
        ((-1, 0, 1), 3, End.GOING_ON),  # a spread around nothing
        ((-1, 0, 1), 10, End.INCONCLUSIVE),
        # t(2) = 4.3027: half width 4.3027 / sqrt(3) = 2.4841 standard deviations.
        ((98, 100, 102), 3, End.PRECISE),  # 4.97 %
        ((97.95, 100, 102.05), 3, End.GOING_ON),  # 5.09 %
        ((97.95, 100, 102.05), 10, End.INCONCLUSIVE),
        ((98, 100, 102), 10, End.PRECISE),
        ((100, 100), 10, End.INCONCLUSIVE),  # eight of ten were not valid
    ],
)
def test_one_metric(values: tuple[float, ...], run: int, end: End) -> None:
    assert judge(ONE, trials(*values), run=run).end is end


def test_every_metric_is_judged_and_the_cell_waits_for_the_last() -> None:
    found = judge(RULE, [{"delivered_per_s": 10, "latency_mean_s": value} for value in (1, 2, 3)], run=3)
    assert [one.end for one in found.metrics] == [End.PRECISE, End.GOING_ON]
    assert found.end is End.GOING_ON
    assert found.text == "not yet precise after 3 trials (asked ±5 %): latency_mean_s ±124.2 %"


def test_a_metric_that_is_inconclusive_is_named_and_the_others_are_not() -> None:
    values = [{"delivered_per_s": 10, "latency_mean_s": 1 + number % 2} for number in range(9)]
    found = judge(RULE, values, run=10)
    assert found.end is End.INCONCLUSIVE
    assert found.text == "cap of 10 trials reached (9 valid), inconclusive (asked ±5 %): latency_mean_s ±28.0 %"


def test_a_latency_that_most_trials_do_not_have_is_not_precise() -> None:
    values = [{"delivered_per_s": 0.0}] * 9 + [{"delivered_per_s": 0.0, "latency_mean_s": 1.0}]
    found = judge(RULE, values, run=10)
    assert [one.end for one in found.metrics] == [End.PRECISE, End.INCONCLUSIVE]
    assert "latency_mean_s undecided by 1 trial" in found.text


def test_a_metric_that_too_few_trials_have_is_not_said_to_be_wide() -> None:
    values = [{"delivered_per_s": 10.0}] * 5 + [{"delivered_per_s": 10.0, "latency_mean_s": 1.0}] * 2
    said = f"latency_mean_s in 2 of at least {RULE.least} trials"
    assert judge(RULE, values, run=7).text.endswith(f": {said}")


@given(st.lists(st.floats(0.1, 1e6), min_size=2, max_size=12), st.floats(0.01, 100))
def test_the_unit_does_not_matter(values: list[float], factor: float) -> None:
    rule = ONE.model_copy(update={"half_width": 0.0500001})
    one, other = judge(rule, trials(*values), run=5), judge(rule, trials(*(v * factor for v in values)), run=5)
    assert one.metrics[0].share == pytest.approx(other.metrics[0].share, abs=1e-9)


@given(st.lists(st.floats(-1e9, 1e9), max_size=12), st.integers(0, 12))
def test_a_cell_goes_on_only_below_the_cap(values: list[float], invalid: int) -> None:
    found = judge(ONE, trials(*values), run=len(values) + invalid)
    assert (found.end is End.GOING_ON) == (found.metrics[0].end is not End.PRECISE and len(values) + invalid < ONE.most)


def simulate(spread: float, seed: int) -> CellPrecision:
    """A cell whose metric is normal around 100, trial after trial until the rule ends it."""
    world = np.random.default_rng(seed)
    values: list[dict[str, float]] = []
    while True:
        found = judge(ONE, values, run=len(values))
        if found.end is not End.GOING_ON:
            return found
        values += trials(float(world.normal(100, spread)))


@pytest.mark.parametrize(("spread", "fewest", "most", "capped"), [(0.5, 3, 3.1, 0), (3, 3.5, 6, 0.01), (15, 9, 10, 1)])
def test_noisier_cells_are_repeated_more_often_up_to_the_cap(
    spread: float, fewest: float, most: float, capped: float
) -> None:
    ended = [simulate(spread, seed) for seed in range(200)]
    assert fewest <= np.mean([one.run for one in ended]) <= most
    inconclusive = np.mean([one.end is End.INCONCLUSIVE for one in ended])
    assert abs(inconclusive - capped) <= 0.1
