"""Judging claims: each comparison's interval against its band, then how many of them must be inside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.claims import bounds
from analysis.claims.comparisons import Comparison, comparisons
from analysis.claims.evidence import Evidence
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

    measured: whether each of its quantities has a value.  alike: whether they may be compared.  sign: ≥ or ≤ where the
    centre is a bound, which has no interval.
    """

    comparison: Comparison
    answer: Answer
    measured: bool = True
    alike: bool = True
    centre: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""
    sign: bounds.Sign = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """A test with the outcome of each of its comparisons."""

    test: Test
    verdict: Verdict
    outcomes: tuple[Outcome, ...]


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
    """Hold the claim against the evidence.  All of its tests must hold; one that fails decides."""
    tests = tuple(_tested(test, evidence) for test in claim.tests)
    return ClaimResult(claim=claim, verdict=_all([test.verdict for test in tests]), tests=tests)


def _tested(test: Test, evidence: Evidence) -> TestResult:
    outcomes = tuple(outcome(one, evidence) for one in comparisons(test))
    return TestResult(test=test, verdict=quantified(test.for_, [one.answer for one in outcomes]), outcomes=outcomes)


def quantified(quantifier: Quantifier, answers: Sequence[Answer]) -> Verdict:
    """all; most: more than half; any.  Unclear ones leave it open wherever they could still decide."""
    yes, no = answers.count(Answer.YES), answers.count(Answer.NO)
    possible = len(answers) - no
    needed = {"all": len(answers), "most": len(answers) // 2 + 1, "any": 1}[quantifier]
    if yes >= needed:
        return Verdict.HOLDS
    return Verdict.FAILS if possible < needed else Verdict.INCONCLUSIVE


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
    return replace(found, answer=Answer.UNCLEAR, alike=False, why=why) if why else found


def _outcome(comparison: Comparison, evidence: Evidence) -> Outcome:
    values = []
    for quantity in comparison.quantities:
        values.append(evidence.by_seed(quantity))
        if not values[-1]:
            why = evidence.why_none(quantity)
            return Outcome(comparison=comparison, answer=Answer.UNCLEAR, measured=False, why=why)
    beside = comparison.quantities
    sign = bounds.sign_of(comparison, [evidence.at_least(one, beside) for one in beside])
    if sign is None:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=bounds.BOTH)
    return _decided(comparison, values, exact=evidence.exact, sign=sign)


def _decided(
    comparison: Comparison, values: Sequence[Mapping[int, float]], *, exact: bool, sign: bounds.Sign
) -> Outcome:
    """The outcome of values that are all there."""
    if comparison.scale == "ratio" and any(value <= 0 for by_seed in values for value in by_seed.values()):
        return _without_ratio(comparison, values, exact=exact)
    if exact:
        centre = _exactly(comparison, [next(iter(by_seed.values())) for by_seed in values])
        return Outcome(comparison=comparison, answer=_inside(comparison, centre, centre), centre=centre)
    found = _effect(comparison, values)
    if found is None:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why="no trials of equal seed")
    back = _exp if comparison.scale == "ratio" else float
    centre = back(found.centre)
    if sign:
        return _bounded(comparison, found, sign, centre=centre)
    if found.low is None or found.high is None:
        why = "one trial, no interval"
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, centre=centre, why=why)
    low, high = back(found.low), back(found.high)
    answer = _inside(comparison, low, high)
    why = "the interval reaches over the limit" if answer is Answer.UNCLEAR else ""
    return Outcome(comparison=comparison, answer=answer, centre=centre, low=low, high=high, why=why)


def _bounded(comparison: Comparison, found: Contrast, sign: bounds.Sign, *, centre: float) -> Outcome:
    """Of an effect that is a bound the direction may be known."""
    known = bounds.reach(found, sign)
    low, high = known.low, known.high
    if comparison.scale == "ratio":
        low, high = _exp(low), _exp(high)
    answer = _inside(comparison, low, high)
    return Outcome(comparison=comparison, answer=answer, centre=centre, sign=sign, why=bounds.ONE_SIDED)


def _without_ratio(comparison: Comparison, values: Sequence[Mapping[int, float]], *, exact: bool) -> Outcome:
    """Where a value is zero, `first above a times second` is asked of the differences, which always exist."""
    why = "a value is zero: no ratio"
    if len(values) != 2 or exact or not any(value > 0 for by_seed in values for value in by_seed.values()):
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=why)
    over, under = values
    margins = []
    for bound, sign in ((comparison.low, 1.0), (comparison.high, -1.0)):
        if bound is not None:
            first = {seed: sign * value for seed, value in over.items()}
            second = {seed: -sign * bound * value for seed, value in under.items()}
            margins.append(_sum([first, second], [1.0, 1.0]))
    if all(one is not None and one.low is not None and one.low > 0 for one in margins):
        answer = Answer.YES
    else:
        beyond = any(one is not None and one.high is not None and one.high < 0 for one in margins)
        answer = Answer.NO if beyond else Answer.UNCLEAR
    return Outcome(comparison=comparison, answer=answer, why=f"{why}; judged by differences")


def _inside(comparison: Comparison, low: float, high: float) -> Answer:
    """Bounds themselves are outside, so that what is equal is neither more nor less."""
    least = -math.inf if comparison.low is None else comparison.low
    most = math.inf if comparison.high is None else comparison.high
    if (comparison.low is None or least < low) and (comparison.high is None or high < most):
        return Answer.YES
    return Answer.NO if high <= least or low >= most else Answer.UNCLEAR


def _exactly(comparison: Comparison, values: Sequence[float]) -> float:
    """The effect of single values: no logarithms, so that twice as much is exactly 2."""
    over, under = values[: len(comparison.over)], values[len(comparison.over) :]
    if comparison.scale == "ratio":
        return math.prod(over) / math.prod(under)
    return math.fsum(over) - math.fsum(under)


def _effect(comparison: Comparison, values: Sequence[Mapping[int, float]]) -> Contrast | None:
    """The effect as a contrast against 0: of logarithms for a ratio, of the values else."""
    signs = [1.0] * len(comparison.over) + [-1.0] * len(comparison.under)
    scaled = [_scaled(comparison, by_seed) for by_seed in values]
    return _sum(scaled, signs)


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
