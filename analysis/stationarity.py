"""Whether a trial's window was steady: a trend inside it is told, and makes no trial invalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics import Trend, benjamini_hochberg, trend
from analysis.statistics.trend import batch_counts, batch_medians
from analysis.units import percent
from records.latency import LATENCIES, RESPONSES, of_arrivals
from records.manifest import Window
from records.window_metrics import Ledger
from records.words import Words

LATENCY, BACKLOG = "latency_s", "backlog"
_LABELS = {
    "delivered_per_s": "{received}",
    "published_per_s": "{sent}",
    LATENCY: "{latency} of arrivals",
    BACKLOG: "backlog",
}
_OF_DELIVERIES = [name for name in LATENCIES if not name.startswith("publish_")]
_SERIES = {name: LATENCY for latency in _OF_DELIVERIES for name in (latency, of_arrivals(latency))}
FALSE_ALARMS = 0.05  # share of all trends told in a campaign that may be chance
_NOTABLE = 0.01  # smaller changes are told in tables/trends.csv only


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTrend:
    """One series of one trial.  change: share of its mean, over the window.  p_adjusted: for all of the campaign."""

    series: str
    change: float
    p: float
    p_adjusted: float

    @property
    def told(self) -> bool:
        """Whether it is more than chance, and large enough to say."""
        return self.p_adjusted <= FALSE_ALARMS and abs(self.change) >= _NOTABLE

    def text(self, words: Words) -> str:
        """As in `subscriber throughput rose by 12 % of its mean over the window (p = 0.001)`."""
        name, way = series_label(self.series, words), "rose" if self.change > 0 else "fell"
        p = f"p = {self.p_adjusted:.2g}" if self.p_adjusted >= 1e-4 else "p < 0.0001"
        return f"{name} {way} by {percent(abs(self.change))} % of its mean over the window ({p})"


def window_trends(ledger: Ledger, window: Window) -> dict[str, Trend]:
    """Trends of throughputs and of latency, in order of arrival, by series; without those of too few messages."""
    inside = (ledger.t_recv >= window.start_ns) & (ledger.t_recv < window.end_ns)
    order = np.argsort(ledger.t_recv[inside], kind="stable")
    batches = {
        "delivered_per_s": batch_counts(ledger.t_recv, start_ns=window.start_ns, end_ns=window.end_ns),
        "published_per_s": batch_counts(ledger.t_ack, start_ns=window.start_ns, end_ns=window.end_ns),
        LATENCY: batch_medians(ledger.latency[inside][order] / 1e9),
    }
    return {name: found for name, values in batches.items() if (found := trend(values)) is not None}


def series_label(series: str, words: Words) -> str:
    """What a series is called inside a sentence."""
    return words.fill(_LABELS.get(series, series))


def series_of(metric: str) -> str:
    """The series that is tested for a trend, whose mean this metric is."""
    return _SERIES.get(metric, metric)


def is_wait(metric: str) -> bool:
    """Whether it becomes longer for as long as messages pile up: a latency of deliveries, or a response's."""
    return series_of(metric) == LATENCY or metric in RESPONSES


def adjust(tested: Sequence[Mapping[str, Trend]]) -> list[list[WindowTrend]]:
    """Trends of each trial of a campaign, with p values adjusted for the number of windows and series tested."""
    adjusted = iter(benjamini_hochberg([found.p for trial in tested for found in trial.values()]))
    return [
        [
            WindowTrend(series=name, change=found.change, p=found.p, p_adjusted=next(adjusted))
            for name, found in trial.items()
        ]
        for trial in tested
    ]
