"""A study held against campaigns: rows, ratios of the networks, link-bound rows, claims.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.claims import AmbiguousCells, ClaimResult, Measured, judge
from analysis.claims.comparisons import Comparison, Quantity
from analysis.claims.evidence import measured
from analysis.claims.judge import Outcome, outcome
from analysis.findings import Findings
from analysis.papers.paper import Paper, PaperError
from analysis.papers.published import PRINTED, Published, PublishedRow, reading
from analysis.statistics import Estimate, estimate

METRICS = ("published_per_s", "delivered_per_s", "latency_mean_s")
# The same messages counted otherwise: not what happened inside the window, but what became of what was begun in it.
WIDER = {"published_per_s": "begun_per_s", "delivered_per_s": "delivered_by_drain_per_s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One metric of a case on one network: published, ours, and ours counted otherwise (throughputs only)."""

    quantity: Quantity
    published: float | None
    ours: Estimate | None
    wider: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRatio:
    """Wireless by wireline of one metric: published, and ours with its interval."""

    metric: str
    published: float | None
    ours: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A published row in one reading, beside ours."""

    row: PublishedRow
    figures: tuple[Figures, ...]
    ratios: tuple[NetworkRatio, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRow:
    """A link-bound row: ratio of ours to the published value, by both counts.

    near: whether the mean of ours is within the tolerance; None without a value of ours.
    """

    figures: Figures
    ratio: float | None
    near: bool | None
    wider_ratio: float | None
    wider_near: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim by our results, and by each reading of the published numbers (reading name to result)."""

    ours: ClaimResult
    published: dict[str, ClaimResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperResult:
    """Everything that is reported."""

    paper: Paper
    campaigns: tuple[Findings, ...]
    evidence: Measured
    rows: tuple[Row, ...]
    bound: tuple[BoundRow, ...]
    claims: tuple[ClaimRow, ...]

    def published(self, name: str = PRINTED) -> Published:
        """The published numbers in one reading."""
        return reading(self.paper.rows, name)

    @property
    def near(self) -> int:
        """How many link-bound rows are within the tolerance, inside the window."""
        return sum(row.near is True for row in self.bound)


def hold(paper: Paper, campaigns: Sequence[Findings]) -> PaperResult:
    """Hold campaigns' valid trials against the study.  Cells are matched by factor `case` and by network.

    PaperError when a campaign has several cells for a row.
    """
    try:
        evidence = measured(campaigns, paper.record.networks)
    except AmbiguousCells as error:
        raise PaperError(str(error)) from error
    readings = {name: reading(paper.rows, name) for name in paper.readings}
    return PaperResult(
        paper=paper,
        campaigns=tuple(campaigns),
        evidence=evidence,
        rows=tuple(_row(row, paper, evidence) for row in paper.rows),
        bound=_bound(paper, evidence),
        claims=tuple(
            ClaimRow(
                ours=judge(claim, evidence),
                published={name: judge(claim, values) for name, values in readings.items()},
            )
            for claim in paper.claims
        ),
    )


def _row(row: PublishedRow, paper: Paper, evidence: Measured) -> Row:
    alone = Published(rows={row.case: row})
    return Row(
        row=row,
        figures=tuple(
            _figures(Quantity(row.case, network, metric), alone, evidence)
            for metric in METRICS
            for network in paper.record.networks
        ),
        ratios=tuple(_network_ratio(row.case, metric, paper, alone, evidence) for metric in METRICS),
    )


def _figures(quantity: Quantity, published: Published, evidence: Measured) -> Figures:
    wider = WIDER.get(quantity.metric)
    return Figures(
        quantity=quantity,
        published=published.by_seed(quantity).get(0),
        ours=_estimate(quantity, evidence),
        wider=_estimate(quantity._replace(metric=wider), evidence) if wider else None,
    )


def _estimate(quantity: Quantity, evidence: Measured) -> Estimate | None:
    return estimate(list(evidence.by_seed(quantity).values()))


def _network_ratio(case: str, metric: str, paper: Paper, published: Published, evidence: Measured) -> NetworkRatio:
    baseline, other = paper.record.networks
    over, under = ((Quantity(case, network, metric),) for network in (other, baseline))
    ratio = Comparison(over=over, under=under, scale="ratio")
    theirs = outcome(ratio, published)
    return NetworkRatio(metric=metric, published=theirs.centre, ours=outcome(ratio, evidence))


def _bound(paper: Paper, evidence: Measured) -> tuple[BoundRow, ...]:
    asked, printed = paper.record.link_bound, reading(paper.rows)
    within = asked.within_percent / 100
    found = []
    for side in asked.rows:
        for case in side.cases:
            figures = _figures(Quantity(case, asked.network, side.metric), printed, evidence)
            ratio, wider = (_by(one, figures.published) for one in (figures.ours, figures.wider))
            near, wider_near = (None if one is None else abs(one - 1) <= within for one in (ratio, wider))
            found.append(
                BoundRow(figures=figures, ratio=ratio, near=near, wider_ratio=wider, wider_near=wider_near)
            )  # fmt: skip
    return tuple(sorted(found, key=lambda row: row.figures.quantity.case))


def _by(ours: Estimate | None, published: float | None) -> float | None:
    return None if ours is None or not published else ours.mean / published
