"""How often producers had to send again what a full destination had refused."""

from __future__ import annotations

from analysis.measure import Measured
from analysis.metric import Metric

METRICS = (
    Metric(
        name="retries", label="Sends repeated", unit="count", better="lower",
        about="because the provider had refused them for want of space, whole trial",
    ),
)  # fmt: skip


def measure(trial: Measured) -> dict[str, float]:
    """Nothing where a full destination makes producers wait."""
    work = trial.manifest.workload
    return {"retries": float(sum(one.retries for one in work.producers))} if work.messages.when_full == "refuse" else {}
