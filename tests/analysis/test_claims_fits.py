"""Slopes, sums and fitted knees, and how exact stated values are."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import Claim, Verdict, judge, wording
from analysis.claims.comparisons import Comparison, Quantity, comparisons
from analysis.claims.outcomes import Answer, outcome
from analysis.claims.spans import Span, reach
from analysis.claims.vocabulary import Slope
from analysis.statistics import Count

POSITIVE = st.floats(1e-2, 1e3)
BASE = {"metric": "delivered_per_s", "network": "wire"}
PLACES = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
NAMES = list("abcdef")
A, B, C = (Quantity(name, "wire", "delivered_per_s") for name in "abc")


@dataclass(frozen=True)
class Evidence:
    """Values by case and seed; spans: of stated ones."""

    values: Mapping[str, Mapping[int, float]]
    spans: Mapping[str, Span] | None = None
    bounded: frozenset[str] = frozenset()

    def span(self, wanted: Quantity) -> Span | None:
        return None if self.spans is None else self.spans[wanted.case]

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        return self.values.get(wanted.case, {})

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


def measured(curve: Mapping[str, float], *, trials: int = 4, noise: float = 0.01, **more: frozenset[str]) -> Evidence:
    generator = np.random.default_rng(11)
    return Evidence(
        {case: {seed: value * float(np.exp(generator.normal(0, noise))) for seed in range(trials)}
         for case, value in curve.items()},
        **more,
    )  # fmt: skip


def stated(**spans: Span | float) -> Evidence:
    """Each value is its number, or the middle of its span; the low end of an endless one, the high end from 0."""
    whole = {case: span if isinstance(span, tuple) else (span, span) for case, span in spans.items()}
    ends = {case: [low if math.isinf(high) else high if low == 0 else (low + high) / 2]
            for case, (low, high) in whole.items()}  # fmt: skip
    return Evidence({case: {0: end[0]} for case, end in ends.items()}, spans=whole)


def claim(**test: object) -> Claim:
    return Claim.model_validate(
        {"id": "one", "section": "5", "finding": "what is found here", "tests": [{**BASE, **test}]}
    )


def verdict(evidence: Evidence, **test: object) -> Verdict:
    return judge(claim(**test), evidence).verdict


def line(slope: float, start: float = 100.0) -> dict[str, float]:
    return {name: start + slope * place for name, place in zip(NAMES, PLACES, strict=True)}


def bent(at: float) -> dict[str, float]:
    return {name: 100 + 1000 * min(place, at) for name, place in zip(NAMES, PLACES, strict=True)}


@given(values=st.lists(POSITIVE, min_size=6, max_size=6))
def test_a_slope_is_that_of_least_squares(values: list[float]) -> None:
    test = Slope.model_validate({"test": "slope", **BASE, "series": NAMES, "at": PLACES, "above": 0})
    (found,) = comparisons(test)
    ours = outcome(found, stated(**dict(zip(NAMES, values, strict=True)))).centre
    assert ours == pytest.approx(np.polyfit(PLACES, values, 1)[0], abs=1e-6)


def test_a_slope_is_judged_by_its_interval() -> None:
    slope = {"test": "slope", "series": NAMES, "at": PLACES}
    grows = measured(line(50))
    assert verdict(grows, **slope, above=45, below=55) is Verdict.HOLDS
    assert verdict(grows, **slope, above=60) is Verdict.FAILS
    assert verdict(measured(line(50), noise=0.4), **slope, above=49, below=51) is Verdict.INCONCLUSIVE
    assert verdict(measured(line(50), trials=1), **slope, above=45) is Verdict.INCONCLUSIVE
    (told,) = judge(claim(**slope, above=45, below=55), grows).outcomes
    assert wording.subject(told.comparison).startswith("slope of a, b, c, d, e, f over 1, 2, 4, 8, 16, 32, wire, subsc")
    assert wording.asked(told.comparison) == "45.0 msg/s per 1 to 55.0 msg/s per 1"
    assert wording.effect(told).endswith("msg/s per 1], 4 trials")


def test_bounds_move_a_slope_the_way_of_their_weight() -> None:
    slope = {"test": "slope", "series": NAMES, "at": PLACES}
    last = measured(line(50), bounded=frozenset("f"))
    assert verdict(last, **slope, above=45) is Verdict.HOLDS  # the last value may be higher: the slope, too
    assert verdict(last, **slope, below=55) is Verdict.INCONCLUSIVE
    first = measured(line(50), bounded=frozenset("a"))
    assert verdict(first, **slope, below=55) is Verdict.HOLDS
    assert verdict(first, **slope, above=45) is Verdict.INCONCLUSIVE
    assert verdict(measured(line(50), bounded=frozenset("af")), **slope, above=45) is Verdict.INCONCLUSIVE


def test_a_sum_is_near_what_it_equals_or_in_its_band() -> None:
    parts = {"test": "sum", "cases": ["a", "b"]}
    values = measured({"a": 300.0, "b": 700.0, "c": 1010.0})
    assert verdict(values, **parts, equals="c", within_percent=10) is Verdict.HOLDS
    assert verdict(measured({"a": 300.0, "b": 700.0, "c": 2000.0}), **parts, equals="c", within_percent=10) is (
        Verdict.FAILS
    )
    assert verdict(values, **parts, above=900, below=1100) is Verdict.HOLDS
    assert verdict(values, **parts, below=900) is Verdict.FAILS
    assert verdict(stated(a=300, b=700), **parts, above=999, below=1001) is Verdict.HOLDS
    (told,) = judge(claim(**parts, equals="c", within_percent=10), values).outcomes
    assert wording.subject(told.comparison) == "a + b / c, wire, subscriber throughput"


def test_a_fitted_knee_is_judged_by_where_the_lines_meet() -> None:
    knee = {"test": "fitted_knee", "series": NAMES, "at": PLACES}
    assert verdict(measured(bent(8)), **knee, above=6, below=12) is Verdict.HOLDS
    assert verdict(measured(bent(8)), **knee, above=12) is Verdict.FAILS
    assert verdict(measured(bent(8), noise=0.3), **knee, above=7.9, below=8.1) is Verdict.INCONCLUSIVE
    (told,) = judge(claim(**knee, above=6, below=12), measured(bent(8))).outcomes
    assert told.low is not None
    assert told.high is not None
    assert told.low < 8 < told.high
    assert wording.asked(told.comparison) == "6.00 to 12.0"
    assert wording.effect(told).endswith("], 24 values")


def test_a_line_has_no_knee_and_a_bound_hides_one() -> None:
    knee = {"test": "fitted_knee", "series": NAMES, "at": PLACES, "above": 6, "below": 12}
    for values, why in (
        (measured(line(1000)), "one straight line fits as well"),
        (measured(bent(8), bounded=frozenset("f")), "a value is a lower bound: nobody can say where the true curve be"),
        (stated(**line(1000)), "one straight line fits as well"),
        (stated(**bent(8) | {"f": (8100.0, math.inf)}), "how exact the stated values are leaves it open"),
    ):
        (told,) = judge(claim(**knee), values).outcomes
        assert (told.answer, told.why[: len(why)]) == (Answer.UNCLEAR, why)
    assert verdict(stated(**bent(8)), **knee) is Verdict.HOLDS
    assert verdict(stated(**bent(3)), **knee) is Verdict.FAILS


def test_one_trial_of_four_places_bends_without_an_interval() -> None:
    knee = {"test": "fitted_knee", "series": NAMES[:4], "at": PLACES[:4], "above": 1}
    (told,) = judge(claim(**knee), measured({"a": 1.0, "b": 2.0, "c": 2.1, "d": 2.2}, trials=1)).outcomes
    assert told.why == "too few trials, no interval"


@pytest.mark.parametrize(
    ("a", "asked", "answer", "sign"),
    [
        ((19.0, 21.0), {"above": 1.8}, Answer.YES, ""),  # about 20 by 10
        ((19.0, 21.0), {"above": 1.95}, Answer.UNCLEAR, ""),
        ((19.0, 21.0), {"above": 2.2}, Answer.NO, ""),
        ((20.0, math.inf), {"above": 1.5}, Answer.YES, "≥"),
        ((20.0, math.inf), {"below": 3}, Answer.UNCLEAR, "≥"),
        ((20.0, math.inf), {"below": 1.5}, Answer.NO, "≥"),
        ((0.0, 20.0), {"below": 3}, Answer.YES, "≤"),
        ((0.0, 20.0), {"above": 1.5}, Answer.UNCLEAR, "≤"),
        ((0.0, 20.0), {"above": 3}, Answer.NO, "≤"),
    ],
)
def test_how_exact_a_stated_value_is_counts(a: Span, asked: dict[str, float], answer: Answer, sign: str) -> None:
    (told,) = judge(claim(test="ratio", pairs=[["a", "b"]], **asked), stated(a=a, b=10.0)).outcomes
    assert (told.answer, told.sign) == (answer, sign)
    assert wording.effect(told).startswith(f"{sign} 2.00" if sign else "2.00 [1.90, 2.10]")
    assert bool(told.why) == (answer is Answer.UNCLEAR)


SPANS = st.tuples(POSITIVE, POSITIVE).map(lambda ends: (min(ends), max(ends)))


@given(spans=st.tuples(SPANS, SPANS, SPANS), shares=st.tuples(*[st.floats(0, 1)] * 3), data=st.data())
def test_wherever_the_true_values_lie_the_effect_is_in_reach(
    spans: tuple[Span, ...], shares: tuple[float, ...], data: st.DataObject
) -> None:
    weights = data.draw(st.sampled_from([(), (1.0, 2.0, 0.5), (1.0, -2.0, 0.5)]))
    scale = data.draw(st.sampled_from(["ratio", "difference"] if not weights or min(weights) > 0 else ["slope"]))
    over, under = ((A, B), (C,)) if scale != "slope" else ((A, B, C), ())
    asked = Comparison(over=over, under=under, scale=scale, weights=weights, low=0)  # type: ignore[arg-type]
    low, high = reach(asked, spans)
    true = {q.case: low + share * (high - low) for q, (low, high), share in zip((A, B, C), spans, shares, strict=True)}
    effect = outcome(asked, stated(**true)).centre
    assert effect is not None
    assert low - 1e-6 <= effect * (1 + 1e-9) + 1e-9
    assert effect * (1 - 1e-9) - 1e-9 <= high + 1e-6
