"""A published figure with ours beside it: a panel for each network, hollow marks published, filled ones measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis.plots.style import (
    COLOURS,
    HAIR,
    INK,
    LOG_SPAN,
    MUTED,
    Plot,
    finish,
    frame,
    linear_ticks,
    log_ticks,
    tick_text,
)
from analysis.plots.whiskers import ends_of, inside, reach, whisker
from analysis.statistics import Estimate

_MARKS = ("s", "o", "D", "^")
_WIDTH_IN, _PANEL_IN, _ABOVE_IN = 8.2, 2.0, 1.0
_LINE_IN, _BELOW_IN = 0.14, 0.34  # a line of the places' names, and what is below them


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One value of a series: published, ours, either may be missing."""

    published: float | None
    ours: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A network; series: label to a mark for each place."""

    title: str
    series: dict[str, tuple[Mark, ...]]

    @property
    def values(self) -> list[float]:
        """Everything that has to fit."""
        marks = [mark for series in self.series.values() for mark in series]
        ends = [end for mark in marks if mark.ours for end in reach(mark.ours)]
        return [value for value in [*ends, *(m.published for m in marks if m.published is not None)] if value > 0]


def figure_plot(
    panels: Sequence[Panel], *, name: str, title: str, across: str, places: Sequence[str], unit: str
) -> Plot:
    """The figure.  across, places: what the horizontal axis says."""
    below = _BELOW_IN + _LINE_IN * max(place.count("\n") + 1 for place in places)
    height = _ABOVE_IN + _PANEL_IN + below
    figure = Figure(figsize=(_WIDTH_IN, height))
    grid = {"left": 0.075, "right": 0.985, "wspace": 0.16, "bottom": below / height, "top": 1 - _ABOVE_IN / height}
    axes = figure.subplots(1, len(panels), squeeze=False, gridspec_kw=grid)[0]
    for ax, panel in zip(axes, panels, strict=True):
        _panel(ax, panel, places)
        ax.set_title(panel.title, fontsize=9, color=INK, pad=5)
    figure.text(0.53, 0.012, across, ha="center", va="bottom", fontsize=8, color=MUTED)
    figure.text(0.012, 0.985, title, ha="left", va="top", fontsize=10, fontweight="bold")
    bounds = any(mark.ours and mark.ours.at_least for one in panels for marks in one.series.values() for mark in marks)
    note = f"{unit}; hollow: published; filled: ours, mean and 95 % interval{'; ≥: a lower bound' if bounds else ''}"
    figure.text(0.012, 1 - 0.27 / height, note, ha="left", va="top", fontsize=8, color=MUTED)
    _legend(figure, list(panels[0].series), top=1 - 0.5 / height)
    return finish(figure, name=name, title=title, about=_about(panels, places))


def _panel(ax: Any, panel: Panel, places: Sequence[str]) -> None:
    frame(ax)
    to_axis = _upright(ax, panel.values)
    width = 0.17 if len(panel.series) > 2 else 0.26
    for number, marks in enumerate(panel.series.values()):
        offset = (number - (len(panel.series) - 1) / 2) * width
        for place, mark in enumerate(marks):
            _mark(ax, place + offset, mark, number=number, aside=width * 0.2, to_axis=to_axis)
    ax.set_xlim(-0.55, len(places) - 0.45)
    ax.set_xticks(range(len(places)), places, fontsize=7.5)
    ax.tick_params(axis="x", length=0)
    for place in range(1, len(places)):
        ax.axvline(place - 0.5, color=HAIR, linewidth=0.6, zorder=0)


def _mark(ax: Any, x: float, mark: Mark, *, number: int, aside: float, to_axis: Callable[[float], float]) -> None:
    """Published left, ours right, so that neither hides the other."""
    colour, shape = COLOURS[number], _MARKS[number]
    if mark.published is not None:
        ax.plot([x - aside], [to_axis(mark.published)], marker=shape, markersize=4.6, markerfacecolor="white",
                markeredgecolor=colour, markeredgewidth=1.1, linestyle="", zorder=3, clip_on=False)  # fmt: skip
    if mark.ours is None:
        return
    whisker(ax, x + aside, ends_of(mark.ours), colour=colour, width=1.8, upright=True, alpha=0.6)
    if mark.ours.at_least:
        ax.text(x + aside, to_axis(mark.ours.mean), "≥ ", fontsize=7, color=colour, ha="right", va="center", zorder=4)
    ax.plot([x + aside], [to_axis(mark.ours.mean)], marker=shape, markersize=4.6, color=colour, linestyle="",
            zorder=4, clip_on=False)  # fmt: skip


def _upright(ax: Any, values: Sequence[float]) -> Callable[[float], float]:
    """Set the vertical axis, logarithmic where the values span much; what is zero or below stands at its foot."""
    low, high = (min(values), max(values)) if values else (1.0, 1.0)
    log = high / low > LOG_SPAN
    bottom, top = (low / 1.6, high * 1.6) if log else (0.0, high * 1.12)
    if log:
        ax.set_yscale("log")
    ax.set_ylim(bottom, top)
    chosen = log_ticks(bottom, top) if log else linear_ticks(bottom, top)
    ax.yaxis.set_major_locator(FixedLocator(chosen))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FixedFormatter([tick_text(value) for value in chosen]))
    ax.tick_params(axis="y", labelsize=7.5)
    ax.grid(axis="y", color=HAIR, linewidth=0.6)
    ax.set_axisbelow(True)
    return lambda value: inside(value, bottom, top)


def _legend(figure: Figure, labels: Sequence[str], *, top: float) -> None:
    signs = "\u25a0\u25cf\u25c6\u25b2"
    step = 0.235 if len(labels) > 2 else 0.16
    for number, label in enumerate(labels):
        figure.text(
            0.012 + number * step, top, f"{signs[number]} {label}",
            ha="left", va="top", fontsize=8.5, color=COLOURS[number],
        )  # fmt: skip


def _about(panels: Sequence[Panel], places: Sequence[str]) -> str:
    told = []
    for panel in panels:
        for label, marks in panel.series.items():
            pairs = "; ".join(
                f"{' '.join(place.split())}: {_number(mark.published)}, ours {_ours(mark)}"
                for place, mark in zip(places, marks, strict=True)
            )
            told.append(f"{panel.title}, {label}, published and ours: {pairs}")
    return ". ".join(told)


def _ours(mark: Mark) -> str:
    return ("≥ " if mark.ours and mark.ours.at_least else "") + _number(mark.ours.mean if mark.ours else None)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
