"""Whether two ways give the same: the answer, its errors over several looks, and when is looked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics import paired_ratio
from records.equivalence import FEWEST, MARGIN, Answer, Comparison, compared, looks
from records.precision import t_quantile

positive = st.floats(1e-3, 1e6)
many_pairs = st.lists(st.tuples(positive, positive), min_size=FEWEST, max_size=20)
LOOKS = looks(3, 24)


def pairs_of(differences: np.ndarray) -> list[tuple[float, float]]:
    return [(1.0, math.exp(one)) for one in differences]


def test_looks_double_up_to_the_cap() -> None:
    assert looks(3, 24) == (3, 6, 12, 24)
    assert looks(3, 20) == (3, 6, 12, 20)
    assert looks(5, 5) == (5,)


@pytest.mark.parametrize(("least", "most"), [(0, 4), (4, 3), (-1, -1)])
def test_a_cap_below_the_least_is_refused(least: int, most: int) -> None:
    with pytest.raises(ValueError, match="least number"):
        looks(least, most)


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.99, 1.02, Answer.EQUAL),
        (1 / 1.03, 1.03, Answer.EQUAL),
        (0.97, 1.0, Answer.UNDECIDED),
        (1.0, 1.031, Answer.UNDECIDED),
        (0.5, 2.0, Answer.UNDECIDED),
        (1.031, 1.2, Answer.DIFFERENT),
        (0.8, 0.97, Answer.DIFFERENT),
        # A difference that is certain, and too small to matter.
        (1.01, 1.02, Answer.EQUAL),
    ],
)
def test_the_answer_follows_from_where_the_interval_lies(low: float, high: float, answer: Answer) -> None:
    found = Comparison(n=5, ratio=1.0, low=low, high=high, margin=0.03)
    assert found.answer is answer


def test_the_interval_is_the_one_worked_out_by_hand() -> None:
    found = compared([(100.0, 101.0), (100.0, 102.0), (100.0, 103.0)], looked=1)
    logs = [math.log(1.01), math.log(1.02), math.log(1.03)]
    centre, error = sum(logs) / 3, np.std(logs, ddof=1) / math.sqrt(3)
    assert found.ratio == pytest.approx(math.exp(centre))
    assert found.low == pytest.approx(math.exp(centre - 4.302653 * error), rel=1e-6)
    assert found.high == pytest.approx(math.exp(centre + 4.302653 * error), rel=1e-6)


def test_four_looks_ask_for_students_t_of_an_eighth_of_five_per_cent() -> None:
    # t tables, 2 degrees of freedom: 8.860 leaves 0.625 % above it.
    assert t_quantile(2, beyond=0.025 / 4) == pytest.approx(8.860, abs=0.001)
    assert t_quantile(2) == pytest.approx(4.3027, abs=0.0001)


@given(many_pairs)
def test_one_look_is_the_ratio_that_reports_show(pairs: list[tuple[float, float]]) -> None:
    found, shown = compared(pairs, looked=1), paired_ratio(pairs)
    assert found.ratio == pytest.approx(shown.ratio)
    assert shown.high is not None
    if shown.high < 1e100:
        assert (found.low, found.high) == (pytest.approx(shown.low), pytest.approx(shown.high))


@given(many_pairs, st.integers(1, 8))
def test_the_ratio_turned_round_has_the_same_answer(pairs: list[tuple[float, float]], looked: int) -> None:
    forth, back = compared(pairs, looked=looked), compared([(b, a) for a, b in pairs], looked=looked)
    assert forth.ratio is not None
    assert back.ratio == pytest.approx(1 / forth.ratio)
    # Rounding may decide only where an end lies on the margin.
    ends = [end for end in (forth.low, forth.high) if end is not None]
    if all(abs(abs(math.log(end)) - math.log1p(MARGIN)) > 1e-9 for end in ends if 0 < end < math.inf):
        assert back.answer is forth.answer


@given(many_pairs, st.integers(1, 8))
def test_more_looks_widen_the_interval_and_never_decide_more(pairs: list[tuple[float, float]], looked: int) -> None:
    one, more = compared(pairs, looked=looked), compared(pairs, looked=looked + 1)
    assert one.low is not None
    assert one.high is not None
    assert more.low is not None
    assert more.high is not None
    assert more.low <= one.low <= one.high <= more.high
    assert more.answer in (one.answer, Answer.UNDECIDED)


@given(st.lists(positive, min_size=FEWEST, max_size=12), st.floats(0.9, 1.1))
def test_a_constant_factor_is_decided_at_once(values: list[float], factor: float) -> None:
    if abs(abs(math.log(factor)) - math.log1p(MARGIN)) < 1e-6:
        return
    found = compared([(value, value * factor) for value in values], looked=4)
    assert found.answer is (Answer.EQUAL if 1 / 1.03 < factor < 1.03 else Answer.DIFFERENT)


@pytest.mark.parametrize("pairs", [[], [(1.0, 1.0)], [(1.0, 1.0)] * 2, [(1.0, 1.0)] * 5 + [(0.0, 1.0)]])
def test_too_few_pairs_and_zeros_decide_nothing(pairs: list[tuple[float, float]]) -> None:
    assert compared(pairs, looked=4).answer is Answer.UNDECIDED


def share_of_errors(generator: np.random.Generator, *, looked: int, sets: int = 2000) -> float:
    """How often two ways that differ by just the margin are called equal at one of the looks."""
    wrong = 0
    for _ in range(sets):
        differences = generator.normal(math.log1p(MARGIN), 0.01, LOOKS[-1])
        answers = (compared(pairs_of(differences[:n]), looked=looked).answer for n in LOOKS)
        wrong += next((one for one in answers if one is not Answer.UNDECIDED), None) is Answer.EQUAL
    return wrong / sets


def test_ways_that_differ_by_the_margin_are_called_equal_in_at_most_a_fortieth_of_all_cases() -> None:
    found = share_of_errors(np.random.default_rng(1), looked=len(LOOKS))
    assert found <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 2000)


def test_without_the_correction_four_looks_err_too_often() -> None:
    """The faulty variant: each look as if it were the only one."""
    assert share_of_errors(np.random.default_rng(1), looked=1) > 0.04
