"""When a cell has been repeated often enough: every chosen metric is precise, or the cap is reached.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from records.counts import several
from records.precision import half_width
from records.record import Record


class Rule(Record):
    """A cell is repeated until half the 95 % t interval of each metric is within `half_width` (share) of the mean.

    At least `least` valid trials decide, at most `most` trials are run.  metrics: of records.window_metrics.FIGURES.
    """

    least: int
    most: int
    half_width: float
    metrics: tuple[str, ...]


class End(StrEnum):
    """What a metric's trials have come to."""

    PRECISE = "precise"
    GOING_ON = "not yet precise"
    INCONCLUSIVE = "inconclusive"


class MetricPrecision(Record):
    """n: valid trials that have the metric.  share: half width over mean, None where that cannot be told."""

    metric: str
    end: End
    n: int
    share: float | None

    @property
    def text(self) -> str:
        """The metric and how precise it is."""
        if self.share is None:
            return f"{self.metric} undecided by {several(self.n)}"
        return f"{self.metric} ±{100 * self.share:.1f} %"


class CellPrecision(Record):
    """How a cell stands.  run: its finished trials, whatever their verdicts; valid: those that count."""

    rule: Rule
    run: int
    valid: int
    metrics: tuple[MetricPrecision, ...]

    @property
    def end(self) -> End:
        """PRECISE when every metric is; a cell with an inconclusive metric is inconclusive."""
        ends = {one.end for one in self.metrics}
        return next((end for end in (End.GOING_ON, End.INCONCLUSIVE) if end in ends), End.PRECISE)

    @property
    def text(self) -> str:
        """How the cell ended, or what it still lacks, in a few words."""
        wide = ", ".join(self._lacks(one) for one in self.metrics if one.end is not End.PRECISE)
        asked = f"±{100 * self.rule.half_width:g} %"
        if self.valid < self.rule.least and self.end is not End.PRECISE:
            wide = f"{self.valid} of at least {self.rule.least} valid trials"
        if self.end is End.PRECISE:
            return f"precise enough after {several(self.valid)} (within {asked})"
        if self.end is End.GOING_ON:
            return f"not yet precise after {several(self.valid)} (asked {asked}): {wide}"
        return f"cap of {several(self.rule.most)} reached ({self.valid} valid), inconclusive (asked {asked}): {wide}"

    def _lacks(self, one: MetricPrecision) -> str:
        if one.share is not None and one.share <= self.rule.half_width:
            return f"{one.metric} in {one.n} of at least {several(self.rule.least)}"
        return one.text


def judge(rule: Rule, valid: Sequence[Mapping[str, float]], *, run: int) -> CellPrecision:
    """How a cell stands.  valid: the figures of each valid trial.  run: how many trials have been finished.

    A metric that is 0 in every trial is precise; one that a trial does not have (a latency without a delivery) is
    judged by the others, of which there must be `least`, too.
    """
    return CellPrecision(
        rule=rule, run=run, valid=len(valid), metrics=tuple(_metric(rule, name, valid, run) for name in rule.metrics)
    )


def _metric(rule: Rule, name: str, valid: Sequence[Mapping[str, float]], run: int) -> MetricPrecision:
    values = [trial[name] for trial in valid if name in trial]
    share = _share(values)
    if len(values) >= rule.least and share is not None and share <= rule.half_width:
        end = End.PRECISE
    else:
        end = End.INCONCLUSIVE if run >= rule.most else End.GOING_ON
    return MetricPrecision(metric=name, end=end, n=len(values), share=share)


def _share(values: Sequence[float]) -> float | None:
    """Half width over mean; None for fewer than two values, and for a spread around 0."""
    if len(values) < 2:
        return None
    half, mean = half_width(values), abs(float(np.mean(values)))
    if half == 0:
        return 0.0
    return half / mean if mean else None
