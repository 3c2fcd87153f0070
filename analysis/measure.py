"""What the modules of analysis/measures have, and what they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, cast

import pyarrow as pa

from analysis import measures
from analysis.metric import Metric
from records.link import LinkProof
from records.manifest import Manifest
from records.modules import file_of, tried
from records.raised import located
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


def known(taken: Mapping[str, str]) -> tuple[dict[str, Measure], dict[str, str]]:
    """The modules that can be used, by name, and of each other one why not.  taken: as of check_metrics."""
    named = dict(taken)

    def check(module: ModuleType) -> None:
        check_metrics(module, named)
        named.update((one.name, file_of(module)) for one in module.METRICS)

    found, failed = tried(measures, having=("METRICS", "measure"), check=check)
    return {name: cast(Measure, module) for name, module in found.items()}, failed


def check_metrics(module: ModuleType, taken: Mapping[str, str]) -> None:
    """Raise ValueError for METRICS that are no tuple of Metric, or not of different names.

    taken: names that other metrics have, each with the file that declares it.
    """
    file, given = file_of(module), module.METRICS
    if not isinstance(given, tuple):  # such as a single one in brackets without a comma
        raise ValueError(f"{file}: METRICS is a {type(given).__name__}, and has to be a tuple")
    named: dict[str, str] = {}
    for one in given:
        if not isinstance(one, Metric):
            raise ValueError(f"{file}: METRICS has a {type(one).__name__} in it, and has to be a tuple of Metric")
        if where := taken.get(one.name) or named.get(one.name):
            raise ValueError(f"{file}: metric {one.name!r} is declared in {where} already, and needs another name")
        named[one.name] = f"{file} itself"


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
