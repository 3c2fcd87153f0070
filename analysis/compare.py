"""Comparing the levels of one factor: paired on equal seeds, all other factors equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.estimates import counted
from analysis.findings import CellFinding, Findings
from analysis.metrics import COMPARED, OF_PACKETS, PAYLOADS
from analysis.statistics import (
    EQUAL_WITHIN,
    Answer,
    Contrast,
    Count,
    Estimate,
    Ratio,
    answer,
    bootstrap_mean,
    log_margin,
    never_certain,
    paired,
    paired_effect,
    paired_logarithms,
    paired_ratio,
)
from analysis.units import NOTABLE
from analysis.worded import chosen, metrics_for
from records.commands import FAILED
from records.comparing import Compared
from records.latency import of_arrivals

Tone = Literal["better", "worse", "even", "unequal"]
_UNITS = {"_bytes": "B", "_s": "s", "_ms": "ms", "_bit_s": "bit/s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One metric of one pair of cells that differ only in the compared factor.

    pairs: (baseline, other) of equal seed.  difference: mean of other minus baseline.
    """

    baseline: CellFinding
    other: CellFinding
    metric: str
    before: Estimate | None
    after: Estimate | None
    pairs: tuple[tuple[float, float], ...]
    ratio: Ratio
    difference: Contrast | None

    @property
    def tone(self) -> Tone:
        """Which way the other cell differs; `even` where no way is shown or the metric has no better side.

        Cells that promise different things are `unequal`: neither is better than the other.
        """
        known, ratio = metrics_for([self.baseline, self.other]).get(self.metric), self.ratio.ratio
        if unequal(self.baseline, self.other):
            return "unequal"
        if known is None or known.better is None:  # None: programs of these cells do not print it
            return "even"
        if ratio is None:  # a zero forbids one
            apart = self.difference
            if apart is None or not apart.differs:
                return "even"
            return "better" if (apart.centre > 0) == (known.better == "higher") else "worse"
        if not self.ratio.differs or abs(ratio - 1) < NOTABLE:
            return "even"
        return "better" if (ratio > 1) == (known.better == "higher") else "worse"

    @property
    def bootstrap(self) -> tuple[float, float] | None:
        """The ratio's interval by resampling; None where there is no ratio or too few pairs."""
        if self.ratio.ratio is None:
            return None
        found = bootstrap_mean([other - baseline for baseline, other in self._taken])
        return None if found is None else (math.exp(found[0]), math.exp(found[1]))

    @property
    def effect(self) -> float | None:
        """d_z: of the logarithms' differences where there is a ratio, else of the differences."""
        return paired_effect(self._taken)

    @property
    def answer(self) -> Answer | None:
        """Of the ratio: different, equivalent within 5 %, or neither detectable; None where there is no interval."""
        if self.ratio.ratio is None:
            return None
        below, above = log_margin(EQUAL_WITHIN)
        return answer(paired_logarithms(self.pairs, self._counts), below=below, above=above)

    @property
    def _counts(self) -> tuple[tuple[Count, ...], ...]:
        return counts_of(self.metric, self.baseline, self.other)

    @property
    def _taken(self) -> list[tuple[float, float]]:
        """The pairs' logarithms where there is a ratio, else the pairs."""
        if self.ratio.ratio is None:
            return list(self.pairs)
        return [(math.log(baseline), math.log(other)) for baseline, other in self.pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Cells that are equal in all factors but the compared one; others: in the order of the plan."""

    shared: dict[str, str]
    baseline: CellFinding
    others: tuple[CellFinding, ...]

    @property
    def title(self) -> str:
        """The levels that its cells share, in one line."""
        return describe(self.shared)

    @property
    def unequal(self) -> bool:
        """Whether one of the others promises something else than the baseline."""
        return any(unequal(self.baseline, other) for other in self.others)


def describe(levels: dict[str, str]) -> str:
    """Levels in one line; a level that is only a number is said with its factor, `body_bytes: 100` as `body 100 B`."""
    return " · ".join(_say(name, level) for name, level in levels.items())


def _say(name: str, level: str) -> str:
    if not (level.replace(".", "", 1).lstrip("-").isdigit() or level in ("true", "false", "none")):
        return level
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} {level} {unit}"
    return f"{name.replace('_', ' ')} {level}"


def matches(findings: Findings) -> tuple[Match, ...]:
    """All matches of the campaign; none when nothing is compared."""
    compared = findings.campaign.compared
    if compared is None:
        return ()
    groups: dict[tuple[tuple[str, str], ...], list[CellFinding]] = {}
    for cell in findings.cells:
        if compared.factor in cell.levels:
            groups.setdefault(tuple(shared_levels(findings, cell).items()), []).append(cell)
    found = []
    for shared, cells in groups.items():
        first = next((cell for cell in cells if cell.levels[compared.factor] == compared.baseline), None)
        others = tuple(cell for cell in cells if cell is not first)
        if first is not None and others:
            found.append(Match(shared=dict(shared), baseline=first, others=others))
    return tuple(found)


def level_of(findings: Findings, cell: CellFinding) -> str:
    """A cell's level of the compared factor, as `describe` says it; '' where nothing is compared or it has none."""
    compared = findings.campaign.compared
    if compared is None or compared.factor not in cell.levels:
        return ""
    return describe({compared.factor: cell.levels[compared.factor]})


def baseline_of(compared: Compared) -> str:
    """The level that the others are held against, likewise."""
    return describe({compared.factor: compared.baseline})


def shared_levels(findings: Findings, cell: CellFinding) -> dict[str, str]:
    """A cell's levels without that of the compared factor."""
    compared = findings.campaign.compared
    return {name: level for name, level in cell.levels.items() if compared is None or name != compared.factor}


def unequal(one: CellFinding, other: CellFinding) -> str:
    """How the guarantees of two cells differ, '' where they do not or a cell's are not known."""
    if not (one.guarantee and other.guarantee) or one.guarantee == other.guarantee:
        return ""
    return f"guarantees differ ({one.guarantee}; {other.guarantee})"


def compare(baseline: CellFinding, other: CellFinding, metric: str) -> Comparison:
    """One metric of two cells: both estimates, and ratio and difference over trials of equal seed."""
    first, second = baseline.by_seed(metric), other.by_seed(metric)
    pairs = tuple((first[seed], second[seed]) for seed in second if seed in first)
    if bound := _bound(baseline.bounded(metric), other.bounded(metric)):
        # Neither a ratio nor a difference of bounds is one: what is shown is the two means.
        pairs, ratio = (), Ratio(n=len(pairs), ratio=None, undefined=bound)
    elif baseline.valid and other.valid and not (first and second):
        ratio = Ratio(n=0, ratio=None, undefined=_LACKING[bool(first), bool(second)])
    else:
        ratio = paired_ratio(pairs, counts_of(metric, baseline, other))
    return Comparison(
        baseline=baseline,
        other=other,
        metric=metric,
        before=baseline.estimate(metric),
        after=other.estimate(metric),
        pairs=pairs,
        ratio=ratio,
        difference=_difference(baseline, other, metric, pairs),
    )


# Whether the baseline's valid trials have a metric, and the other's.
_LACKING = {(False, False): "neither has any", (False, True): "the baseline has none", (True, False): "it has none"}


def _difference(
    baseline: CellFinding, other: CellFinding, metric: str, pairs: Sequence[tuple[float, float]]
) -> Contrast | None:
    """The mean difference; of what is counted not certain because it did not spread."""
    found = paired(pairs)
    return found and never_certain(found, *counts_of(metric, baseline, other))


def counts_of(metric: str, *cells: CellFinding) -> tuple[tuple[Count, ...], ...]:
    """How many of how many, in each valid trial of each cell; empty for what is not counted."""
    return tuple(counted(metric, [trial.metrics for trial in cell.valid]) for cell in cells)


def _bound(before: bool, after: bool) -> str:
    """Which of two means are lower bounds; '' when neither is."""
    if before and after:
        return "both are lower bounds"
    return "the baseline's is a lower bound" if before else "a lower bound" if after else ""


def held(metric: str, *cells: CellFinding) -> str:
    """The metric, or the latency of arrivals in its place where one of these cells has only that (older) definition."""
    older = of_arrivals(metric)
    have = [cell for cell in cells if cell.values(metric) or cell.values(older)]
    return older if have and not all(cell.values(metric) for cell in have) else metric


def comparisons(match: Match, other: CellFinding) -> tuple[Comparison, ...]:
    """Every compared metric that at least one of the two cells has."""
    wanted = chosen(COMPARED, (match.baseline, other), of_programs=(FAILED, *PAYLOADS, *OF_PACKETS))
    names = (held(metric, match.baseline, other) for metric in wanted)
    found = (compare(match.baseline, other, metric) for metric in names)
    return tuple(one for one in found if one.before is not None or one.after is not None)
