"""What was sent to nodes that were not there."""

from __future__ import annotations

from analysis.measure import Measured
from analysis.metric import Metric
from records.ledger import reconcile

METRICS = (
    Metric(
        name="absent", label="Sent to absent nodes", unit="count", better=None,
        about="messages that never came, as their consumers' nodes had been killed, had vanished or had not joined yet "
        "when they were sent, whole trial; they count as neither lost nor in doubt",
    ),
)  # fmt: skip


def measure(trial: Measured) -> dict[str, float]:
    """Nothing where nothing happened to nodes."""
    if not trial.manifest.node_events:
        return {}
    found = reconcile(trial.tables["published"], trial.tables["delivered"], trial.manifest.workload.audiences)
    return {"absent": float(found.absent)}
