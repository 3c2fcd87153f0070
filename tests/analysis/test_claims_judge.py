"""How a comparison is answered and a claim judged."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from claim_values import Values, exact, trials
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import wording
from analysis.claims.comparisons import Comparison, Quantity, comparisons
from analysis.claims.judge import Verdict, judge, quantified
from analysis.claims.outcomes import Answer, outcome
from analysis.claims.vocabulary import Claim, Difference, Knee, Monotone, Never, Ratio, WithinPercent
from analysis.statistics import Count

A, B, C, D = (Quantity(name, "wire", "delivered_per_s") for name in "abcd")
POSITIVE = st.floats(1e-3, 1e6)


def ratio(low: float | None = None, high: float | None = None) -> Comparison:
    return Comparison(over=(A,), under=(B,), scale="ratio", low=low, high=high)


def test_an_exact_value_beside_those_of_seeds_holds_for_each_seed() -> None:
    class Mixed(Values):
        def span(self, wanted: Quantity) -> tuple[float, float] | None:
            return (2.0, 2.0) if wanted == B else None

    values = Mixed({A: trials(2.2, 2.4, 1.5, 2.3), B: {0: 2.0}})
    found = outcome(ratio(low=1.0), values)
    assert found.answer is Answer.UNCLEAR, "the first seed alone would say yes"
    assert found.paired
    sure = outcome(ratio(low=1.0), Mixed({A: trials(2.2, 2.4, 2.25, 2.3), B: {0: 2.0}}))
    assert sure.answer is Answer.YES


@given(a=POSITIVE, b=POSITIVE, limit=st.floats(0.1, 10))
def test_exact_values_are_simply_compared(a: float, b: float, limit: float) -> None:
    found = outcome(ratio(low=limit), exact(a=a, b=b))
    assert found.centre == pytest.approx(a / b, rel=1e-9)
    if abs(a / b / limit - 1) > 1e-9:
        assert found.answer is (Answer.YES if a / b > limit else Answer.NO)


def test_an_interval_must_be_inside_the_band_as_a_whole() -> None:
    steady = Values({A: trials(20.0, 20.2, 19.9), B: trials(10.0, 10.1, 9.95)})
    noisy = Values({A: trials(20.0, 31.0, 12.0), B: trials(10.0, 10.1, 9.95)})
    assert outcome(ratio(low=1.5), steady).answer is Answer.YES
    assert outcome(ratio(low=2.5), steady).answer is Answer.NO
    assert outcome(ratio(low=1.9, high=2.1), steady).answer is Answer.YES
    found = outcome(ratio(low=1.5), noisy)
    assert found.answer is Answer.UNCLEAR
    assert found.why == "the interval reaches over the limit"


def test_equal_seeds_are_paired_so_that_common_weather_cancels() -> None:
    weather = (1.0, 3.0, 0.5, 2.0)
    values = Values({A: trials(*(2.0 * one for one in weather)), B: trials(*weather)})
    found = outcome(ratio(low=1.9, high=2.1), values)
    assert found.answer is Answer.YES
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))


@given(a=st.lists(st.floats(0.5, 2), min_size=3, max_size=3), factor=st.floats(0.1, 10), bound=st.floats(0.2, 5))
def test_without_a_zero_differences_would_answer_like_ratios_or_not_at_all(
    a: list[float], factor: float, bound: float
) -> None:
    near = Values({A: trials(*(factor * one for one in a)), B: trials(*a)})
    with_zero = Values({A: trials(*(factor * one for one in a), 0.0), B: trials(*a, 0.0)})
    answers = {outcome(ratio(low=bound), near).answer, outcome(ratio(low=bound), with_zero).answer}
    assert answers != {Answer.YES, Answer.NO}


def test_means_lean_where_one_trial_decides_nothing() -> None:
    one = Values({A: trials(2.0), B: trials(1.0)})
    test = {"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": 1}
    found = judge(claim(test), one)
    assert (found.verdict, found.leaning) == (Verdict.INCONCLUSIVE, Verdict.HOLDS)
    assert judge(claim(test), Values({})).leaning is Verdict.INCONCLUSIVE


def test_what_must_not_be_compared_is_open_whatever_its_effect_and_leans_nowhere() -> None:
    unlike = Values({A: trials(20.0, 20.2, 19.9), B: trials(10.0, 10.1, 9.95)}, not_alike="other windows")
    found = judge(claim({"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": 1.5}), unlike)
    (only,) = found.outcomes
    assert only.centre == pytest.approx(2.0, abs=0.02)
    assert (only.answer, only.why, found.judged) == (Answer.UNCLEAR, "other windows", False)
    assert (found.verdict, found.leaning) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert outcome(ratio(low=1.5), Values({}, not_alike="other windows")).why == "a: not there"


def test_a_claim_leans_by_the_number_that_is_shown() -> None:
    one = Values({A: trials(30.0, 30.0, 300.0), B: trials(29.0, 29.0, 305.0)})
    found = judge(claim({"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": 1}), one)
    (only,) = found.outcomes
    assert only.centre == pytest.approx(1.017, abs=1e-3)
    assert (found.verdict, found.leaning) == (Verdict.INCONCLUSIVE, Verdict.HOLDS)


def test_a_zero_that_leaves_it_open_was_looked_at_all_the_same() -> None:
    zero = Values({A: trials(0.0, 0.1, 0.2), B: trials(0.1, 0.1, 0.2)})
    assert judge(claim({"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": 1}), zero).looked_at


@given(st.floats(0.01, 1e6), st.integers(1, 50))
def test_twice_as_much_is_exactly_twice(value: float, factor: int) -> None:
    found = outcome(ratio(low=factor - 0.5, high=factor + 0.5), exact(a=factor * value, b=value))
    assert found.centre == pytest.approx(factor, rel=1e-15)


def test_other_seeds_are_compared_unpaired() -> None:
    values = Values({A: trials(20.0, 20.2, 19.9), B: trials(10.0, 10.1, 9.95, first=50)})
    assert outcome(ratio(low=1.9, high=2.1), values).answer is Answer.YES


def test_four_quantities_without_common_seeds_cannot_be_told() -> None:
    values = Values({q: trials(1.0, 1.1, first=100 * n) for n, q in enumerate((A, B, C, D))})
    found = outcome(Comparison(over=(A, B), under=(C, D), scale="ratio", low=1), values)
    assert (found.answer, found.why) == (Answer.UNCLEAR, "no trials of equal seed")


def test_a_zero_has_no_ratio_but_a_difference() -> None:
    values = Values({A: trials(0.0, 0.0), B: trials(10.0, 11.0)})
    found = outcome(ratio(high=1), values)
    assert (found.centre, found.answer) == (None, Answer.YES)
    assert found.why == "a value is zero or negative: no ratio; judged by differences"
    assert outcome(ratio(low=1), values).answer is Answer.NO
    assert outcome(ratio(low=0.8, high=1.25), values).answer is Answer.NO
    nothing = Values({A: trials(0.0, 0.0), B: trials(0.0, 0.0)})
    assert outcome(ratio(high=1), nothing).answer is Answer.UNCLEAR
    apart = Comparison(over=(A,), under=(B,), scale="difference", high=5)
    assert outcome(apart, values).answer is Answer.YES


@pytest.mark.parametrize(
    ("bounded", "asked", "answer", "sign"),
    [
        (A, {"low": 1.5}, Answer.YES, "≥"),  # 2 at least
        (A, {"low": 3.0}, Answer.UNCLEAR, "≥"),
        (A, {"high": 3.0}, Answer.UNCLEAR, "≥"),  # it may be more
        (A, {"high": 1.5}, Answer.NO, "≥"),
        (A, {"low": 1.9, "high": 2.1}, Answer.UNCLEAR, "≥"),
        (B, {"high": 3.0}, Answer.YES, "≤"),  # 2 at most
        (B, {"low": 3.0}, Answer.NO, "≤"),
        (B, {"low": 1.5}, Answer.UNCLEAR, "≤"),
    ],
)
def test_a_lower_bound_decides_a_direction_and_no_interval(
    bounded: Quantity, asked: dict[str, float], answer: Answer, sign: str
) -> None:
    values = Values({A: trials(20.0, 20.2, 19.9), B: trials(10.0, 10.1, 9.95)}, bounded=frozenset({bounded}))
    found = outcome(ratio(**asked), values)
    assert (found.answer, found.sign, found.low, found.high) == (answer, sign, None, None)
    assert found.centre == pytest.approx(2.0, rel=0.01)
    assert wording.effect(found).startswith(f"{sign} 2.00")


def test_bounds_on_both_sides_decide_nothing_and_lean_nowhere() -> None:
    both = Values({A: trials(20.0, 20.2, 19.9), B: trials(1.0, 1.1, 0.9)}, bounded=frozenset({A, B}))
    found = judge(claim({"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": 1}), both)
    assert (found.outcomes[0].answer, found.outcomes[0].centre) == (Answer.UNCLEAR, None)
    assert (found.verdict, found.leaning) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)


def test_a_bound_of_a_single_trial_leans_only_the_way_that_it_bounds() -> None:
    one = Values({A: trials(20.0), B: trials(10.0)}, bounded=frozenset({A}))
    leanings = [
        judge(claim({"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": limit}), one).leaning for limit in (1, 5)
    ]
    assert leanings == [Verdict.HOLDS, Verdict.INCONCLUSIVE]


def test_one_trial_has_no_interval_and_what_is_missing_is_named() -> None:
    one = Values({A: trials(2.0), B: trials(1.0)})
    assert outcome(ratio(low=1), one).why == "one trial, no interval"
    assert outcome(ratio(low=1), Values({A: trials(2.0)})).why == "b: not there"


@given(st.lists(st.sampled_from(Answer), min_size=1, max_size=9), st.sampled_from(["all", "most", "any"]))
def test_a_verdict_is_what_every_resolution_of_the_unclear_ones_gives(answers: list[Answer], quantifier: str) -> None:
    def plain(yes: int) -> bool:
        return {"all": yes == len(answers), "most": yes > len(answers) / 2, "any": yes > 0}[quantifier]

    yes, unclear = answers.count(Answer.YES), answers.count(Answer.UNCLEAR)
    possible = {plain(yes + more) for more in range(unclear + 1)}
    expected = {(True,): Verdict.HOLDS, (False,): Verdict.FAILS}.get(tuple(possible), Verdict.INCONCLUSIVE)
    assert quantified(quantifier, answers) is expected  # type: ignore[arg-type]


def claim(*tests: object) -> Claim:
    return Claim.model_validate({"id": "one", "section": "5", "finding": "what is found here", "tests": list(tests)})


BASE = {"metric": "delivered_per_s", "network": "wire"}


def test_a_claim_holds_when_all_of_its_tests_do() -> None:
    above = {"test": "ratio", **BASE, "pairs": [["a", "b"]], "above": 1}
    below = {"test": "ratio", **BASE, "pairs": [["a", "c"]], "below": 1}
    values = exact(a=2, b=1, c=3)
    assert judge(claim(above, below), values).verdict is Verdict.HOLDS
    assert judge(claim(above, {**below, "pairs": [["a", "b"]]}), values).verdict is Verdict.FAILS
    assert judge(claim(above, {**below, "pairs": [["a", "d"]]}), values).verdict is Verdict.INCONCLUSIVE
    failing = {**below, "pairs": [["a", "b"]]}
    assert judge(claim({**below, "pairs": [["a", "d"]]}, failing), values).verdict is Verdict.FAILS


@given(st.lists(POSITIVE, min_size=2, max_size=6))
def test_monotone_is_every_step(values: list[float]) -> None:
    names = "abcdef"[: len(values)]
    test = {"test": "monotone", **BASE, "series": list(names), "direction": "rising"}
    rising = all(b / a > 1 for a, b in pairwise(values))
    found = judge(claim(test), exact(**dict(zip(names, values, strict=True)))).verdict
    assert found is (Verdict.HOLDS if rising else Verdict.FAILS)


@pytest.mark.parametrize(("values", "verdict"), [
    ((1, 5, 4, 3), Verdict.HOLDS), ((1, 4, 5, 3), Verdict.FAILS), ((1, 5, 5, 3), Verdict.FAILS),
])  # fmt: skip
def test_a_knee_is_above_all_other_points(values: tuple[float, ...], verdict: Verdict) -> None:
    test = {"test": "knee", **BASE, "series": list("abcd"), "at": "b"}
    assert judge(claim(test), exact(**dict(zip("abcd", values, strict=True)))).verdict is verdict


def test_within_percent_and_difference_and_between() -> None:
    values = exact(a=104.0, b=90.0)
    near = {"test": "within_percent", **BASE, "cases": ["a"], "of": 100, "percent": 5}
    assert judge(claim(near), values).verdict is Verdict.HOLDS
    assert judge(claim({**near, "cases": ["a", "b"]}), values).verdict is Verdict.FAILS
    assert judge(claim({**near, "cases": ["a", "b"], "for": "any"}), values).verdict is Verdict.HOLDS
    apart = {"test": "difference", **BASE, "pairs": [["a", "b"]], "above": 10, "below": 20}
    assert judge(claim(apart), values).verdict is Verdict.HOLDS
    assert judge(claim({"test": "between", **BASE, "cases": ["a"], "above": 105}), values).verdict is Verdict.FAILS


def test_pairs_with_sides_compare_the_ratios() -> None:
    test = Ratio.model_validate({
        "test": "ratio", "metric": "delivered_per_s", "network": "wire", "pairs": [["a", "b"]], "above": 1,
        "over": {"network": "wire"}, "under": {"network": "air"},
    })  # fmt: skip
    (found,) = comparisons(test)
    air = [one._replace(network="air") for one in (A, B)]
    assert (set(found.over), set(found.under)) == ({A, air[1]}, {B, air[0]})


def test_every_network_is_looked_at() -> None:
    for test in (
        Monotone.model_validate({"test": "monotone", **BASE, "network": ["x", "y"], "series": ["a", "b"],
                                 "direction": "falling"}),
        Knee.model_validate({"test": "knee", **BASE, "network": ["x", "y"], "series": ["a", "b"], "at": "a"}),
        WithinPercent.model_validate({"test": "within_percent", **BASE, "network": ["x", "y"], "cases": ["a"],
                                      "of": 1, "percent": 1}),
        Difference.model_validate({"test": "difference", **BASE, "network": ["x", "y"], "pairs": [["a", "b"]],
                                   "above": 0}),
    ):  # fmt: skip
        assert {one.over[0].network for one in comparisons(test)} == {"x", "y"}


def test_a_true_claim_is_rarely_called_false() -> None:
    generator = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        values = Values({q: trials(*np.exp(generator.normal(0, 0.2, 4)).tolist()) for q in (A, B)})
        wrong += outcome(ratio(low=1 / 1.0001, high=None), values).answer is not Answer.UNCLEAR
    assert wrong / 400 < 0.09  # 5 % is what a 95 % interval allows


LOSS = Quantity("a", "wire", "loss_share")


def lost(found: int, of: int, trials_of: int = 2) -> Values:
    """Each trial lost so many of so many."""
    counts = [Count(found, of)] * trials_of
    return Values({LOSS: trials(*(found / of for _ in counts))}, counted={LOSS: counts})


def test_that_nothing_was_lost_of_few_is_no_certainty() -> None:
    """As the report has it: 130 and 130 without a loss leave 1.1 %."""
    below = Comparison(over=(LOSS,), scale="value", high=0.005)
    few, many = outcome(below, lost(0, 130)), outcome(below, lost(0, 13_000))
    assert (few.answer, many.answer) == (Answer.UNCLEAR, Answer.YES)
    assert few.low == 0.0
    assert few.high == pytest.approx(0.0115, abs=0.0001)
    under = Comparison(over=(LOSS,), scale="value", high=0.01)
    assert outcome(under, lost(0, 130)).answer is Answer.UNCLEAR, "nothing is seen of 1 % in 7 % of runs"
    assert outcome(Comparison(over=(LOSS,), scale="value", low=0.02), lost(0, 130)).answer is Answer.NO
    doubled = LOSS._replace(metric="duplicate_share")
    twice = outcome(Comparison(over=(doubled,), scale="value", low=1.0), Values({doubled: trials(1.9, 2.0, 2.1)}))
    assert twice.low is not None
    assert twice.high is not None
    assert twice.low <= 2.0 <= twice.high
    other = LOSS._replace(case="b")
    both = Values({LOSS: trials(0.0, 0.0), other: trials(0.0, 0.0)}, counted={LOSS: [Count(0, 130)] * 2,
                                                                              other: [Count(0, 130)] * 2})  # fmt: skip
    assert outcome(Comparison(over=(LOSS,), under=(other,), scale="difference", high=0.005), both).answer is (
        Answer.UNCLEAR
    )


@pytest.mark.parametrize(
    ("found", "of", "answer"), [(0, 600, Answer.YES), (0, 400, Answer.UNCLEAR), (1, 5000, Answer.NO)]
)
def test_never_is_answered_by_what_was_seen_among_enough(found: int, of: int, answer: Answer) -> None:
    test = Never.model_validate({"test": "never", "metric": "loss_share", "network": "wire", "cases": ["a"]})
    (comparison,) = comparisons(test)
    told = outcome(comparison, lost(found, of))
    assert told.answer is answer
    assert wording.asked(comparison) == "none"
    assert told.high is not None
    assert told.high > 0
    claim = Claim.model_validate(
        {
            "id": "none",
            "section": "1",
            "finding": "Nothing is lost here.",
            "tests": [test.model_dump(mode="json", by_alias=True)],
        }
    )
    verdicts = {Answer.YES: Verdict.HOLDS, Answer.UNCLEAR: Verdict.INCONCLUSIVE, Answer.NO: Verdict.FAILS}
    assert judge(claim, lost(found, of)).verdict is verdicts[answer]
    assert ("none among 1,200" in wording.effect(told)) == (answer is Answer.YES)


def test_an_interval_ends_where_the_quantity_does() -> None:
    share = outcome(Comparison(over=(LOSS,), scale="value", low=0.5), Values({LOSS: trials(0.7, 0.99, 0.9)}))
    assert share.high == 1.0
    rate = outcome(Comparison(over=(A,), scale="value", high=99.0), Values({A: trials(1.0, 9.0)}))
    assert rate.low == 0.0


def test_the_band_has_as_many_digits_as_it_takes() -> None:
    hops = Quantity("a", "wire", "computed_number")
    assert wording.asked(Comparison(over=(hops,), scale="value", low=5.999, high=6.001)) == "5.999 to 6.001 (SI units)"


def test_a_negative_step_is_not_called_zero_and_one_seed_is_not_judged() -> None:
    values = Values({A: trials(1.0), B: trials(2.0), C: trials(3.0), D: trials(1.0)})
    steps = Comparison(over=(A, B), under=(C, D), scale="ratio", low=0.75, high=1.25, weights=(1.0, -1.0, 0.5, -0.5))
    assert outcome(steps, values).why == "a value is zero or negative: no ratio; one trial, no interval"
