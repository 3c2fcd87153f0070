"""The report's numbers as plain data, kept beside it (tables/summary.json)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from analysis.backlog import growing_line, growing_text
from analysis.compare import comparisons, matches, unequal
from analysis.findings import CellFinding, Findings, Standing
from analysis.headlines import headlines, trends_line, verdict_line
from analysis.statistics import bootstrap_mean
from analysis.units import factor_text, interval, times_text
from analysis.worded import metrics_for, words_for
from records.record import Record
from records.workload import Pattern

SUMMARY = "tables/summary.json"


class NoReport(Exception):
    """The campaign has no report yet; the message says how to make one."""


class MetricSummary(Record):
    """A mean over n valid trials in SI units and its 95 % interval; text: with unit, as the report writes it.

    at_least: the mean is a lower bound, and there is no interval.  bootstrap: ends of the interval by resampling, None
    below 5 trials.
    """

    n: int
    mean: float
    low: float | None
    high: float | None
    at_least: bool = False
    bootstrap: tuple[float, float] | None = None
    text: str


class CellSummary(Record):
    """states: verdict (valid, invalid, inconclusive, damaged, failed, missing) to number of trials.

    metrics: by the names of analysis.metrics, only those that a valid trial has.  stopping: how the cell ended by
    the stopping rule, '' without one.  backlog: that it grows, and by how much; '' where it does not.
    """

    name: str
    levels: dict[str, str]
    states: dict[str, int]
    metrics: dict[str, MetricSummary]
    stopping: str = ""
    backlog: str = ""


class RatioSummary(Record):
    """other / baseline over pairs of equal seed; ratio is None when undefined, and text says why.

    effect: d_z.  detectable: the smallest factor that these pairs could have shown.  words: what the report says of it.
    unequal: how the two guarantees differ, '' where they do not; if they do, neither cell is better.
    """

    baseline: str
    other: str
    metric: str
    n: int
    ratio: float | None
    low: float | None
    high: float | None
    bootstrap: tuple[float, float] | None = None
    effect: float | None = None
    detectable: float | None = None
    text: str
    answer: str | None = None
    words: str = ""
    unequal: str = ""


class TrialSummary(Record):
    cell: str
    trial: int
    seed: int
    state: str
    reasons: tuple[str, ...]
    trends: tuple[str, ...] = ()


class Summary(Record):
    """verdict, trends and headlines are sentences; trends is empty when every window was steady.

    failed: what could not be drawn, measured or written, each a line with the reason.
    patterns: those of its cells' workloads, each once; older ones say none.  declared: what programs print, by name,
    with its label.
    """

    scenario: str
    campaign: str
    verdict: str
    trends: str = ""
    headlines: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    ratios: tuple[RatioSummary, ...]
    trials: tuple[TrialSummary, ...]
    failed: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    declared: dict[str, str] = Field(default_factory=dict)


def summary(campaign: Path) -> Summary:
    """What the campaign's report says, without building it again; NoReport when there is none."""
    path = campaign / SUMMARY
    try:
        return Summary.model_validate_json(path.read_text())
    except (OSError, ValidationError, ValueError) as error:
        raise NoReport(
            f"{campaign}: no report that can be read; `lab report {campaign}` makes one ({error})"
        ) from error


def summarise(findings: Findings, *, failed: tuple[str, ...] = ()) -> Summary:
    """Summarise a campaign's findings.  failed: what the report lacks of them, a line each."""
    known = metrics_for(findings.cells)
    return Summary(
        scenario=findings.campaign.scenario,
        campaign=findings.folder.name,
        verdict=verdict_line(findings),
        trends=" ".join(filter(None, (trends_line(findings), growing_line(findings)))),
        headlines=headlines(findings),
        cells=tuple(_cell(cell) for cell in findings.cells),
        ratios=tuple(
            RatioSummary(
                baseline=match.baseline.name, other=other.name, metric=one.metric, n=one.ratio.n,
                ratio=one.ratio.ratio, low=one.ratio.low, high=one.ratio.high, text=factor_text(one.ratio),
                bootstrap=one.bootstrap, effect=one.effect, detectable=one.ratio.detectable, answer=one.answer,
                words=times_text(one.ratio), unequal=unequal(match.baseline, other),
            )
            for match in matches(findings) for other in match.others for one in comparisons(match, other)
        ),
        failed=failed,
        trials=tuple(one for cell in findings.cells for one in _trials(cell)),
        patterns=tuple(dict.fromkeys(cell.pattern for cell in findings.cells if cell.pattern is not None)),
        declared={name: known[name].label for cell in findings.cells for name in cell.declared},
    )  # fmt: skip


def _trials(cell: CellFinding) -> list[TrialSummary]:
    words = words_for([cell])
    return [
        TrialSummary(
            cell=trial.cell, trial=trial.number, seed=trial.seed, state=trial.standing.value,
            reasons=tuple(trial.reasons), trends=tuple(one.text(words) for one in trial.trends),
        )
        for trial in cell.trials
    ]  # fmt: skip


def _cell(cell: CellFinding) -> CellSummary:
    found = {name: (metric, cell.estimate(name)) for name, metric in metrics_for([cell]).items()}
    return CellSummary(
        name=cell.name,
        levels=cell.levels,
        states={standing.value: cell.count(standing) for standing in Standing},
        metrics={
            name: MetricSummary(
                n=one.n,
                mean=one.mean,
                low=one.low,
                high=one.high,
                at_least=one.at_least,
                bootstrap=bootstrap_mean(cell.spread(name)),
                text=interval(metric, one),
            )
            for name, (metric, one) in found.items()
            if one is not None
        },
        stopping=cell.precision.text if cell.precision else "",
        backlog=growing_text(cell),
    )
