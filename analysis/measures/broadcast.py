"""When the last member of a group had a broadcast, and how many broadcasts every member had."""

from __future__ import annotations

from analysis.measure import Measured
from analysis.metric import Metric
from records.latency import sent_in_window
from records.waits import Figure
from records.workload import Pattern

METRICS = (
    Metric(
        name="last_member_mean_s", label="Latency to the last {receiver}, mean", unit="s", better="lower",
        about="of the broadcasts sent in the window: until all {receivers} had it; one that never reached all counts "
        "until the end of the drain, and makes it a lower bound (≥)",
    ),
    Metric(
        name="reached_all_share", label="Broadcasts that reached all", unit="share", better="higher",
        about="of the broadcasts sent in the window: those that every {receiver} had by the end of the drain",
    ),
    Metric(
        name="broadcasts", label="Broadcasts sent", unit="count", better=None, about="in the window",
    ),
    Metric(
        name="reached_all", label="Broadcasts that reached all, number", unit="count", better=None,
        about="of those sent in the window, by the end of the drain",
    ),
)  # fmt: skip


def measure(trial: Measured) -> dict[str, Figure]:
    """Nothing where messages are not for all, or none was sent."""
    if trial.manifest.workload.messages.pattern is not Pattern.BROADCAST:
        return {}
    lengths = sent_in_window(trial.sent.lasts, trial.manifest.window)
    if (mean := lengths.mean()) is None:
        return {}
    sent, reached = len(lengths), len(lengths) - lengths.missing
    numbers = {"broadcasts": sent, "reached_all": reached, "reached_all_share": reached / sent}
    return {"last_member_mean_s": mean, **{name: Figure(float(value)) for name, value in numbers.items()}}
