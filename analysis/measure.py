"""What the modules of analysis/measures have, and what they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

import pyarrow as pa

from analysis import measures
from analysis.metric import Metric
from records.link import LinkProof
from records.manifest import Manifest
from records.modules import modules
from records.waits import Sent
from records.window_metrics import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A trial's records.  tables: published, delivered and resources, in the shapes of records.schema.

    ledger: first deliveries and answers.  sent: what was sent, and how long it took.  Times are CLOCK_MONOTONIC
    nanoseconds; the window is `manifest.window`.
    """

    manifest: Manifest
    proof: LinkProof
    tables: Mapping[str, pa.Table]
    ledger: Ledger
    sent: Sent


class Measure(Protocol):
    """METRICS: those that `measure` may return, by their names."""

    METRICS: tuple[Metric, ...]

    def measure(self, trial: Measured) -> Mapping[str, float | None]:
        """Values in the metrics' units; left out or None where the trial has none."""


@cache
def known() -> dict[str, Measure]:
    """Every module, by name."""
    return {name: cast(Measure, module) for name, module in modules(measures, having=("METRICS", "measure")).items()}


def measured(measure: Measure, trial: Measured) -> dict[str, float]:
    """What a module says of a trial.  ValueError for a metric that it does not declare."""
    found = {name: value for name, value in measure.measure(trial).items() if value is not None}
    declared = [one.name for one in measure.METRICS]
    if strange := [name for name in found if name not in declared]:
        raise ValueError(f"metric {strange[0]!r} is not among the METRICS of its module: {', '.join(declared)}")
    return found
