"""How long the others took to notice that a node had vanished."""

from __future__ import annotations

from analysis.measure import Measured
from analysis.metric import Metric
from records.waits import Figure

METRICS = (
    Metric(
        name="noticed_after_s", label="Vanished peer noticed after", unit="s", better="lower", compared=True,
        leads=True,
        about="from a node's vanishing until the other end of a TCP connection to it had given that up, mean over "
        "connections; one that was still established when the watch ended, with the drain or the node's return, "
        "counts until then, and makes it a lower bound (≥)",
    ),
)  # fmt: skip


def measure(trial: Measured) -> dict[str, Figure]:
    """Nothing where nobody vanished."""
    every = trial.manifest.half_open
    if not every:
        return {}
    seconds = [(one.until_ns - one.since_ns) / 1e9 for one in every]
    noticed = all(one.left_ns is not None for one in every)
    return {"noticed_after_s": Figure(sum(seconds) / len(seconds), at_least=not noticed)}
