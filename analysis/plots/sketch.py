"""A drawing as plain shapes, in points from the upper left corner; written as SVG or PNG by files beside this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analysis.plots.style import INK

Align = Literal["left", "center", "right"]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A filled rectangle.  rim: colour of its outline, none when empty."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    opacity: float = 1.0
    rim: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A filled circle.  rim: colour of its outline."""

    x: float
    y: float
    radius: float
    fill: str
    rim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line through its points.  dash: lengths of strokes and gaps, solid when empty."""

    points: tuple[Point, ...]
    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text on its baseline.  align: which of its ends is at x."""

    x: float
    y: float
    text: str
    size: float = 8.0
    colour: str = INK
    align: Align = "left"
    bold: bool = False


Shape = Box | Dot | Line | Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Shapes in the order of drawing, on white.  title and about: for who cannot see it."""

    title: str
    about: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
