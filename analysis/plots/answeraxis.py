"""The columns of the answer: where a metric's marks stand, between which ends, and which values are labelled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.answer import Mark
from analysis.metric import Metric
from analysis.plots.eventmarks import SIZE, text_length
from analysis.plots.panel import Panel
from analysis.plots.sketch import Align, Label, Line, Shape
from analysis.plots.style import COLOURS, HAIR, MUTED, limits, linear_ticks, log_ticks, tick_text
from analysis.units import unit_of

BETTER = "#0b6e4f"
_FARTHEST = 4.0  # an interval is drawn as far as this factor from its ratio
# Labelled in pairs, as far from equal one way as the other.
_SMALL = ((0.5, 2.0), (0.8, 1.2), (0.9, 1.1), (0.95, 1.05), (0.98, 1.02), (0.99, 1.01))
_RATIOS = tuple((1 / ratio, ratio) for ratio in (1e6, 1e5, 1e4, 1e3, 100.0, 50.0, 20.0, 10.0, 5.0)) + _SMALL
_APART = 26.0  # points from one tick's text to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A metric's panel and, right of it, its texts, which end at `end`.

    baseline: '' where means are shown.  judged: whether one way is better.
    """

    metric: Metric
    panel: Panel
    end: float
    baseline: str
    judged: bool


def across(marks: Sequence[Mark], *, ratios: bool) -> tuple[tuple[float, float], bool]:
    """Ends of an axis that holds these marks, and whether it is logarithmic."""
    values = [mark.value for mark in marks if mark.value is not None]
    if not ratios:
        low, high, log = limits(values)
        return (low, high), log
    logs = [0.0, *(math.log(end) for mark in marks if mark.value is not None for end in drawn(mark))]
    room = max(0.08 * (max(logs) - min(logs)), 0.01)
    return (math.exp(min(logs) - room), math.exp(max(logs) + room)), True


def drawn(mark: Mark) -> tuple[float, float]:
    """The ends of a ratio's interval, as far as it is drawn: to equal in any case, where it holds that."""
    value = mark.value or 1.0
    low, high = mark.low or value, mark.high or value
    nearest, farthest = value / _FARTHEST, value * _FARTHEST
    if low <= 1.0 <= high:
        nearest, farthest = min(nearest, 1.0), max(farthest, 1.0)
    return max(low, nearest), min(high, farthest)


def frame(column: Column) -> list[Shape]:
    """What a column has apart from its rows: name, labelled values, the baseline's line, which way is better."""
    panel, metric = column.panel, column.metric
    right = panel.x + panel.width
    fits = SIZE * (column.end - panel.x) / max(1.15 * text_length(metric.label), 1.0)  # bold letters are wider
    shapes: list[Shape] = [Label(x=panel.x, y=panel.y - 20, text=metric.label, size=min(8.5, fits), bold=True)]
    for value, text in _ratio_ticks(panel) if column.baseline else _mean_ticks(panel, metric):
        at = panel.along(value)
        shapes.append(Line(points=((at, panel.y), (at, panel.foot)), colour=HAIR, width=0.6))
        shapes.append(Label(x=at, y=panel.foot + 10, text=text, size=7.0, colour=MUTED, align="center"))
    if not column.baseline:
        return shapes
    at = panel.along(1.0)
    shapes.append(Line(points=((at, panel.y - 3), (at, panel.foot)), colour=COLOURS[0], width=1.3))
    share = (at - panel.x) / panel.width
    align: Align = "right" if share > 0.7 else "left" if share < 0.3 else "center"
    shapes.append(Label(x=at, y=panel.y - 6, text=column.baseline, size=7.5, colour=COLOURS[0], align=align))
    if not column.judged:
        return shapes
    if metric.better == "higher":
        shapes.append(Label(x=right, y=panel.foot + 21, text="better →", size=7.0, colour=BETTER, align="right"))
    elif metric.better == "lower":
        shapes.append(Label(x=panel.x, y=panel.foot + 21, text="← better", size=7.0, colour=BETTER))
    return shapes


def _ratio_ticks(panel: Panel) -> list[tuple[float, str]]:
    """Equal, and round ratios, the largest first, as many as have room."""
    low, high = panel.across
    found = [1.0]
    for pair in _RATIOS:
        for value in pair:
            at = panel.along(value)
            if low <= value <= high and all(abs(at - panel.along(one)) > _APART for one in found):
                found.append(value)
    return [(value, ratio_text(value)) for value in sorted(found)]


def ratio_text(value: float) -> str:
    """A tick: `÷100`, `equal`, `×2`, or below twice a difference in per cent."""
    times = max(value, 1 / value)
    if times == 1.0:
        return "equal"
    if times < 1.99:
        return f"{'+' if value > 1 else '−'}{abs(value - 1) * 100:.2g} %"
    return f"{'×' if value > 1 else '÷'}{tick_text(round(times))}"


def _mean_ticks(panel: Panel, metric: Metric) -> list[tuple[float, str]]:
    low, high = panel.across
    factor, unit = unit_of(metric, high)
    values = log_ticks(low, high) if panel.log else linear_ticks(low, high, 3)
    most = max(1, round(panel.width / (1.6 * _APART)))
    shown = values[:: math.ceil(len(values) / most)]
    return [(value, f"{tick_text(value / factor)} {unit if value == shown[-1] else ''}".rstrip()) for value in shown]
