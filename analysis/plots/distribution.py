"""The distribution of latency of one trial, with the percentiles that its table gives."""

from __future__ import annotations

from analysis.findings import TrialFinding
from analysis.metrics import METRICS
from analysis.plots.headline import headline
from analysis.plots.panel import Panel, level, upright
from analysis.plots.sketch import Box, Label, Line, Shape, Sketch
from analysis.plots.style import HAIR, WIDTH_IN, limits
from analysis.units import quantity

_WIDTH = WIDTH_IN * 72
_LEFT, _RIGHT, _HEIGHT = 44.0, 352.0, 150.0
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_MARKED = {"latency_p50_s": 0.5, "latency_p95_s": 0.95, "latency_p99_s": 0.99}


def distribution(trial: TrialFinding, *, colour: str) -> Sketch:
    """One trial that has deliveries (its `ecdf` is not empty)."""
    values = [latency for latency, _ in trial.ecdf]
    low, high, log = limits(values)
    if log:
        low, high = min(values) / 1.3, max(values) * 1.3
    factor, unit = next((one for one in _UNITS if high >= 2 * one[0]), _UNITS[-1])
    shapes, y = headline("Distribution of latency", "from the scheduled send to the arrival", width=_WIDTH)
    panel = Panel(x=_LEFT, y=y, width=_RIGHT - _LEFT, height=_HEIGHT, across=(low, high), up=(0.0, 1.02), log=log)
    shapes += upright(panel, percent=True)
    shapes += level(panel, factor=factor)
    shapes.append(Line(points=panel.curve(trial.ecdf), colour=colour, width=1.4))
    for name, share in _MARKED.items():
        if (value := trial.metrics.get(name)) is not None:
            shapes += _mark(panel, value, share, f"{round(share * 100)} %: {quantity(METRICS[name], value)}", colour)
    text = f"latency in {unit}" + (", logarithmic" if log else "")
    shapes.append(Label(x=(_LEFT + _RIGHT) / 2, y=panel.foot + 24, text=text, align="center"))
    about = "; ".join(f"{n} {quantity(METRICS[n], trial.metrics[n])}" for n in _MARKED if n in trial.metrics)
    return Sketch(title="Distribution of latency", about=about, width=_WIDTH, height=panel.foot + 30,
                  shapes=tuple(shapes))  # fmt: skip


def _mark(panel: Panel, value: float, share: float, text: str, colour: str) -> list[Shape]:
    """A dot on the curve and its value, on the side where there is room; of the two highest one is lower."""
    x, y = panel.along(value), panel.above(share)
    left = x > panel.x + panel.width / 2
    base = y + (11.0 if share == 0.95 else 2.7)
    length = 4.3 * len(text)
    return [
        Line(points=((x, y), (x, panel.foot)), colour=HAIR, width=0.8),
        Box(x=x - 2, y=y - 2, width=4, height=4, fill=colour),
        Box(x=x - 7 - length if left else x + 5, y=base - 7.5, width=length, height=9.5, fill="#ffffff", opacity=0.85),
        Label(
            x=x - 6 if left else x + 6, y=base, text=text, size=7.5, colour=colour, align="right" if left else "left"
        ),
    ]
