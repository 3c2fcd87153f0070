"""Judging claims: each comparison's interval against its band, then how many of them must be inside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.claims import bounds
from analysis.claims.comparisons import Comparison, comparisons
from analysis.claims.evidence import Evidence
from analysis.claims.multiple import Chance, enough_inside, needed, too_many_outside
from analysis.claims.vocabulary import Claim, Quantifier, Test
from analysis.statistics import Contrast, paired, unpaired


class Answer(StrEnum):
    """Whether one comparison's effect lies in its band: YES and NO need the whole interval."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


class Verdict(StrEnum):
    """What a claim comes to."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One comparison: its effect and 95 % interval (None: single values, or too few trials), and why it is unclear.

    measured: whether each of its quantities has a value.  alike: whether they may be compared.  n: trials of the two
    sides, equal when they are pairs; None for single values.  chance: None where nothing could be tested.  sign: ≥ or
    ≤ where the centre is a bound, which has no interval.
    """

    comparison: Comparison
    answer: Answer
    measured: bool = True
    alike: bool = True
    centre: float | None = None
    low: float | None = None
    high: float | None = None
    n: tuple[int, int] | None = None
    paired: bool = True
    chance: Chance | None = None
    why: str = ""
    sign: bounds.Sign = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """A test with the outcome of each of its comparisons.

    may_be_chance: it is open although the comparisons' own intervals would decide it, since there are so many.
    """

    test: Test
    verdict: Verdict
    outcomes: tuple[Outcome, ...]
    may_be_chance: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """A claim with what decided it."""

    claim: Claim
    verdict: Verdict
    tests: tuple[TestResult, ...]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All comparisons."""
        return tuple(outcome for test in self.tests for outcome in test.outcomes)

    @property
    def looked_at(self) -> bool:
        """Whether anything that it speaks of was measured on both of its sides."""
        return any(outcome.measured for outcome in self.outcomes)

    @property
    def judged(self) -> bool:
        """Whether it can be judged by this evidence: some of what it compares may be compared."""
        return any(outcome.alike for outcome in self.outcomes)

    @property
    def leaning(self) -> Verdict:
        """What it would come to if every effect were taken as exact: which way too few trials leave it open."""
        return _all([quantified(test.test.for_, [_leans(outcome) for outcome in test.outcomes]) for test in self.tests])


def judge(claim: Claim, evidence: Evidence) -> ClaimResult:
    """Hold the claim against the evidence.  All of its tests must hold; one that fails decides.

    What decides it is corrected for the number of comparisons that could have (see analysis.claims.multiple).
    """
    found = [tuple(outcome(one, evidence) for one in comparisons(test)) for test in claim.tests]
    compared = sum(one.chance is not None for outcomes in found for one in outcomes)
    tests = tuple(_tested(test, outcomes, compared) for test, outcomes in zip(claim.tests, found, strict=True))
    return ClaimResult(claim=claim, verdict=_all([test.verdict for test in tests]), tests=tests)


def _tested(test: Test, outcomes: tuple[Outcome, ...], compared: int) -> TestResult:
    """compared: how many comparisons of the whole claim could fail it."""
    tested = [one.chance for one in outcomes]
    share = sum(one is not None for one in tested) / compared if compared else 1.0
    if enough_inside(test.for_, tested):
        verdict = Verdict.HOLDS
    else:
        failed = too_many_outside(test.for_, tested, share=share)
        verdict = Verdict.FAILS if failed else Verdict.INCONCLUSIVE
    alone = quantified(test.for_, [one.answer for one in outcomes])
    return TestResult(test=test, verdict=verdict, outcomes=outcomes, may_be_chance=alone is not verdict)


def quantified(quantifier: Quantifier, answers: Sequence[Answer]) -> Verdict:
    """all; most: more than half; any.  Unclear ones leave it open wherever they could still decide."""
    yes, no = answers.count(Answer.YES), answers.count(Answer.NO)
    possible = len(answers) - no
    least = needed(quantifier, len(answers))
    if yes >= least:
        return Verdict.HOLDS
    return Verdict.FAILS if possible < least else Verdict.INCONCLUSIVE


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.FAILS in verdicts:
        return Verdict.FAILS
    return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Verdict.HOLDS


def _leans(outcome: Outcome) -> Answer:
    if outcome.answer is not Answer.UNCLEAR or outcome.centre is None or not outcome.alike:
        return outcome.answer
    low = -math.inf if outcome.sign == "≤" else outcome.centre
    return _inside(outcome.comparison, low, math.inf if outcome.sign == "≥" else outcome.centre)


def outcome(comparison: Comparison, evidence: Evidence) -> Outcome:
    """One comparison: paired on equal seeds; two quantities without common seeds by Welch's interval.

    What must not be compared is unclear, whatever its effect.
    """
    over, under = (tuple(map(evidence.held, side)) for side in (comparison.over, comparison.under))
    comparison = replace(comparison, over=over, under=under)
    found = _outcome(comparison, evidence)
    why = evidence.unlike(comparison.quantities) if found.measured else ""
    return replace(found, answer=Answer.UNCLEAR, alike=False, chance=None, why=why) if why else found


def _outcome(comparison: Comparison, evidence: Evidence) -> Outcome:
    values = []
    for quantity in comparison.quantities:
        values.append(evidence.by_seed(quantity))
        if not values[-1]:
            why = evidence.why_none(quantity)
            return Outcome(comparison=comparison, answer=Answer.UNCLEAR, measured=False, why=why)
    sign = bounds.sign_of(comparison, [evidence.at_least(one, comparison.quantities) for one in comparison.quantities])
    if sign is None:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=bounds.BOTH)
    over, under = (values[: len(comparison.over)], values[len(comparison.over) :])
    if comparison.weights:
        over, under = _totals(comparison, values)
    return _decided(comparison, over, under, exact=evidence.exact, sign=sign)


def _decided(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]], *,
    exact: bool, sign: bounds.Sign,
) -> Outcome:  # fmt: skip
    """The outcome of values that are all there."""
    if comparison.scale == "ratio" and any(value <= 0 for by_seed in (*over, *under) for value in by_seed.values()):
        return _without_ratio(comparison, over, under, exact=exact or bool(sign))
    if exact:
        centre = _exactly(comparison, *([next(iter(one.values())) for one in side] for side in (over, under)))
        answer = _inside(comparison, centre, centre)
        chance = Chance(float(answer is not Answer.YES), float(answer is not Answer.NO))
        return Outcome(comparison=comparison, answer=answer, centre=centre, chance=chance)
    found = _effect(comparison, over, under)
    if found is None:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why="no trials of equal seed")
    back = _exp if comparison.scale == "ratio" else float
    told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, centre=back(found.centre), n=found.n,
                   paired=found.paired, sign=sign)  # fmt: skip
    if found.low is None or found.high is None:
        return replace(told, why="one trial, no interval")
    chance = _chance(comparison, bounds.tests(found, sign))
    if sign:
        known = bounds.reach(found, sign)
        answer = _inside(comparison, back(known.low), back(known.high))
        return replace(told, answer=answer, chance=chance, why=bounds.ONE_SIDED)
    low, high = back(found.low), back(found.high)
    answer = _inside(comparison, low, high)
    why = "the interval reaches over the limit" if answer is Answer.UNCLEAR else ""
    return replace(told, answer=answer, low=low, high=high, chance=chance, why=why)


def _chance(comparison: Comparison, tests: bounds.Tests) -> Chance:
    """The tests that agree with the interval: inside is above the lower and below the upper end of the band.

    A bound's test is taken in its own direction only (see analysis.claims.bounds), so that it counts among a claim's
    many comparisons with a p that is at most too large.
    """
    above, below = tests
    ends = [None if end is None else _scaled_end(comparison, end) for end in (comparison.low, comparison.high)]
    inside = [test(end) for test, end in zip((above, below), ends, strict=True) if end is not None]
    outside = [test(end) for test, end in zip((below, above), ends, strict=True) if end is not None]
    return Chance(max(inside, default=0.0), min(outside, default=1.0))


def _scaled_end(comparison: Comparison, end: float) -> float:
    return math.log(end) if comparison.scale == "ratio" else end


def _without_ratio(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]], *, exact: bool
) -> Outcome:
    """Where a value is zero, `first above a times second` is asked of the differences, which always exist."""
    why = "a value is zero: no ratio"
    some = any(value > 0 for by_seed in (*over, *under) for value in by_seed.values())
    if len(over) != 1 or len(under) != 1 or exact or not some:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=why)
    margins = []
    for bound, sign in ((comparison.low, 1.0), (comparison.high, -1.0)):
        if bound is not None:
            first = {seed: sign * value for seed, value in over[0].items()}
            second = {seed: -sign * bound * value for seed, value in under[0].items()}
            margins.append(_sum([first, second], [1.0, 1.0]))
    known = [one for one in margins if one is not None and one.error is not None]
    if len(known) < len(margins):
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=f"{why}; judged by differences")
    answer = Answer.UNCLEAR
    if all(one.low is not None and one.low > 0 for one in known):
        answer = Answer.YES
    elif any(one.high is not None and one.high < 0 for one in known):
        answer = Answer.NO
    chance = Chance(max(one.p_above(0.0) for one in known), min(one.p_below(0.0) for one in known))
    return Outcome(comparison=comparison, answer=answer, n=known[0].n, paired=known[0].paired, chance=chance,
                   why=f"{why}; judged by differences")  # fmt: skip


def _inside(comparison: Comparison, low: float, high: float) -> Answer:
    """Bounds themselves are outside, so that what is equal is neither more nor less."""
    least = -math.inf if comparison.low is None else comparison.low
    most = math.inf if comparison.high is None else comparison.high
    if (comparison.low is None or least < low) and (comparison.high is None or high < most):
        return Answer.YES
    return Answer.NO if high <= least or low >= most else Answer.UNCLEAR


def _exactly(comparison: Comparison, over: Sequence[float], under: Sequence[float]) -> float:
    """The effect of single values: no logarithms, so that twice as much is exactly 2."""
    if comparison.scale == "ratio":
        return math.prod(over) / math.prod(under)
    return math.fsum(over) - math.fsum(under)


def _totals(
    comparison: Comparison, values: Sequence[Mapping[int, float]]
) -> tuple[list[Mapping[int, float]], list[Mapping[int, float]]]:
    """Each side's weighted sum over trials of equal seed."""
    shared = sorted(set.intersection(*map(set, values)))
    at = len(comparison.over)
    first, second = (
        {seed: math.fsum(w * one[seed] for w, one in zip(weights, side, strict=True)) for seed in shared}
        for weights, side in ((comparison.weights[:at], values[:at]), (comparison.weights[at:], values[at:]))
    )
    return [first], [second]


def _effect(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]]
) -> Contrast | None:
    """The effect as a contrast against 0: of logarithms for a ratio, of the values else."""
    signs = [1.0] * len(over) + [-1.0] * len(under)
    return _sum([_scaled(comparison, by_seed) for by_seed in (*over, *under)], signs)


def _sum(values: Sequence[Mapping[int, float]], signs: Sequence[float]) -> Contrast | None:
    """Sum of signed values over trials of equal seed; two of which no seeds are shared are taken as independent."""
    signed = [{seed: sign * one for seed, one in by_seed.items()} for sign, by_seed in zip(signs, values, strict=True)]
    shared = sorted(set.intersection(*map(set, signed)))
    if len(shared) < 2 and len(signed) == 2 and min(map(len, signed)) > 1:
        first, second = (list(by_seed.values()) for by_seed in signed)
        return unpaired([-value for value in second], first)
    return paired([(0.0, sum(by_seed[seed] for by_seed in signed)) for seed in shared])


def _scaled(comparison: Comparison, by_seed: Mapping[int, float]) -> dict[int, float]:
    if comparison.scale == "ratio":
        return {seed: math.log(value) for seed, value in by_seed.items()}
    return dict(by_seed)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
