"""What the modules of analysis/measures have, and what they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Protocol, cast

import pyarrow as pa

from analysis import measures
from analysis.metric import Metric
from analysis.partial import located
from records.link import LinkProof
from records.manifest import Manifest
from records.modules import modules
from records.waits import Figure, Sent
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

    def measure(self, trial: Measured) -> Mapping[str, float | Figure | None]:
        """Values in the metrics' units, a Figure for one that may be a lower bound; None or left out where none is."""


@cache
def known() -> dict[str, Measure]:
    """Every module, by name."""
    found = modules(measures, having=("METRICS", "measure"))
    for module in found.values():
        check_metrics(module)
    return {name: cast(Measure, module) for name, module in found.items()}


def check_metrics(module: ModuleType) -> None:
    """Raise ValueError for METRICS that are no tuple, such as a single one in brackets without a comma."""
    if not isinstance(module.METRICS, tuple):
        raise ValueError(f"{module.__file__}: METRICS is a {type(module.METRICS).__name__}, and has to be a tuple")


def measured(measure: Measure, trial: Measured) -> dict[str, Figure]:
    """What a module says of a trial.  ValueError for a metric that it does not declare, and where it fails."""
    try:
        given = measure.measure(trial)
    except Exception as error:
        raise ValueError(located(error)) from error
    there = {name: value for name, value in given.items() if value is not None}
    found = {name: value if isinstance(value, Figure) else Figure(value) for name, value in there.items()}
    declared = [one.name for one in measure.METRICS]
    if strange := [name for name in found if name not in declared]:
        raise ValueError(f"metric {strange[0]!r} is not among the METRICS of its module: {', '.join(declared)}")
    return found
