"""A sketch as PNG, and as the plot that is put beside the report."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle
from matplotlib.transforms import Affine2D

from analysis.plots.sketch import Box, Dot, Line, Shape, Sketch
from analysis.plots.style import PNG_DPI, PNG_EFFORT, Plot
from analysis.plots.svg import svg

_POINTS = 72.0  # to the inch


def plot_of(sketch: Sketch, *, name: str) -> Plot:
    """The sketch as SVG and PNG."""
    return Plot(name=name, title=sketch.title, about=sketch.about, svg=svg(sketch), png=png(sketch))


def png(sketch: Sketch) -> bytes:
    """The sketch at PNG_DPI."""
    data = io.BytesIO()
    figure_of(sketch).savefig(data, format="png", dpi=PNG_DPI, pil_kwargs=PNG_EFFORT)
    return data.getvalue()


def figure_of(sketch: Sketch) -> Figure:
    """The sketch as matplotlib draws it."""
    figure = Figure(figsize=(sketch.width / _POINTS, sketch.height / _POINTS))
    place = Affine2D().scale(1 / sketch.width, -1 / sketch.height).translate(0, 1) + figure.transFigure
    for order, shape in enumerate(sketch.shapes):
        _add(figure, shape, place, order)
    return figure


def _add(figure: Figure, shape: Shape, place: Any, order: int) -> None:
    if isinstance(shape, Box):
        figure.add_artist(Rectangle(
            (shape.x, shape.y), shape.width, shape.height, facecolor=shape.fill, alpha=shape.opacity,
            edgecolor=shape.rim or "none", linewidth=0.6 if shape.rim else 0, transform=place, zorder=order,
        ))  # fmt: skip
    elif isinstance(shape, Dot):
        figure.add_artist(Circle(
            (shape.x, shape.y), shape.radius, facecolor=shape.fill, edgecolor=shape.rim, linewidth=1, transform=place,
            zorder=order,
        ))  # fmt: skip
    elif isinstance(shape, Line):
        dash: Any = (0, tuple(length / shape.width for length in shape.dash)) if shape.dash else "-"
        figure.add_artist(Line2D(
            [x for x, _ in shape.points], [y for _, y in shape.points], color=shape.colour, linewidth=shape.width,
            linestyle=dash, alpha=shape.opacity, transform=place, zorder=order, solid_joinstyle="round",
        ))  # fmt: skip
    else:
        figure.text(
            shape.x, shape.y, shape.text, fontsize=shape.size, color=shape.colour, ha=shape.align,
            va="baseline", fontweight="bold" if shape.bold else "normal", transform=place, zorder=order,
        )  # fmt: skip
