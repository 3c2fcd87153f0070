"""A study held against campaigns: rows, ratios of the networks, link-bound rows, claims.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.claims import AmbiguousCells, ClaimResult, Measured, judge
from analysis.claims.comparisons import Comparison, Quantity
from analysis.claims.evidence import NOTHING_COMPUTED, ComputedValues, measured
from analysis.claims.outcomes import Outcome, outcome
from analysis.claims.spans import Span
from analysis.findings import Findings
from analysis.papers.choice import EVERY, Levels, with_levels
from analysis.papers.doubts import doubts
from analysis.papers.paper import Paper, PaperError, PublishedRow
from analysis.papers.published import PRINTED, Point, Published
from analysis.statistics import Count, Estimate

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

    def span(self, wanted: Quantity) -> Span | None:
        """See Evidence."""
        return self.inside.span(wanted)

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
        if others := sorted({one.metric for one in wanted} - set(COUNTED_FROM_GO)):
            return f"{', '.join(others)}: counted inside the window only"
        return self.inside.unlike(wanted)

    def held(self, wanted: Quantity) -> Quantity:
        """See Evidence; the count itself is no other quantity."""
        return wanted

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        """See Evidence."""
        return self.inside.at_least(_from_go(wanted), [_from_go(one) for one in beside])

    def counts(self, wanted: Quantity) -> Sequence[Count]:
        """See Evidence."""
        return self.inside.counts(_from_go(wanted))

    def estimate(self, wanted: Quantity) -> Estimate | None:
        """Mean and interval over its trials; None for what is counted inside the window only."""
        return self.inside.estimate(_from_go(wanted)) if wanted.metric in COUNTED_FROM_GO else None


def _from_go(wanted: Quantity) -> Quantity:
    return wanted._replace(metric=COUNTED_FROM_GO.get(wanted.metric, wanted.metric))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One metric of a case on one network: published, ours, and ours counted otherwise; doubts of ours, '' if none."""

    quantity: Quantity
    published: Point | None
    ours: Estimate | None
    from_go: Estimate | None
    doubts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRatio:
    """A network by the baseline, of one metric: published, and ours with its interval."""

    metric: str
    network: str
    published: Outcome
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
        return self.paper.published(name)

    @property
    def near(self) -> int:
        """How many link-bound rows are within the tolerance, inside the window."""
        return sum(row.near is True for row in self.bound)

    @property
    def near_from_go(self) -> int:
        """How many are, counted otherwise."""
        return sum(row.near_from_go is True for row in self.bound)


def hold(
    paper: Paper, campaigns: Sequence[Findings], levels: Levels = EVERY, computed: ComputedValues = NOTHING_COMPUTED
) -> PaperResult:
    """Hold campaigns' valid trials against the study.  Cells are matched by factor `case` and by network.

    levels: of the cells that count.  computed: what the study does not run.  PaperError when a
    campaign has several cells for a row.
    """
    campaigns = [with_levels(one, levels) for one in campaigns]
    try:
        evidence = replace(measured(campaigns, paper.networks), computed=computed)
    except AmbiguousCells as error:
        raise PaperError(str(error)) from error
    readings = {name: paper.published(name) for name in paper.readings}
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
    alone, whole = paper.stated(row.points), paper.published(row.reading)
    baseline, *others = paper.networks
    return Row(
        row=row,
        figures=tuple(
            _figures(Quantity(row.case, network, metric), alone, evidence)
            for metric in paper.metrics
            for network in paper.networks
        ),
        ratios=tuple(
            _network_ratio(Quantity(row.case, network, metric), baseline, whole, evidence)
            for metric in paper.metrics
            for network in others
        ),
    )


def _figures(quantity: Quantity, published: Published, evidence: Measured) -> Figures:
    return Figures(
        quantity=quantity,
        published=published.values.get(quantity),
        ours=evidence.estimate(quantity),
        from_go=FromGo(evidence).estimate(quantity),
        doubts=doubts(evidence.cells.get((quantity.case, quantity.network)), quantity.metric),
    )


def _network_ratio(quantity: Quantity, baseline: str, published: Published, evidence: Measured) -> NetworkRatio:
    ratio = Comparison(over=(quantity,), under=(quantity._replace(network=baseline),), scale="ratio")
    return NetworkRatio(metric=quantity.metric, network=quantity.network, published=outcome(ratio, published),
                        ours=outcome(ratio, evidence))  # fmt: skip


def _bound(paper: Paper, evidence: Measured) -> tuple[BoundRow, ...]:
    asked, printed = paper.record.link_bound, paper.published()
    if asked is None or asked.network in paper.links:
        return ()  # another link decides otherwise
    found = []
    for side in asked.rows:
        for case in side.cases:
            figures = _figures(Quantity(case, asked.network, side.metric), printed, evidence)
            span = printed.span(figures.quantity)
            ratio, from_go = (_by(one, figures.published) for one in (figures.ours, figures.from_go))
            near, near_from_go = (_near(one, span, asked.within_percent) for one in (figures.ours, figures.from_go))
            found.append(
                BoundRow(figures=figures, ratio=ratio, near=near, ratio_from_go=from_go, near_from_go=near_from_go)
            )  # fmt: skip
    return tuple(sorted(found, key=lambda row: row.figures.quantity.case))


def _near(ours: Estimate | None, span: Span | None, within_percent: float) -> bool | None:
    """Whether the mean is within so much of where the published value lies; None where a lower bound may be."""
    if ours is None or span is None:
        return None
    low, high = span
    away = within_percent / 100
    if ours.at_least:
        return False if ours.mean > high * (1 + away) else None
    return low * (1 - away) <= ours.mean <= high * (1 + away)


def _by(ours: Estimate | None, published: Point | None) -> float | None:
    return None if ours is None or not published or not published.value else ours.mean / published.value
