"""The result of comparing two campaigns, as plain data: what is printed as JSON, drawn and written."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from records.record import Record

Scale = Literal["ratio", "points", "share of A's mean", "share of B's mean"]


class Verdict(StrEnum):
    """BETTER is no worse, too.  INCONCLUSIVE: these trials cannot tell whether it is worse by more than the margin."""

    BETTER = "better"
    NO_WORSE = "no worse"
    INCONCLUSIVE = "inconclusive"
    WORSE = "worse"


class Side(Record):
    """One campaign.  revisions: git revisions of its trials, with `+` when there were uncommitted changes."""

    campaign: str
    folder: str
    scenario: str
    created: str
    revisions: tuple[str, ...]
    valid: int
    planned: int


class Mean(Record):
    """Mean of n valid trials, SI units; low, high: the 95 % interval.  text: as a reader sees it.

    at_least: it is a lower bound, without an interval.
    """

    n: int
    mean: float
    low: float | None
    high: float | None
    at_least: bool = False
    text: str


class Row(Record):
    """One metric of one cell.

    scale: what `centre`, `low`, `high` (95 % interval) and `limit` (the worst that is tolerated) are: B/A; B - A in
    shares; or (B - A) / mean of A, where a zero forbids ratios.  p_worse: against `not worse than the limit`;
    p_worse_adjusted: by Holm, for all rows.  p_no_worse: against `worse than the limit`.  effect: d_z of pairs, else
    Hedges' g, on logarithms where scale is ratio.  n: pairs, or trials of A and of B.  bound: ≥ or ≤ where `centre` is
    one, as messages never came in B or in A.
    """

    cell: str
    title: str
    metric: str
    unit: str
    label: str
    better: Literal["higher", "lower"]
    a: Mean | None
    b: Mean | None
    paired: bool
    n: tuple[int, int]
    scale: Scale
    centre: float | None
    bound: Literal["", "≥", "≤"] = ""
    low: float | None
    high: float | None
    bootstrap: tuple[float, float] | None
    limit: float
    p_worse: float
    p_worse_adjusted: float
    p_no_worse: float
    effect: float | None
    verdict: Verdict
    text: str
    words: str


class Between(Record):
    """B against A.  margin, share_margin: how much worse is tolerated, of the mean and, for shares, in shares.

    warnings: what else differs between the two.  status: 0 no worse, 1 worse, 3 inconclusive.
    """

    a: Side
    b: Side
    margin: float
    share_margin: float
    verdict: Verdict
    status: int
    summary: str
    warnings: tuple[str, ...]
    rows: tuple[Row, ...]
