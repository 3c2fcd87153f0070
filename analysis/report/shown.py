"""A cell of a table: the text that is read, and the value that it is sorted by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.metric import Metric
from analysis.statistics import Estimate
from analysis.units import interval, quantity


@dataclass(frozen=True, slots=True)
class Shown:
    """value: None where there is none, or where only the text can be compared.  aside: a remark below it."""

    text: str
    value: float | None = None
    aside: str = ""


def amount(metric: Metric, value: float | None, *, at_least: bool = False) -> Shown:
    """A value with its unit.  at_least: it is a lower bound."""
    return Shown(quantity(metric, value, at_least=at_least), _finite(value))


def estimated(metric: Metric, found: Estimate | None) -> Shown:
    """A mean with its interval; sorted by the mean."""
    return Shown(interval(metric, found), None if found is None else _finite(found.mean))


def number(value: float | None, text: str | None = None) -> Shown:
    """A plain number, with digits grouped unless a text is given."""
    if text is None:
        text = "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")
    return Shown(text, _finite(value))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
