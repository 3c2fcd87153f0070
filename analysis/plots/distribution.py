"""The distribution of latency of one trial, with the percentiles that its table gives."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.findings import TrialFinding
from analysis.metrics import METRICS
from analysis.plots.headline import headline
from analysis.plots.panel import Panel, level, upright
from analysis.plots.sketch import Box, Label, Line, Shape, Sketch
from analysis.plots.style import WIDTH_IN, limits
from analysis.units import quantity
from records.latency import of_arrivals
from records.words import Words

_WIDTH = WIDTH_IN * 72
_LEFT, _RIGHT, _HEIGHT = 44.0, 352.0, 150.0
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_MARKED = {"latency_p50_s": 0.5, "latency_p95_s": 0.95, "latency_p99_s": 0.99}


def distribution(trial: TrialFinding, *, colour: str, words: Words) -> Sketch:
    """One trial that has deliveries (its `ecdf` is not empty)."""
    values = [latency for latency, _ in trial.ecdf]
    low, high, log = limits(values)
    if log:
        low, high = min(values) / 1.3, max(values) * 1.3
    factor, unit = next((one for one in _UNITS if high >= 2 * one[0]), _UNITS[-1])
    whose = "was sent in the window" if trial.latency_of == "sent" else "arrived in the window (an older reduction)"
    note = f"from the scheduled send to the arrival, of what {whose}"
    title = f"Distribution of {words.latency}"
    shapes, y = headline(title, note, width=_WIDTH)
    panel = Panel(x=_LEFT, y=y, width=_RIGHT - _LEFT, height=_HEIGHT, across=(low, high), up=(0.0, 1.02), log=log)
    shapes += upright(panel, percent=True)
    shapes += level(panel, factor=factor)
    shapes.append(Line(points=panel.curve(trial.ecdf), colour=colour, width=1.4))
    names = {_name(trial, name): share for name, share in _MARKED.items()}
    marks = [(name, trial.metrics[name], share) for name, share in names.items() if name in trial.metrics]
    for _, value, share in (mark for mark in marks if mark[0] not in trial.at_least):
        shapes.append(Box(x=panel.along(value) - 2, y=panel.above(share) - 2, width=4, height=4, fill=colour))
    texts = [
        f"{round(share * 100)} %: {quantity(METRICS[name], value, at_least=name in trial.at_least)}"
        for name, value, share in marks
    ]
    late = any(panel.along(value) > panel.x + 0.6 * panel.width for _, value, share in marks if share == 0.5)
    shapes += _list(panel, texts, colour, left=late)
    text = f"{words.latency} in {unit}" + (", logarithmic" if log else "")
    shapes.append(Label(x=(_LEFT + _RIGHT) / 2, y=panel.foot + 24, text=text, align="center"))
    return Sketch(title=title, about="; ".join(texts), width=_WIDTH, height=panel.foot + 30,
                  shapes=tuple(shapes))  # fmt: skip


def _name(trial: TrialFinding, metric: str) -> str:
    return metric if trial.latency_of == "sent" else of_arrivals(metric)


def _list(panel: Panel, texts: Sequence[str], colour: str, *, left: bool) -> list[Shape]:
    """The marked values, in the corner that the curve leaves free."""
    at = panel.x + 8 if left else panel.x + panel.width - 4
    top = panel.y + 14 if left else panel.foot - 8 - 11 * (len(texts) - 1)
    return [
        Label(x=at, y=top + 11 * row, text=text, colour=colour, align="left" if left else "right")
        for row, text in enumerate(texts)
    ]
