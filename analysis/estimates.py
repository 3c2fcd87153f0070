"""Which interval a metric gets: by where its values can be, and by how much was counted where that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from analysis.metrics import METRICS
from analysis.statistics import Count, Estimate, estimate, share

Trial = Mapping[str, float]
# Share to what it counts, of what, and what of that is not there: metrics of a trial.
_COUNTED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "loss_share": ("lost", "expected", ()),
    "in_doubt_share": ("in_doubt", "expected", ()),
    "duplicate_share": ("duplicates", "expected", ("lost", "in_doubt")),
    "reordered_share": ("reordered", "expected", ("lost", "in_doubt")),
    "reached_all_share": ("reached_all", "broadcasts", ()),
    "retr_share_uplink": ("retr_or_ooo_uplink", "data_packets_uplink", ()),
    "retr_share_downlink": ("retr_or_ooo_downlink", "data_packets_downlink", ()),
}
_NUMBERS = {"lost": "loss_share"}  # numbers whose shares are counted


def estimated(metric: str, trials: Sequence[Trial], *, is_share: bool | None = None) -> Estimate | None:
    """Mean and interval of a metric over the trials that have it, by name in SI units; None when none has.

    is_share: of a metric that is none of analysis.metrics, whether it is a share.
    """
    values = [trial[metric] for trial in trials if metric in trial]
    if (of := _NUMBERS.get(metric)) is not None and (number := _number(trials, of)) is not None:
        return number
    counts = counted(metric, trials)
    if counts and len(counts) == len(values) and (found := share(counts)) is not None:
        return found
    return of_values(metric, values) if is_share is None else estimate(values, "share" if is_share else "positive")


def of_values(metric: str, values: Sequence[float]) -> Estimate | None:
    """The same of values alone, of which it is not known how much was counted.  No metric can be negative."""
    known = METRICS.get(metric)
    return estimate(values, "share" if known is not None and known.unit == "share" else "positive")


def countable() -> tuple[str, ...]:
    """Shares of which trials tell how many of how many."""
    return tuple(_COUNTED)


def counted(metric: str, trials: Sequence[Trial]) -> tuple[Count, ...]:
    """How many of how many, in each trial that tells both; empty for what is not counted."""
    if metric not in _COUNTED:
        return ()
    found, of, without = _COUNTED[metric]
    return tuple(
        Count(trial[found], looked)
        for trial in trials
        if found in trial and of in trial and (looked := trial[of] - sum(trial.get(one, 0.0) for one in without)) > 0
    )


def share_of(metric: str) -> str:
    """The share that a number is of what was counted, by their metrics' names; of all others themselves."""
    return _NUMBERS.get(metric, metric)


def _number(trials: Sequence[Trial], of: str) -> Estimate | None:
    """A mean number, as far as its share of what was counted is known."""
    counts = counted(of, trials)
    if len(counts) != len(trials) or (found := share(counts)) is None:
        return None
    size = sum(one.of for one in counts) / len(counts)
    mean = sum(one.found for one in counts) / len(counts)
    low, high = (None if end is None else end * size for end in (found.low, found.high))
    return replace(found, mean=mean, low=None if low is None else min(low, mean),
                   high=None if high is None else max(high, mean))  # fmt: skip
