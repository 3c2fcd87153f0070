"""Which interval a metric gets: by where its values can be, and by how much was counted where that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    if (share_of := _NUMBERS.get(metric, metric)) not in _COUNTED:
        return ()
    found, of, without = _COUNTED[share_of]
    return tuple(
        Count(trial[found], looked, worth=1.0 if share_of == metric else looked)
        for trial in trials
        if found in trial and of in trial and (looked := trial[of] - sum(trial.get(one, 0.0) for one in without)) > 0
    )
