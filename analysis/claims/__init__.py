"""Published statements as structured predicates over results, judged with intervals."""

from analysis.claims.evidence import AmbiguousCells, Computed, Evidence, Measured
from analysis.claims.judge import ClaimResult, TestResult, Verdict, judge
from analysis.claims.load import ClaimError, load_claims
from analysis.claims.outcomes import Answer, Outcome
from analysis.claims.vocabulary import Claim

__all__ = [
    "AmbiguousCells",
    "Answer",
    "Claim",
    "ClaimError",
    "ClaimResult",
    "Computed",
    "Evidence",
    "Measured",
    "Outcome",
    "TestResult",
    "Verdict",
    "judge",
    "load_claims",
]
