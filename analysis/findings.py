"""What a campaign's trials gave, read back from the job's rows: the one model that tables and plots draw on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pyarrow as pa

from analysis.details import Asked, Details, Points, Read, Shelf, details_of, parsed, without
from analysis.estimates import estimated
from analysis.partial import PARTIAL
from analysis.rows import by_trial
from analysis.stationarity import WindowTrend, adjust
from analysis.statistics import Estimate, Trend
from records.campaign import Campaign
from records.commands import Printed, declared_in
from records.latency import AT_LEAST, LATENCIES, of_arrivals
from records.location import Remote
from records.manifest import Manifest
from records.sending import Sending
from records.stopping import CellPrecision, Rule, judge
from records.store import DamagedTrial, Trial, trial_name, why_failed
from records.workload import Pattern

_AT_A_TIME = 10_000


class Standing(StrEnum):
    """What a planned trial came to.  Only VALID ones are averaged."""

    VALID = "valid"
    INVALID = "invalid"
    INCONCLUSIVE = "inconclusive"
    DAMAGED = "damaged"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class LinkEvent:
    """A change of the link: when it was asked and when it was in force, seconds after the window's start."""

    asked_s: float
    real_s: float
    label: str


@dataclass(slots=True)
class TrialFinding:
    """One trial.  metrics: by name, in SI units.  reasons: why it is not valid.

    details: at hand, or read when they are asked for; the properties give them.  events: in order of time.
    journey: `mean` or a percentile (`p50`, `p99.9`) to a part of the latency (or `latency`, their sum) in seconds;
    journey_why: what could not be told, '' when all could.
    percentiles: name to latency, low and high (of its interval), in seconds.  trend_tests: every series that was
    tested for a trend in the window.  at_least: metrics and percentiles whose value is a lower bound.  latency_of:
    whose latency percentiles, ecdf and journey have: of what was sent in the window, or, as older reductions have
    it, of what arrived in it.  partial: parts of the analysis that failed, to the reason.
    """

    cell: str
    number: int
    seed: int
    standing: Standing = Standing.MISSING
    path: Path | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    damaged: bool = False
    details: Details | Asked = field(default_factory=Details)
    events: list[LinkEvent] = field(default_factory=list)
    journey: dict[str, dict[str, float]] = field(default_factory=dict)
    journey_why: str = ""
    percentiles: dict[str, dict[str, float]] = field(default_factory=dict)
    trend_tests: list[WindowTrend] = field(default_factory=list)
    at_least: set[str] = field(default_factory=set)
    latency_of: Literal["sent", "arrived"] = "sent"
    partial: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> dict[str, Points]:
        """Series name to its points in order of time: pairs (seconds from the window's start, value).

        The view `seconds` (analysis/sql/views.py, docs/spark.md) has their names and units.
        """
        return self.details.seconds

    @property
    def ecdf(self) -> Points:
        """The distribution of latency, rising: pairs (latency in seconds, share of messages that took no longer).

        Shares run from 0 to 1; where messages never came, the last one is below 1.  [] where the trial has none.
        """
        return self.details.ecdf

    @property
    def flows(self) -> dict[str, dict[str, float]]:
        """Flow name to its figures, by name: {flow: {figure: value}}."""
        return self.details.flows

    @property
    def directions(self) -> dict[str, str]:
        """Flow name to uplink or downlink."""
        return self.details.directions

    @property
    def packets(self) -> dict[tuple[str, str], float]:
        """(capture, kind) to number of records."""
        return self.details.packets

    @property
    def exact(self) -> dict[str, float]:
        """The metrics that are no lower bounds."""
        return {name: value for name, value in self.metrics.items() if name not in self.at_least}

    @property
    def trends(self) -> list[WindowTrend]:
        """What rose or fell inside the window, beyond chance."""
        return [one for one in self.trend_tests if one.told]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFinding:
    """A cell and its trials, planned ones that are missing included.

    precision: how it stands by the campaign's stopping rule, None without one.  guarantee, pattern: its guarantee
    class and its workload's pattern, '' and None where no manifest tells.  ramped: whether its load's rate was to
    change in the window.  declared: the metrics that its programs print, by name, the scenario's most important one
    first.  valid: the trials that count.
    """

    name: str
    levels: dict[str, str]
    trials: tuple[TrialFinding, ...]
    precision: CellPrecision | None = None
    guarantee: str = ""
    pattern: Pattern | None = None
    ramped: bool = False
    declared: Mapping[str, Printed] = field(default_factory=dict)
    valid: tuple[TrialFinding, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        valid = tuple(trial for trial in self.trials if trial.standing is Standing.VALID)
        object.__setattr__(self, "valid", valid)

    def count(self, standing: Standing) -> int:
        """Number of trials of that standing."""
        return sum(trial.standing is standing for trial in self.trials)

    def estimate(self, metric: str) -> Estimate | None:
        """Mean and interval of a metric over the valid trials that have it; no interval where one has a lower bound."""
        one = self.declared.get(metric)
        found = estimated(
            metric, [trial.metrics for trial in self.valid], is_share=None if one is None else one.unit == "share"
        )
        if found is None or not self.bounded(metric):
            return found
        return replace(found, low=None, high=None, at_least=True)

    def bounded(self, metric: str) -> bool:
        """Whether the metric is a lower bound in any of the valid trials."""
        return any(metric in trial.at_least for trial in self.valid)

    def spread(self, metric: str) -> list[float]:
        """The values that may say how trials spread: none where one of them is a lower bound."""
        return [] if self.bounded(metric) else self.values(metric)

    def values(self, metric: str) -> list[float]:
        """A metric's value in each valid trial that has it."""
        return [trial.metrics[metric] for trial in self.valid if metric in trial.metrics]

    def by_seed(self, metric: str) -> dict[int, float]:
        """A metric's value in each valid trial that has it, by the trial's seed."""
        return {trial.seed: trial.metrics[metric] for trial in self.valid if metric in trial.metrics}


def rises(cell: CellFinding, series: str) -> bool:
    """Whether a series rose inside the window, beyond chance, in at least half of the cell's valid trials."""
    rose = sum(any(one.series == series and one.change > 0 for one in trial.trends) for trial in cell.valid)
    return bool(rose) and 2 * rose >= len(cell.valid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """A campaign's cells in the order of its plan.  at: its URI, where `folder` has a copy of its records alone."""

    campaign: Campaign
    folder: Path
    cells: tuple[CellFinding, ...]
    at: Remote | None = None

    @property
    def trials(self) -> tuple[TrialFinding, ...]:
        """All trials, cell after cell."""
        return tuple(trial for cell in self.cells for trial in cell.trials)


def gather(
    campaign: Campaign, folder: Path, finished: Sequence[Trial], rows: pa.Table,
    details: Mapping[int, Read] = MappingProxyType({}),
) -> Findings:  # fmt: skip
    """Sort the job's rows (number i is finished[i]) into cells; what has no row has failed, or was not run.

    details: of trials whose rows lack them (analysis.details.Reduced).
    """
    found = {
        (planned.cell, planned.trial): TrialFinding(planned.cell, planned.trial, planned.seed)
        for planned in campaign.order
    }
    numbered: list[TrialFinding] = []
    for trial in finished:
        cell = trial.path.parent.name
        finding = found.setdefault((cell, trial.number), TrialFinding(cell, trial.number, 0))
        finding.path = trial.path
        finding.standing = Standing.DAMAGED
        finding.latency_of = "arrived"  # until a row says otherwise: an older reduction does not know of another
        numbered.append(finding)
    shelf = Shelf()
    for number, read in details.items():
        numbered[number].details = Asked(number, read, shelf)
    _fill(numbered, rows)
    for finding in found.values():
        if finding.standing is Standing.MISSING:
            why = _short(why_failed(folder / finding.cell / trial_name(finding.number)), folder)
            finding.standing = Standing.FAILED if why else Standing.MISSING
            finding.reasons.append(f"to be run again: {why}" if why else "planned, not run")
    levels = {cell.name: cell.levels for cell in campaign.cells}
    declared = {cell.name: declared_in(cell.settings.get("settings", {})) for cell in campaign.cells}
    rule = campaign.stopping
    if rule is not None:
        # Beyond the least number a trial is run only where it is needed: one that was not is not missing.
        found = {
            key: one for key, one in found.items()
            if one.path is not None or one.number <= rule.least or one.standing is Standing.FAILED
        }  # fmt: skip
    of_cell: dict[str, list[TrialFinding]] = {name: [] for name in levels}
    for finding in sorted(found.values(), key=lambda finding: (finding.cell, finding.number)):
        of_cell.setdefault(finding.cell, []).append(finding)
    return Findings(
        campaign=campaign,
        folder=folder,
        cells=tuple(
            _cell(name, levels.get(name, {}), tuple(of_this), rule, declared.get(name, {}))
            for name, of_this in of_cell.items()
        ),
    )


def _manifest(found: Iterable[TrialFinding]) -> Manifest | None:
    """The first that can be read: a cell's trials have one workload."""
    for path in (trial.path for trial in found if trial.path is not None):
        with suppress(DamagedTrial):
            return Trial(path).manifest()
    return None


def _cell(
    name: str,
    levels: dict[str, str],
    found: tuple[TrialFinding, ...],
    rule: Rule | None,
    declared: Mapping[str, Printed],
) -> CellFinding:
    told = _manifest(found)
    asked = told.workload.asked if told else None
    cell = CellFinding(
        name=name, levels=levels, trials=found,
        guarantee=told.guarantee_class if told else "", pattern=asked.pattern if asked else None,
        ramped=isinstance(asked, Sending) and asked.ramp is not None, declared=declared,
    )  # fmt: skip
    if rule is None:
        return cell
    run = sum(trial.path is not None for trial in found)
    return replace(cell, precision=judge(rule, [trial.exact for trial in cell.valid], run=run))


def _fill(numbered: Sequence[TrialFinding], rows: pa.Table) -> None:
    """Hand each row to its trial.  Damage has the last word on a trial's standing."""
    trends: list[dict[str, Trend]] = [{} for _ in numbered]
    for number, details in by_trial(details_of(rows)).items():
        numbered[number].details = parsed(details)
    for row in _cells_of(without(rows)):
        number, table, key, metric, t, value, text = row
        finding = numbered[number]
        if table == "trial":
            _trial_row(finding, metric, value, text)
        elif table == "event":
            finding.events.append(LinkEvent(t, value, text))
        elif table == "percentile":
            finding.percentiles.setdefault(key, {})[metric] = value
            finding.at_least |= {key} if text == AT_LEAST else set()
        elif table == "journey":
            _journey_row(finding, key, metric, value, text)
        elif table == "trend":
            trends[number][metric] = Trend(change=value, p=t)
        else:
            _reason_row(finding, table, key, metric, text)
    for finding, tested in zip(numbered, adjust(trends), strict=True):
        finding.trend_tests = tested
        finding.events.sort(key=lambda event: event.real_s)  # as they are numbered in plots
        _finish(finding)


def _cells_of(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Row after row, few of them at a time as Python's own objects."""
    for batch in rows.to_batches(max_chunksize=_AT_A_TIME):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _finish(finding: TrialFinding) -> None:
    """What can be said when all rows are there."""
    if finding.latency_of == "arrived":
        finding.metrics = {of_arrivals(n) if n in LATENCIES else n: v for n, v in finding.metrics.items()}
    if finding.damaged:
        finding.standing = Standing.DAMAGED


def _reason_row(finding: TrialFinding, table: str, key: str | None, metric: str, text: str) -> None:
    """Damage, a part that failed, or a note."""
    if table == PARTIAL:
        why = _short(text, finding.path)
        finding.partial[key or metric] = why
        finding.reasons.append(f"not analysed: {metric}: {why}")
    else:
        finding.reasons.append(f"damaged {metric}: {_short(text, finding.path)}" if table == "damage" else text)
        finding.damaged |= table == "damage"


def _trial_row(finding: TrialFinding, metric: str, value: float, text: str) -> None:
    if metric == "state":
        finding.standing = Standing(text)
    elif metric == "seed":
        finding.seed = int(text)
    elif metric == "latency_of":
        finding.latency_of = "sent" if text == "sent" else "arrived"
    else:
        finding.metrics[metric] = value
        if text == AT_LEAST:
            finding.at_least.add(metric)


def _journey_row(finding: TrialFinding, key: str | None, metric: str, value: float, text: str) -> None:
    if key is None:
        finding.journey_why = text
    else:
        finding.journey.setdefault(key, {})[metric] = value


def _short(text: str, folder: Path | None) -> str:
    """The reason without the folder that every reader of the report knows."""
    return text.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "") if folder else text


def folder_of(cell: str, number: int) -> str:
    """A trial's folder inside its campaign."""
    return f"{cell}/{trial_name(number)}"
