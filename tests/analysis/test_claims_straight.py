"""Straight series: R², and steps that are all alike."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import Claim, Verdict, judge, wording
from analysis.claims.bounds import NO_LINE
from analysis.claims.comparisons import Comparison, Quantity
from analysis.claims.outcomes import VAGUE, Answer, outcome
from analysis.claims.spans import Span, reach
from analysis.statistics import Count, r_squared

NAMES, PLACES = ("a", "b", "c", "d"), (2.0, 4.0, 8.0, 12.0)
A, B, C, D = (Quantity(name, "wire", "delivered_per_s") for name in NAMES)


@dataclass(frozen=True)
class Evidence:
    """Values by case and seed; spans: of stated ones."""

    values: Mapping[str, Mapping[int, float]]
    spans: Mapping[str, Span] | None = None
    bounded: frozenset[str] = frozenset()

    def span(self, wanted: Quantity) -> Span | None:
        return None if self.spans is None else self.spans[wanted.case]

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        return self.values[wanted.case]

    def why_none(self, wanted: Quantity) -> str:
        return f"{wanted.case} is missing"

    def unlike(self, wanted: Collection[Quantity]) -> str:
        return "" if wanted else "nothing"

    def held(self, wanted: Quantity) -> Quantity:
        return wanted

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        return wanted.case in self.bounded and wanted in beside

    def counts(self, _: Quantity) -> Sequence[Count]:
        return ()


CLAIM = Claim.model_validate(
    {
        "id": "one", "section": "5", "finding": "it grows linearly",
        "tests": [{"test": "straight", "metric": "delivered_per_s", "network": "wire", "series": list(NAMES),
                   "at": list(PLACES), "r_squared_above": 0.98, "steps_within_percent": 25}],
    }
)  # fmt: skip


def of(*values: float, noise: float = 0.005, trials: int = 3, bounded: frozenset[str] = frozenset()) -> Evidence:
    generator = np.random.default_rng(5)
    return Evidence(
        {name: {seed: value * (1 + noise * float(generator.normal())) for seed in range(trials)}
         for name, value in zip(NAMES, values, strict=True)}, bounded=bounded,
    )  # fmt: skip


def stated(*values: float, off: float = 0.0) -> Evidence:
    spans = {name: (value * (1 - off), value * (1 + off)) for name, value in zip(NAMES, values, strict=True)}
    return Evidence({name: {0: value} for name, value in zip(NAMES, values, strict=True)}, spans=spans)


@given(values=st.lists(st.floats(1e-2, 1e3), min_size=4, max_size=4))
def test_r_squared_is_the_squared_correlation_with_the_places(values: list[float]) -> None:
    found = r_squared(PLACES, values)
    if max(values) - min(values) > 1e-3:
        assert found == pytest.approx(float(np.corrcoef(PLACES, values)[0, 1]) ** 2, abs=1e-6)
    assert 0 <= found <= 1


def test_values_that_do_not_vary_are_no_line() -> None:
    assert r_squared(PLACES, [3, 3, 3, 3]) == 0


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((120, 240, 480, 720), Verdict.HOLDS),
        ((120, 300, 480, 620), Verdict.FAILS),  # steps of 90, 45 and 35 per place
        ((120, 240, 480, 400), Verdict.FAILS),  # the last step goes back
    ],
)
def test_a_series_is_straight_when_a_line_explains_it_and_all_steps_are_alike(
    values: tuple[float, ...], verdict: Verdict
) -> None:
    assert judge(CLAIM, of(*values)).verdict is verdict
    assert judge(CLAIM, stated(*values)).verdict is verdict


def test_a_series_that_falls_does_not_grow() -> None:
    assert judge(CLAIM, of(500, 450, 350, 250)).verdict is Verdict.FAILS


def test_what_decides_is_told_in_words() -> None:
    fit, first, *_ = judge(CLAIM, of(120, 240, 480, 720)).outcomes
    assert wording.subject(fit.comparison) == "R² of a, b, c, d over 2, 4, 8, 12, wire, subscriber throughput"
    assert wording.asked(fit.comparison) == "above 0.980"
    assert wording.effect(fit).endswith(", 3 trials")
    assert wording.subject(first.comparison) == "(b − a) / (0.2 d − 0.2 a), wire, subscriber throughput"
    assert wording.asked(first.comparison) == "0.750 to 1.25"


def test_values_that_are_not_exact_or_bounds_leave_it_open() -> None:
    vague = judge(CLAIM, stated(120, 240, 480, 720, off=0.1)).outcomes[0]
    assert (vague.answer, vague.why) == (Answer.UNCLEAR, VAGUE)
    bounded = judge(CLAIM, of(120, 240, 480, 720, bounded=frozenset("d"))).outcomes
    assert (bounded[0].answer, bounded[0].why) == (Answer.UNCLEAR, NO_LINE)
    assert judge(CLAIM, of(120, 240, 480, 720, trials=1)).verdict is Verdict.INCONCLUSIVE


@given(
    spans=st.tuples(*[st.tuples(st.floats(1, 9), st.floats(0, 3))] * 4),
    shares=st.tuples(*[st.floats(0, 1)] * 4),
)
def test_wherever_the_true_values_lie_a_step_is_in_reach(
    spans: tuple[tuple[float, float], ...], shares: tuple[float, ...]
) -> None:
    ends = [(low, low + wide) for low, wide in spans]
    step = Comparison(over=(B, A), under=(D, C), scale="ratio", weights=(1.0, -1.0, 0.5, -0.5), low=0.75)
    low, high = reach(step, ends)
    b, a, d, c = (low + share * (high - low) for share, (low, high) in zip(shares, ends, strict=True))
    if not math.isclose(d, c, abs_tol=1e-6):
        assert low - 1e-6 <= (b - a) / (0.5 * (d - c)) * (1 + 1e-9) + 1e-9 or math.isinf(low)
        assert (b - a) / (0.5 * (d - c)) <= high + 1e-6 * abs(high) or math.isinf(high)


def test_a_bound_that_is_taken_off_moves_a_step_down() -> None:
    step = Comparison(over=(B, A), under=(D, A), scale="ratio", weights=(1.0, -1.0, 0.2, -0.2), low=0.75, high=1.25)
    assert outcome(step, of(120, 240, 480, 720, bounded=frozenset("b"))).sign == "≥"
    assert outcome(step, of(120, 240, 480, 720, bounded=frozenset("d"))).sign == "≤"
