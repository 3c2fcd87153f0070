"""Claims of many comparisons: chance alone rarely decides them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from claim_values import Values
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import Answer, Verdict, judge
from analysis.claims.comparisons import Quantity
from analysis.claims.judge import quantified
from analysis.claims.multiple import Chance, enough_inside, too_many_outside
from analysis.claims.vocabulary import Claim
from analysis.claims.wording import counts, effect
from analysis.statistics import holm

CASES = [f"c{number}" for number in range(16)]
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=16)
quantifiers = st.sampled_from(["all", "most", "any"])


def claim(quantifier: str, *, tests: int = 1, **band: float) -> Claim:
    size = len(CASES) // tests
    return Claim.model_validate({
        "id": "one", "section": "5", "finding": "what is found here",
        "tests": [
            {
                "test": "ratio", "metric": "delivered_per_s", "network": "wire", "for": quantifier, **band,
                "pairs": [[case, "base"] for case in CASES[size * number : size * (number + 1)]],
            }
            for number in range(tests)
        ],
    })  # fmt: skip


def equal_but_noisy(generator: np.random.Generator, *, trials: int = 4) -> Values:
    """All cases are as fast as the base: a ratio of 1, give or take a fifth."""
    return Values({
        Quantity(case, "wire", "delivered_per_s"): {
            seed: float(np.exp(generator.normal(0, 0.2))) if case != "base" else 1.0 for seed in range(trials)
        }
        for case in (*CASES, "base")
    })  # fmt: skip


def wrongly(quantifier: str, verdict: Verdict, *, tests: int = 1, **band: float) -> tuple[float, float]:
    """How often noise alone gives this verdict: with what is tested, and by the intervals one by one."""
    generator = np.random.default_rng(3)
    asked, rounds = claim(quantifier, tests=tests, **band), 300
    found = [judge(asked, equal_but_noisy(generator)) for _ in range(rounds)]
    alone = [{quantified(quantifier, [o.answer for o in test.outcomes]) for test in one.tests} for one in found]  # type: ignore[arg-type]
    return sum(one.verdict is verdict for one in found) / rounds, sum(verdict in one for one in alone) / rounds


@pytest.mark.parametrize("tests", [1, 4])
def test_an_all_of_sixteen_rarely_fails_by_chance(tests: int) -> None:
    """Truly at the limit; one by one 16 intervals refuse such a claim in a third of all cases."""
    corrected, alone = wrongly("all", Verdict.FAILS, tests=tests, above=1)
    assert corrected <= 0.06
    assert alone > 0.2


def test_an_any_of_sixteen_rarely_holds_by_chance() -> None:
    corrected, alone = wrongly("any", Verdict.HOLDS, above=1)
    assert corrected <= 0.06
    assert alone > 0.2


def test_where_every_one_is_needed_nothing_is_corrected() -> None:
    tested = [Chance(0.02, 0.98)] * 16
    assert enough_inside("all", tested)
    assert not enough_inside("any", [Chance(0.02, 0.98), *[Chance(0.5, 0.5)] * 15])
    assert enough_inside("any", [Chance(0.025 / 16, 1.0), *[Chance(0.5, 0.5)] * 15])
    assert too_many_outside("any", [Chance(0.98, 0.02)] * 16)
    assert not too_many_outside("all", [Chance(0.98, 0.02), *[Chance(0.5, 0.5)] * 15])


@given(p_values)
def test_one_of_many_is_holms_first_step(p: list[float]) -> None:
    assert enough_inside("any", [Chance(one, 1.0) for one in p]) == (min(holm(p)) <= 0.025)
    assert too_many_outside("all", [Chance(1.0, one) for one in p]) == (min(holm(p)) <= 0.025)


@given(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=9), quantifiers)
def test_certain_answers_are_counted_and_what_is_not_tested_stays_open(
    known: list[float | None], quantifier: str
) -> None:
    tested = [None if one is None else Chance(one, 1 - one) for one in known]
    words = {0.0: Answer.YES, 1.0: Answer.NO, None: Answer.UNCLEAR}
    expected = quantified(quantifier, [words[one] for one in known])  # type: ignore[arg-type]
    assert enough_inside(quantifier, tested) == (expected is Verdict.HOLDS)  # type: ignore[arg-type]
    assert too_many_outside(quantifier, tested) == (expected is Verdict.FAILS)  # type: ignore[arg-type]


@given(p_values, quantifiers)
def test_nothing_both_holds_and_fails(p: list[float], quantifier: str) -> None:
    tested = [Chance(one, 1 - one) for one in p]
    assert not (enough_inside(quantifier, tested) and too_many_outside(quantifier, tested))  # type: ignore[arg-type]


def slightly_outside() -> Values:
    """One of sixteen is outside by an interval that just leaves the limit out, the others are well inside."""
    inside = {seed: 2.0 + 0.01 * seed for seed in range(4)}
    outside = {0: 0.80, 1: 0.90, 2: 0.95, 3: 0.85}
    values = {Quantity(case, "wire", "delivered_per_s"): inside for case in CASES}
    values[Quantity("c3", "wire", "delivered_per_s")] = outside
    values[Quantity("base", "wire", "delivered_per_s")] = dict.fromkeys(range(4), 1.0)
    return Values(values)


def test_what_may_be_chance_is_open_and_says_so() -> None:
    found = judge(claim("all", above=1), slightly_outside())
    assert (found.verdict, found.outcomes[3].answer) == (Verdict.INCONCLUSIVE, Answer.NO)
    (only,) = found.tests
    assert only.may_be_chance
    told = counts([one.answer for one in only.outcomes], "all", may_be_chance=only.may_be_chance)
    assert told == "15 of 16; all needed; of so many some may be so by chance"
    single = claim("all", above=1).model_copy(update={"tests": (claim("all", above=1).tests[0].model_copy(
        update={"pairs": claim("all", above=1).tests[0].pairs[3:4]}),)})  # type: ignore[union-attr]  # fmt: skip
    assert judge(single, slightly_outside()).verdict is Verdict.FAILS


def test_an_effect_has_its_number_of_pairs() -> None:
    found = judge(claim("all", above=1), slightly_outside()).outcomes
    assert effect(found[3]) == "0.873 [0.776, 0.982], 4 pairs"
    values = dict(slightly_outside().values)
    values[Quantity("base", "wire", "delivered_per_s")] = {7: 1.0, 8: 1.0, 9: 1.0}
    assert effect(judge(claim("all", above=1), Values(values)).outcomes[3]).endswith("], 4 and 3 trials")
    values[Quantity("base", "wire", "delivered_per_s")] = {0: 1.0}
    assert effect(judge(claim("all", above=1), Values(values)).outcomes[3]) == "0.800 (one trial, no interval)"


def test_a_lower_bound_counts_among_many_with_the_p_of_its_own_direction() -> None:
    plain = equal_but_noisy(np.random.default_rng(5))
    bound = replace(plain, bounded=frozenset(one for one in plain.values if one.case != "base"))

    def chances(values: Values, **band: float) -> list[Chance]:
        return [one.chance for one in judge(claim("all", **band), values).outcomes if one.chance is not None]

    assert chances(bound, above=1) == [Chance(one.inside, 1.0) for one in chances(plain, above=1)]
    assert chances(bound, below=1) == [Chance(1.0, one.outside) for one in chances(plain, below=1)]
    above_all = [one.outside for one in chances(plain, below=1.1)]
    assert chances(bound, above=0.9, below=1.1) == [Chance(1.0, outside) for outside in above_all]


def test_lower_bounds_far_from_the_limit_decide_as_many_comparisons_do() -> None:
    values = {
        Quantity(case, "wire", "delivered_per_s"): {
            seed: (1.0 if case == "base" else 3.0) * (1 + 0.01 * seed) for seed in range(4)
        }
        for case in (*CASES, "base")
    }
    bound = Values(values, bounded=frozenset(one for one in values if one.case != "base"))
    assert judge(claim("all", above=2), bound).verdict is Verdict.HOLDS
    assert judge(claim("all", below=2), bound).verdict is Verdict.FAILS
    assert judge(claim("all", above=4), bound).verdict is Verdict.INCONCLUSIVE  # the values may be above 4
    assert judge(claim("any", below=4), bound).verdict is Verdict.INCONCLUSIVE
    assert effect(judge(claim("all", above=2), bound).outcomes[0]).startswith("≥ 3.00, 4 pairs (")
