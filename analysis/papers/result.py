"""A study held against campaigns: rows, ratios of the networks, link-bound rows, claims.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from analysis.claims import AmbiguousCells, ClaimResult, Measured, judge
from analysis.claims.comparisons import Comparison, Quantity
from analysis.claims.evidence import measured
from analysis.claims.judge import Outcome, outcome
from analysis.findings import Findings
from analysis.papers.choice import EVERY, Levels, with_levels
from analysis.papers.doubts import doubts
from analysis.papers.paper import Paper, PaperError
from analysis.papers.published import PRINTED, Published, PublishedRow, reading
from analysis.statistics import Estimate

METRICS = ("published_per_s", "delivered_per_s", "latency_mean_s")
# The same counted otherwise: not what happened inside the window, but what became of all that was sent before its end.
COUNTED_FROM_GO = {
    "published_per_s": "published_from_go_per_s",
    "delivered_per_s": "delivered_from_go_per_s",
    "latency_mean_s": "latency_from_go_mean_s",
}


@dataclass(frozen=True, slots=True)
class FromGo:
    """Measured values counted from go, where that can be: evidence for the same questions."""

    inside: Measured

    @property
    def exact(self) -> bool:
        """See Evidence."""
        return self.inside.exact

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """See Evidence."""
        return self.inside.by_seed(self.inside.held(_from_go(wanted)))

    def why_none(self, wanted: Quantity) -> str:
        """See Evidence."""
        return self.inside.why_none(_from_go(wanted))

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """See Evidence.  How much of what is published arrives inside the window is no question of this count."""
        if {"published_per_s", "delivered_per_s"} <= {one.metric for one in wanted}:
            return "counted from go, what arrives after the window is delivered, too"
        return self.inside.unlike(wanted)

    def held(self, wanted: Quantity) -> Quantity:
        """See Evidence; the count itself is no other quantity."""
        return wanted

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        """See Evidence."""
        return self.inside.at_least(_from_go(wanted), [_from_go(one) for one in beside])

    def estimate(self, wanted: Quantity) -> Estimate | None:
        """Mean and interval over its trials."""
        return self.inside.estimate(_from_go(wanted))


def _from_go(wanted: Quantity) -> Quantity:
    return wanted._replace(metric=COUNTED_FROM_GO.get(wanted.metric, wanted.metric))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One metric of a case on one network: published, ours, and ours counted otherwise; doubts of ours, '' if none."""

    quantity: Quantity
    published: float | None
    ours: Estimate | None
    from_go: Estimate | None
    doubts: str = ""


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
    ratio_from_go: float | None
    near_from_go: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim by our results, by both counts, and by each reading of the published numbers (reading name to result)."""

    ours: ClaimResult
    from_go: ClaimResult
    published: dict[str, ClaimResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperResult:
    """Everything that is reported.  levels: of the cells that counted."""

    paper: Paper
    campaigns: tuple[Findings, ...]
    levels: Levels
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

    @property
    def near_from_go(self) -> int:
        """How many are, counted otherwise."""
        return sum(row.near_from_go is True for row in self.bound)


def hold(paper: Paper, campaigns: Sequence[Findings], levels: Levels = EVERY) -> PaperResult:
    """Hold campaigns' valid trials against the study.  Cells are matched by factor `case` and by network.

    levels: of the cells that count.  PaperError when a campaign has several cells for a row.
    """
    campaigns = [with_levels(one, levels) for one in campaigns]
    try:
        evidence = measured(campaigns, paper.networks)
    except AmbiguousCells as error:
        raise PaperError(str(error)) from error
    readings = {name: reading(paper.rows, name) for name in paper.readings}
    return PaperResult(
        paper=paper,
        campaigns=tuple(campaigns),
        levels=levels,
        evidence=evidence,
        rows=tuple(_row(row, paper, evidence) for row in paper.rows),
        bound=_bound(paper, evidence),
        claims=tuple(
            ClaimRow(
                ours=judge(claim, evidence),
                from_go=judge(claim, FromGo(evidence)),
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
            for network in paper.networks
        ),
        ratios=tuple(_network_ratio(row.case, metric, paper, alone, evidence) for metric in METRICS),
    )


def _figures(quantity: Quantity, published: Published, evidence: Measured) -> Figures:
    return Figures(
        quantity=quantity,
        published=published.by_seed(quantity).get(0),
        ours=evidence.estimate(quantity),
        from_go=FromGo(evidence).estimate(quantity),
        doubts=doubts(evidence.cells.get((quantity.case, quantity.network)), quantity.metric),
    )


def _network_ratio(case: str, metric: str, paper: Paper, published: Published, evidence: Measured) -> NetworkRatio:
    baseline, other = paper.networks
    over, under = ((Quantity(case, network, metric),) for network in (other, baseline))
    ratio = Comparison(over=over, under=under, scale="ratio")
    theirs = outcome(ratio, published)
    return NetworkRatio(metric=metric, published=theirs.centre, ours=outcome(ratio, evidence))


def _bound(paper: Paper, evidence: Measured) -> tuple[BoundRow, ...]:
    asked, printed = paper.record.link_bound, reading(paper.rows)
    if asked.network in paper.links:
        return ()  # another link decides otherwise
    within = asked.within_percent / 100
    found = []
    for side in asked.rows:
        for case in side.cases:
            figures = _figures(Quantity(case, asked.network, side.metric), printed, evidence)
            ratio, from_go = (_by(one, figures.published) for one in (figures.ours, figures.from_go))
            near, near_from_go = (None if one is None else abs(one - 1) <= within for one in (ratio, from_go))
            found.append(
                BoundRow(figures=figures, ratio=ratio, near=near, ratio_from_go=from_go, near_from_go=near_from_go)
            )  # fmt: skip
    return tuple(sorted(found, key=lambda row: row.figures.quantity.case))


def _by(ours: Estimate | None, published: float | None) -> float | None:
    return None if ours is None or not published else ours.mean / published
