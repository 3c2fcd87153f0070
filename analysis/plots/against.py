"""Measured against published, logarithmic both ways: what lies on the diagonal agrees."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis.plots.paper import Exactness
from analysis.plots.style import COLOURS, HAIR, INK, MUTED, Plot, finish, frame, log_ticks, tick_text
from analysis.plots.whiskers import ends_of, whisker
from analysis.statistics import Estimate

_WIDTH_IN, _SQUARE_IN, _ABOVE_IN, _BELOW_IN, _BETWEEN_IN = 8.2, 2.1, 0.7, 0.5, 0.75
_IN_A_ROW = 3  # squares
_LINE_IN, _LINE_LETTERS = 0.15, 112  # of the notes below the title
_BAND = "#dfe6ec"
_ARROWS = {"at_least": (13, 0), "at_most": (-13, 0)}  # points along the axis of published values
_UPWARDS = (0, 13)  # the same of ours
_MARKS, _SIGNS = ("o", "D", "s", "^", "v", "P"), "●◆■▲▼✚"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One value.  group: the network; bound: the link decides it, so it should agree.  published: above 0."""

    group: str
    published: float
    ours: Estimate
    bound: bool
    exactness: Exactness = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """One metric's dots."""

    title: str
    unit: str
    dots: tuple[Dot, ...]


def against_plot(
    squares: Sequence[Square], *, groups: Sequence[str], within: float | None, aside: str = ""
) -> Plot | None:
    """A square for each metric.  None without any dot.

    within: the share around the diagonal that is shaded, where some values should agree.  aside: what else the reader
    should know of what is drawn.
    """
    drawn = [square for square in squares if square.dots]
    if not drawn:
        return None
    columns = min(len(drawn), _IN_A_ROW)
    rows = math.ceil(len(drawn) / columns)
    notes = _notes(drawn, within, aside)
    above = _ABOVE_IN + len(notes) * _LINE_IN
    height = above + rows * _SQUARE_IN + (rows - 1) * _BETWEEN_IN + _BELOW_IN
    figure = Figure(figsize=(_WIDTH_IN, height))
    grid = {"left": 0.075, "right": 0.985, "wspace": 0.3, "hspace": _BETWEEN_IN / _SQUARE_IN,
            "bottom": _BELOW_IN / height, "top": 1 - above / height}  # fmt: skip
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw=grid).ravel()
    for ax, square in zip(axes, drawn, strict=False):
        _square(ax, square, groups, within)
    for ax in axes[len(drawn) :]:
        ax.remove()
    title = "Measured against published"
    figure.text(0.012, 1 - 0.05 / height, title, ha="left", va="top", fontsize=10, fontweight="bold")
    for number, note in enumerate(notes):
        down = 0.27 + number * _LINE_IN
        figure.text(0.012, 1 - down / height, note, ha="left", va="top", fontsize=8, color=MUTED)
    for number, group in enumerate(groups):
        sign = _SIGNS[number % len(_SIGNS)]
        figure.text(0.985 - 0.13 * (len(groups) - 1 - number), 1 - 0.05 / height, f"{sign} {group}", ha="right",
                    va="top", fontsize=8.5, color=_colour(number))  # fmt: skip
    counts = ", ".join(f"{len(square.dots)} of {square.title}" for square in drawn)
    return finish(figure, name="measured-against-published", title=title, about=f"{title}: {counts}")


def _notes(drawn: Sequence[Square], within: float | None, aside: str) -> list[str]:
    """What the signs mean, of those that are drawn."""
    notes = ["mean and 95 % interval"]
    if within is not None:
        notes += [f"shaded: within {within * 100:g} %", "filled: rows that the link decides"]
    dots = [dot for square in drawn for dot in square.dots]
    if any(dot.ours.at_least for dot in dots):
        notes.append("↑: ours is at least")
    if any(dot.exactness in _ARROWS for dot in dots):
        notes.append("→, ←: published as at least, at most")
    if any(_beyond(square) for square in drawn):
        notes.append("▲, ▼: the interval goes on")
    return textwrap.wrap("; ".join([*notes, *([aside] if aside else [])]), _LINE_LETTERS)


def _square(ax: Any, square: Square, groups: Sequence[str], within: float | None) -> None:
    frame(ax)
    low, high = _limits(square)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    ends = [low, high]
    if within is not None:
        lower, upper = ([end * (1 + away) for end in ends] for away in (-within, within))
        ax.fill_between(ends, lower, upper, color=_BAND, linewidth=0)
    ax.plot(ends, ends, color=MUTED, linewidth=0.9, zorder=1)
    for dot in square.dots:
        _dot(ax, dot, groups.index(dot.group), low)
    for axis in (ax.xaxis, ax.yaxis):
        ticks = log_ticks(low, high)
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FixedFormatter([tick_text(value) for value in ticks]))
    ax.tick_params(labelsize=7.5)
    ax.grid(color=HAIR, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_title(f"{square.title}, {square.unit}", fontsize=8.5, color=INK, pad=5)
    ax.set_xlabel("published", fontsize=8, color=MUTED, labelpad=2)
    if ax.get_subplotspec().is_first_col():
        ax.set_ylabel("ours", fontsize=8, color=MUTED, labelpad=1)


def _limits(square: Square) -> tuple[float, float]:
    """Of both axes: an interval may go beyond them."""
    values = [value for dot in square.dots for value in (dot.published, dot.ours.mean) if value > 0]
    return (min(values) / 2, max(values) * 2) if values else (0.1, 10.0)


def _dot(ax: Any, dot: Dot, number: int, low: float) -> None:
    colour, ours = _colour(number), max(dot.ours.mean, low)
    whisker(ax, dot.published, _ends(dot), colour=colour, width=1.2, upright=True, alpha=0.5)
    ax.plot([dot.published], [ours], marker=_MARKS[number % len(_MARKS)], markersize=4.2, linestyle="",
            markeredgecolor=colour, markeredgewidth=0.9, markerfacecolor=colour if dot.bound else "white",
            zorder=3)  # fmt: skip
    tips = [_UPWARDS] if dot.ours.at_least else []
    if dot.exactness in _ARROWS:
        tips.append(_ARROWS[dot.exactness])
    for tip in tips:
        style = {"arrowstyle": "<-", "color": colour, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 2}
        ax.annotate("", xy=(dot.published, ours), xytext=tip, textcoords="offset points",
                    annotation_clip=False, arrowprops=style)  # fmt: skip


def _beyond(square: Square) -> bool:
    low, high = _limits(square)
    strokes = [(least, most) for least, most in map(_ends, square.dots) if least is not None and most is not None]
    return any(least < low or most > high for least, most in strokes)


def _ends(dot: Dot) -> tuple[float | None, float | None]:
    """Where its stroke ends; a lower bound's arrow says what its stroke would."""
    low, high = ends_of(dot.ours)
    return low, dot.ours.mean if dot.ours.at_least else high


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
