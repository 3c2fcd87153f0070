"""Judging claims: each comparison's outcome, then how many of them must be inside their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.claims.comparisons import comparisons
from analysis.claims.evidence import Evidence
from analysis.claims.multiple import enough_inside, needed, too_many_outside
from analysis.claims.outcomes import Answer, Outcome, leaning, outcome
from analysis.claims.vocabulary import Claim, Quantifier, Test


class Verdict(StrEnum):
    """What a claim comes to."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "inconclusive"


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
        """Whether it can be judged by this evidence: some of what each of its tests compares may be compared."""
        return all(any(outcome.alike for outcome in test.outcomes) for test in self.tests)

    @property
    def leaning(self) -> Verdict:
        """What it would come to if every effect were taken as exact: which way too few trials leave it open."""
        return _all([quantified(test.test.for_, [leaning(one) for one in test.outcomes]) for test in self.tests])


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
