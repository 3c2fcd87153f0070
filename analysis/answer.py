"""The answer of a campaign at a glance: the primary metrics of each level against the baseline's.  Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.compare import Comparison, Match, Tone, baseline_of, compare, describe, held, level_of, matches
from analysis.findings import CellFinding, Findings
from analysis.metric import Metric
from analysis.units import brief, brief_range, interval, quantity
from analysis.worded import chosen, is_programs, metrics_for, that_lead
from records.commands import FAILED

_OF_MESSAGES, _OF_REQUESTS = ("delivered_per_s", "latency_p50_s"), ("published_per_s", "response_p50_s")
MOST_ROWS = 14  # more would not be seen at a glance


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """value, low, high: ratio to the baseline's, or a mean, with its 95 % interval; None where there is none.

    high is infinite where a mean is a lower bound.
    """

    value: float | None
    low: float | None
    high: float | None
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one row says of one metric.  text: in words.  aside: the means that are compared, '' without them."""

    marks: tuple[Mark, ...]
    text: str
    tone: Tone
    aside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """title: what its cells share.  level: of the compared factor, '' where nothing is.  cell: (one of) its cells."""

    title: str
    level: str
    cell: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """baseline: the level that is compared with, '' where nothing is compared.  left: rows that did not fit.

    differ: whether rows show cells whose guarantees differ.  about: what the marks are.
    """

    title: str
    about: str
    baseline: str
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    left: int
    differ: bool


def primary(cells: Sequence[CellFinding]) -> tuple[str, ...]:
    """The two metrics that a reader looks for first: what modules have of ones that lead, then what the load is about.

    Of requests it is their replies that count.
    """
    if all(is_programs(cell) for cell in cells):
        return chosen((), cells, of_programs=(FAILED,))[:2]
    counted = [cell for cell in cells if cell.estimate(_OF_MESSAGES[0]) is not None]
    asked = counted and all(cell.estimate(_OF_REQUESTS[1]) is not None for cell in counted)
    return (*that_lead(cells), *(_OF_REQUESTS if asked else _OF_MESSAGES))[:2]


def answer(findings: Findings) -> Answer:
    """A row for each pair of cells; where these are too many, one for each level, with a mark for each of its pairs."""
    known = metrics_for(findings.cells)
    metrics = tuple(known[held(name, *findings.cells)] for name in primary(findings.cells))
    found, compared = matches(findings), findings.campaign.compared
    if compared is None or not found:
        return _of_cells(findings, metrics)
    others = list(dict.fromkeys(level_of(findings, cell) for match in found for cell in match.others))
    pairs = [(match, cell) for match in found for cell in match.others]
    about = "ratio to the baseline's, over pairs of trials of equal seed, with its 95 % interval"
    if len(pairs) <= MOST_ROWS:
        rows = [_pair(findings, match, cell, metrics) for match, cell in pairs]
    else:
        rows = [_level(findings, level, pairs, metrics) for level in others]
        about = "ratio to the baseline's, a mark for each pair of cells"
    baseline = baseline_of(compared)
    title = f"{others[0] if len(others) == 1 else f'Each {compared.factor}'} against {baseline}"
    return Answer(
        title=title, about=about, baseline=baseline, metrics=metrics, rows=tuple(rows[:MOST_ROWS]),
        left=max(0, len(rows) - MOST_ROWS), differ=any(match.unequal for match in found),
    )  # fmt: skip


def _pair(findings: Findings, match: Match, cell: CellFinding, metrics: Sequence[Metric]) -> Row:
    compared = [compare(match.baseline, cell, metric.name) for metric in metrics]
    figures = [Figure(marks=(_mark(one),), text=brief(one.ratio), tone=one.tone, aside=_means(one)) for one in compared]
    return Row(
        title=_varied(findings, match.shared), level=level_of(findings, cell), cell=cell.name, figures=tuple(figures)
    )


def _level(
    findings: Findings, level: str, pairs: Sequence[tuple[Match, CellFinding]], metrics: Sequence[Metric]
) -> Row:
    mine = [(match, cell) for match, cell in pairs if level_of(findings, cell) == level]
    figures = []
    for metric in metrics:
        compared = [compare(match.baseline, cell, metric.name) for match, cell in mine]
        tones = {one.tone for one in compared}
        defined = sum(one.ratio.ratio is not None for one in compared)
        figures.append(
            Figure(
                marks=tuple(_mark(one) for one in compared),
                text=brief_range([one.ratio for one in compared]),
                tone=tones.pop() if len(tones) == 1 else "even",
                aside=f"{defined} of {len(compared)} pairs of cells",
            )
        )
    return Row(title="", level=level, cell=mine[0][1].name, figures=tuple(figures))


def _varied(findings: Findings, levels: Mapping[str, str]) -> str:
    """The levels of factors that have several."""
    factors = findings.campaign.factors
    return describe({name: level for name, level in levels.items() if len(factors.get(name, ())) != 1})


def _mark(one: Comparison) -> Mark:
    return Mark(value=one.ratio.ratio, low=one.ratio.low, high=one.ratio.high, tone=one.tone)


def _means(one: Comparison) -> str:
    if one.before is None or one.after is None:
        return ""
    metric = metrics_for([one.baseline, one.other])[one.metric]
    return " → ".join(quantity(metric, found.mean, at_least=found.at_least) for found in (one.before, one.after))


def _of_cells(findings: Findings, metrics: tuple[Metric, ...]) -> Answer:
    """The means themselves, where nothing is compared."""
    rows = [
        Row(
            title=_varied(findings, cell.levels) or cell.name,
            level="",
            cell=cell.name,
            figures=tuple(_mean(cell, metric) for metric in metrics),
        )
        for cell in findings.cells[:MOST_ROWS]
    ]
    return Answer(
        title=" and ".join(metric.label for metric in metrics),
        about="mean of the valid trials, with its 95 % interval",
        baseline="",
        metrics=metrics,
        rows=tuple(rows),
        left=max(0, len(findings.cells) - MOST_ROWS),
        differ=False,
    )


def _mean(cell: CellFinding, metric: Metric) -> Figure:
    found = cell.estimate(metric.name)
    if found is None:
        return Figure(marks=(), text="none" if cell.valid else "no valid trial", tone="even")
    low, high = (found.mean, math.inf) if found.at_least else (found.low, found.high)
    mark = Mark(value=found.mean, low=low, high=high, tone="even")
    return Figure(marks=(mark,), text=interval(metric, found), tone="even")
