"""Measured against published, logarithmic both ways: what lies on the diagonal agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis.plots.style import COLOURS, HAIR, INK, MUTED, Plot, finish, frame, log_ticks, tick_text
from analysis.plots.whiskers import ends_of, whisker
from analysis.statistics import Estimate

_WIDTH_IN, _HEIGHT_IN, _ABOVE_IN, _BELOW_IN = 8.2, 3.45, 0.85, 0.5
_BAND = "#dfe6ec"
_MARKS = ("o", "D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One value.  group: the network; bound: the link decides it, so it should agree."""

    group: str
    published: float
    ours: Estimate
    bound: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """One metric's dots."""

    title: str
    unit: str
    dots: tuple[Dot, ...]


def against_plot(squares: Sequence[Square], *, groups: Sequence[str], within: float, aside: str = "") -> Plot | None:
    """A square for each metric.  within: the share around the diagonal that is shaded.  None without any dot.

    aside: what else the reader should know of what is drawn.
    """
    drawn = [square for square in squares if square.dots]
    if not drawn:
        return None
    figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN))
    grid = {"left": 0.075, "right": 0.985, "wspace": 0.3, "bottom": _BELOW_IN / _HEIGHT_IN,
            "top": 1 - _ABOVE_IN / _HEIGHT_IN}  # fmt: skip
    axes = figure.subplots(1, len(drawn), squeeze=False, gridspec_kw=grid)[0]
    for ax, square in zip(axes, drawn, strict=True):
        _square(ax, square, groups, within)
    title = "Measured against published"
    figure.text(0.012, 0.985, title, ha="left", va="top", fontsize=10, fontweight="bold")
    note = f"mean and 95 % interval; shaded: within {within * 100:g} %; filled: rows that the link decides"
    note += f"; {aside}" * bool(aside)
    figure.text(0.012, 1 - 0.27 / _HEIGHT_IN, note, ha="left", va="top", fontsize=8, color=MUTED)
    for number, group in enumerate(groups):
        figure.text(0.985 - 0.13 * (len(groups) - 1 - number), 0.985, f"{'●◆'[number % 2]} {group}", ha="right",
                    va="top", fontsize=8.5, color=COLOURS[number])  # fmt: skip
    counts = ", ".join(f"{len(square.dots)} of {square.title}" for square in drawn)
    return finish(figure, name="measured-against-published", title=title, about=f"{title}: {counts}")


def _square(ax: Any, square: Square, groups: Sequence[str], within: float) -> None:
    frame(ax)
    values = [value for dot in square.dots for value in (dot.published, dot.ours.mean) if value > 0]
    low, high = (min(values) / 2, max(values) * 2) if values else (0.1, 10.0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    ends = [low, high]
    ax.fill_between(ends, [e * (1 - within) for e in ends], [e * (1 + within) for e in ends], color=_BAND, linewidth=0)
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


def _dot(ax: Any, dot: Dot, number: int, low: float) -> None:
    colour, ours = COLOURS[number], max(dot.ours.mean, low)
    whisker(ax, dot.published, ends_of(dot.ours), colour=colour, width=1.2, upright=True, alpha=0.5)
    if dot.ours.at_least:
        ax.text(dot.published, ours, "≥ ", fontsize=7, color=colour, ha="right", va="center", zorder=3)
    ax.plot([dot.published], [ours], marker=_MARKS[number % 2], markersize=4.2, linestyle="", markeredgecolor=colour,
            markeredgewidth=0.9, markerfacecolor=colour if dot.bound else "white", zorder=3)  # fmt: skip
