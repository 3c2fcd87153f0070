"""Comparing two campaigns' findings: every chief metric of every cell that both have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from analysis.backlog import growing_line
from analysis.campaign_compare import wording
from analysis.campaign_compare.judge import Judged, judge, overall, verdict
from analysis.campaign_compare.matching import Tolerance, machine_warnings, match
from analysis.campaign_compare.record import Between, Mean, Row, Side, Verdict
from analysis.compare import describe, held
from analysis.findings import CellFinding, Findings, Standing
from analysis.headlines import trends_line
from analysis.metric import Metric
from analysis.metrics import CHIEF
from analysis.report.provenance import Source, sources
from analysis.statistics import holm
from analysis.units import interval
from analysis.worded import chosen, metrics_for
from records.commands import FAILED
from records.counts import several

STATUS = {Verdict.NO_WORSE: 0, Verdict.WORSE: 1, Verdict.INCONCLUSIVE: 3}


def between(
    a: Findings, b: Findings, *, metrics: Sequence[str] | None = None, tolerance: Tolerance | None = None
) -> Between:
    """Hold B against A.  metrics: of which one way is better; None: the chief ones of what each cell's load is.

    Raises NothingToCompare when no cell matches or settings differ.
    """
    tolerated = tolerance or Tolerance()
    matching = match(a, b, tolerated.across)
    judged = [
        judge(one, other, metrics_for([one, other])[name], margin=tolerated.margin, share_margin=tolerated.share_margin)
        for one, other in matching.cells for name in (held(metric, one, other) for metric in _of(metrics, one, other))
        if name in metrics_for([one, other]) and not _both_lack(one, other, name)
    ]  # fmt: skip
    adjusted = holm([one.p_worse for one in judged])
    rows = tuple(_row(one, p) for one, p in zip(judged, adjusted, strict=True))
    origins = sources(a), sources(b)
    whole = overall([row.verdict for row in rows])
    return Between(
        a=_side(a, origins[0]),
        b=_side(b, origins[1]),
        margin=tolerated.margin,
        share_margin=tolerated.share_margin,
        verdict=whole,
        status=STATUS[whole],
        summary=_summary(whole, rows, len(matching.cells)),
        warnings=(*matching.warnings, *machine_warnings(*origins), *_doubts("A", a), *_doubts("B", b)),
        rows=rows,
    )


def _of(metrics: Sequence[str] | None, *cells: CellFinding) -> Sequence[str]:
    """What two cells are compared in: of programs that print both directions of better, those that have one."""
    if metrics is not None:
        return metrics
    known = metrics_for(cells)
    return [name for name in chosen(CHIEF, cells, of_programs=(FAILED,)) if known[name].better is not None]


def _doubts(name: str, findings: Findings) -> list[str]:
    """Trials that do not count, and windows that were not steady."""
    counts = Counter(trial.standing for trial in findings.trials if trial.standing is not Standing.VALID)
    rest = ", ".join(f"{count} {standing}" for standing, count in counts.items())
    doubts = [f"{name}: {rest} of {several(len(findings.trials))}; only valid ones count"] if rest else []
    return doubts + [f"{name}: {line}" for line in (trends_line(findings), growing_line(findings)) if line]


def _both_lack(a: CellFinding, b: CellFinding, metric: str) -> bool:
    """Neither side has a figure although both have valid trials: the metric does not exist in this cell."""
    return bool(a.valid and b.valid) and not a.values(metric) and not b.values(metric)


def _row(one: Judged, adjusted: float) -> Row:
    contrast = one.contrast
    found = verdict(one, adjusted)
    back = _ratio if one.scale == "ratio" else float
    ends = (None, None, None) if contrast is None else (contrast.centre, contrast.low, contrast.high)
    if one.bound and contrast is not None:
        ends = (contrast.centre, None, None)
    centre, low, high = (None if value is None else back(value) for value in ends)
    resampled = None if one.bootstrap is None else (back(one.bootstrap[0]), back(one.bootstrap[1]))
    return Row(
        cell=one.a.name,
        title=describe(one.a.levels) or one.a.name,
        metric=one.metric.name,
        label=one.metric.label,
        unit=one.metric.unit,
        better=one.metric.better or "lower",
        a=_mean(one.metric, one.a),
        b=_mean(one.metric, one.b),
        paired=contrast is not None and contrast.paired,
        n=(0, 0) if contrast is None else contrast.n,
        scale=one.scale,
        centre=centre,
        bound="" if centre is None else one.bound,
        low=low,
        high=high,
        bootstrap=resampled,
        limit=back(one.limit),
        p_worse=one.p_worse,
        p_worse_adjusted=adjusted,
        p_no_worse=one.p_no_worse,
        effect=one.effect,
        verdict=found,
        text=" ".join(filter(None, (one.bound, wording.interval_text(one.scale, centre, low, high)))),
        words=wording.words(one, found, adjusted),
    )


def _ratio(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 700 else math.inf


def _mean(metric: Metric, cell: CellFinding) -> Mean | None:
    found = cell.estimate(metric.name)
    if found is None:
        return None
    return Mean(n=found.n, mean=found.mean, low=found.low, high=found.high, at_least=found.at_least,
                text=interval(metric, found))  # fmt: skip


def _side(findings: Findings, found: Sequence[Source]) -> Side:
    revisions = [
        source.manifest.git.revision + ("+" if source.manifest.git.dirty else "") for source in found if source.manifest
    ]
    return Side(
        campaign=findings.folder.name,
        folder=str(findings.at or findings.folder),
        scenario=findings.campaign.scenario,
        created=findings.campaign.created,
        revisions=tuple(sorted(set(revisions))),
        valid=sum(cell.count(Standing.VALID) for cell in findings.cells),
        planned=len(findings.trials),
    )


def _summary(whole: Verdict, rows: Sequence[Row], cells: int) -> str:
    counts = Counter(row.verdict for row in rows)
    told = ", ".join(f"{counts[one]} {one}" for one in Verdict if counts[one])
    what = {
        Verdict.NO_WORSE: "B is no worse than A",
        Verdict.WORSE: "B is worse than A",
        Verdict.INCONCLUSIVE: "It cannot be told whether B is worse than A",
    }[whole]
    return f"{what}: {len(rows)} comparisons in {cells} cells, {told or 'none possible'}."
