"""Axes of a sketch: from values to points, with few round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.plots.sketch import Box, Label, Line, Point, Shape
from analysis.plots.style import HAIR, INK, MUTED, SHADE, linear_ticks, log_ticks, tick_text

_TICK, _LETTERS = 3.0, 7.5  # length of a tick and size of its text, in points


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Axes whose upper left corner is at x, y.  across and up: lowest and highest value; log: of the one across."""

    x: float
    y: float
    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float]
    log: bool = False

    @property
    def foot(self) -> float:
        """Where the lower axis lies."""
        return self.y + self.height

    def along(self, value: float) -> float:
        """Place of a value on the lower axis; what lies outside is at its end."""
        low, high = self.across
        value = min(max(value, low), high)
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.x + self.width * (value - low) / (high - low)

    def above(self, value: float) -> float:
        """Height of a value; what lies outside is at the end of the axis."""
        low, high = self.up
        return self.foot - self.height * (min(max(value, low), high) - low) / (high - low)

    def curve(self, points: Iterable[Point]) -> tuple[Point, ...]:
        """Values to places."""
        return tuple((self.along(x), self.above(y)) for x, y in points)


def shaded(panel: Panel, low: float, high: float) -> Box:
    """A pale band from low to high."""
    left, right = panel.along(low), panel.along(high)
    return Box(x=left, y=panel.y, width=right - left, height=panel.height, fill=SHADE)


def upright(panel: Panel, *, percent: bool = False, parts: int = 5) -> list[Shape]:
    """Lines across at round values, with their texts."""
    shapes: list[Shape] = []
    for value in linear_ticks(*panel.up, parts):
        y = panel.above(value)
        text = f"{tick_text(value * 100)} %" if percent else tick_text(value)
        shapes.append(Line(points=((panel.x, y), (panel.x + panel.width, y)), colour=HAIR, width=0.6))
        shapes.append(Line(points=((panel.x - _TICK, y), (panel.x, y)), colour=MUTED, width=0.8))
        shapes.append(Label(x=panel.x - _TICK - 2, y=y + 2.7, text=text, size=_LETTERS, align="right"))
    return shapes


def level(panel: Panel, *, named: bool = True, factor: float = 1.0) -> list[Shape]:
    """The two axes, and ticks along the lower one; factor: what values are divided by in texts."""
    x, foot = panel.x, panel.foot
    shapes: list[Shape] = [
        Line(points=((x, panel.y), (x, foot), (x + panel.width, foot)), colour=MUTED, width=0.8)
    ]  # fmt: skip
    low, high = (end / factor for end in panel.across)
    for value in log_ticks(low, high) if panel.log else linear_ticks(low, high):
        at = panel.along(value * factor)
        shapes.append(Line(points=((at, foot), (at, foot + _TICK)), colour=MUTED, width=0.8))
        if named:
            shapes.append(
                Label(x=at, y=foot + _TICK + 8, text=tick_text(value), size=_LETTERS, colour=INK, align="center")
            )
    return shapes
