"""A published figure with ours beside it: a panel for each network; pale and open marks published, filled ones ours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.colors import to_rgb
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
    ticks,
)
from analysis.plots.whiskers import ends_of, inside, reach, whisker
from analysis.statistics import Estimate

Exactness = Literal["exact", "about", "at_least", "at_most"]
Scale = Literal["places", "linear", "log"]
_MARKS, _SIGNS = ("s", "o", "D", "^", "v", "P", "*"), "■●◆▲▼✚★"
_ARROWS = {"at_least": "^", "at_most": "v"}
_WIDTH_IN, _PANEL_IN, _ABOVE_IN, _BETWEEN_IN = 8.2, 2.0, 0.86, 0.34
_LINE_IN, _BELOW_IN, _LEGEND_IN = 0.14, 0.34, 0.17  # a line of the places' names, what is below them, a line of series
_IN_A_ROW = 3  # panels
_SIZE, _RINGED = 4.6, (8.0, 4.0)  # of marks, in points; on a numeric axis published ones are rings around ours
_MOST_NAMED = 8  # different places on a logarithmic axis that are all named
_LETTER, _BOLD_LETTER = 0.0085, 0.0079  # of a place's name and of a series' one, as a share of the width


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One value of a series: published, ours; either may be missing.  at: on the horizontal axis, where words have
    0, 1, and so on.
    """

    at: float
    published: float | None
    ours: Estimate | None
    exactness: Exactness = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A network; series: label to its marks."""

    title: str
    series: dict[str, tuple[Mark, ...]]

    @property
    def marks(self) -> list[Mark]:
        """All of them."""
        return [mark for series in self.series.values() for mark in series]

    @property
    def values(self) -> list[float]:
        """Everything that has to fit."""
        ends = [end for mark in self.marks if mark.ours for end in reach(mark.ours)]
        return [*ends, *(mark.published for mark in self.marks if mark.published is not None)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """label: what the horizontal axis says.  places: its words, for scale `places`.  up: of the vertical axis."""

    label: str
    scale: Scale
    places: tuple[str, ...] = ()
    up: Literal["auto", "linear", "log"] = "auto"

    def name(self, at: float) -> str:
        """What stands at a place."""
        return self.places[round(at)] if self.scale == "places" else f"{at:g}"


def figure_plot(panels: Sequence[Panel], axes: Axes, *, name: str, title: str, unit: str) -> Plot:
    """The figure.  All panels have the same series, in the same order."""
    labels = list(panels[0].series)
    columns = min(len(panels), _IN_A_ROW)
    rows = math.ceil(len(panels) / columns)
    names = [_wrapped(place, 0.85 / columns / len(axes.places)) for place in axes.places]
    below = _BELOW_IN + _LINE_IN * (max((place.count("\n") for place in names), default=0) + 1)
    in_a_line = max(1, int(0.97 / (max(map(len, labels)) + 4) / _BOLD_LETTER))
    above = _ABOVE_IN + _LEGEND_IN * math.ceil(len(labels) / in_a_line)
    gap = _BETWEEN_IN + below - _BELOW_IN
    height = above + rows * _PANEL_IN + (rows - 1) * gap + below
    figure = Figure(figsize=(_WIDTH_IN, height))
    grid = {"left": 0.075, "right": 0.985, "wspace": 0.16, "hspace": gap / _PANEL_IN, "bottom": below / height,
            "top": 1 - above / height}  # fmt: skip
    drawn = figure.subplots(rows, columns, squeeze=False, gridspec_kw=grid).ravel()
    for ax, panel in zip(drawn, panels, strict=False):
        _panel(ax, panel, axes, names, sorted({mark.at for one in panels for mark in one.marks}))
        ax.set_title(panel.title, fontsize=9, color=INK, pad=5)
    for ax in drawn[len(panels) :]:
        ax.remove()
    figure.text(0.53, 0.012, axes.label, ha="center", va="bottom", fontsize=8, color=MUTED)
    figure.text(0.012, 1 - 0.04 / height, title, ha="left", va="top", fontsize=10, fontweight="bold")
    figure.text(0.012, 1 - 0.27 / height, _note(panels, unit), ha="left", va="top", fontsize=8, color=MUTED)
    _legend(figure, labels, top=1 - 0.5 / height, line=_LEGEND_IN / height, in_a_line=in_a_line)
    return finish(figure, name=name, title=title, about=_about(panels, axes))


def _wrapped(place: str, share: float) -> str:
    """A place's name in lines that are no wider than this share of the figure, where its words let them."""
    return textwrap.fill(place, max(1, int(share / _LETTER)), break_long_words=False, break_on_hyphens=False)


def _note(panels: Sequence[Panel], unit: str) -> str:
    marks = [mark for panel in panels for mark in panel.marks]
    told = {mark.exactness for mark in marks if mark.published is not None}
    aside = [word for which, word in (("about", "open: about"), ("at_least", "↑ at least"), ("at_most", "↓ at most"))
             if which in told]  # fmt: skip
    bounds = any(mark.ours and mark.ours.at_least for mark in marks)
    stated = f" ({', '.join(aside)})" if aside else ""
    bound = "; ≥: a lower bound" if bounds else ""
    return f"{unit}; pale: published{stated}; filled: ours, mean and 95 % interval{bound}"


def _panel(ax: Any, panel: Panel, axes: Axes, names: Sequence[str], places: Sequence[float]) -> None:
    """names: of places that are words.  places: of all panels, so that their horizontal axes are alike."""
    frame(ax)
    to_axis = _upright(ax, panel.values, axes.up)
    if axes.scale == "places":
        width = 0.17 if len(panel.series) > 2 else 0.26
        width = min(width, 0.8 / len(panel.series))
        _words(ax, names)
    else:
        width = 0.0
        _numbers(ax, places, log=axes.scale == "log")
    for number, marks in enumerate(panel.series.values()):
        offset = (number - (len(panel.series) - 1) / 2) * width
        if not width:
            _line(ax, marks, number=number, to_axis=to_axis)
        for mark in marks:
            _mark(ax, mark.at + offset, mark, number=number, aside=width * 0.2, to_axis=to_axis)


def _words(ax: Any, names: Sequence[str]) -> None:
    ax.set_xlim(-0.55, len(names) - 0.45)
    ax.set_xticks(range(len(names)), names, fontsize=7.5)
    ax.tick_params(axis="x", length=0)
    for place in range(1, len(names)):
        ax.axvline(place - 0.5, color=HAIR, linewidth=0.6, zorder=0)


def _numbers(ax: Any, places: Sequence[float], *, log: bool) -> None:
    low, high = places[0], places[-1]
    if log:
        ax.set_xscale("log")
        away = (high / low) ** 0.06 if high > low else 2.0
        low, high = low / away, high * away
    else:
        away = (high - low) * 0.06 or abs(high) or 1.0
        low, high = low - away, high + away
    ax.set_xlim(low, high)
    ticks(ax.xaxis, low, high, log=log)
    if log and len(places) <= _MOST_NAMED:
        ax.xaxis.set_major_locator(FixedLocator(places))
        ax.xaxis.set_major_formatter(FixedFormatter([tick_text(place) for place in places]))
    ax.tick_params(axis="x", labelsize=7.5)


def _line(ax: Any, marks: Sequence[Mark], *, number: int, to_axis: Callable[[float], float]) -> None:
    """What leads the eye along a series: dashed for published values, through for ours."""
    for style, values in (
        ("--", [(mark.at, mark.published) for mark in marks if mark.published is not None]),
        ("-", [(mark.at, mark.ours.mean) for mark in marks if mark.ours]),
    ):
        along = sorted(values)
        ax.plot([at for at, _ in along], [to_axis(value) for _, value in along], linestyle=style, linewidth=0.8,
                color=_colour(number), alpha=0.45, zorder=1)  # fmt: skip


def _mark(ax: Any, x: float, mark: Mark, *, number: int, aside: float, to_axis: Callable[[float], float]) -> None:
    """Published left of ours, or a ring around it (aside is 0), so that neither hides the other."""
    colour, shape = _colour(number), _MARKS[number % len(_MARKS)]
    theirs, ours = (_SIZE, _SIZE) if aside else _RINGED
    if mark.published is not None:
        y = to_axis(mark.published)
        face = "white" if mark.exactness == "about" else _pale(colour)
        ax.plot([x - aside], [y], marker=shape, markersize=theirs, markerfacecolor=face,
                markeredgecolor=colour, markeredgewidth=1.1, linestyle="", zorder=3, clip_on=False)  # fmt: skip
        if mark.exactness in _ARROWS:
            _arrow(ax, x - aside, y, up=mark.exactness == "at_least", colour=colour)
    if mark.ours is None:
        return
    whisker(ax, x + aside, ends_of(mark.ours), colour=colour, width=1.8, upright=True, alpha=0.6)
    if mark.ours.at_least:
        ax.text(x + aside, to_axis(mark.ours.mean), "≥ ", fontsize=7, color=colour, ha="right", va="center", zorder=4)
    ax.plot([x + aside], [to_axis(mark.ours.mean)], marker=shape, markersize=ours, color=colour,
            linestyle="", zorder=4, clip_on=False)  # fmt: skip


def _arrow(ax: Any, x: float, y: float, *, up: bool, colour: str) -> None:
    """The way in which the true value may be off."""
    style = {"arrowstyle": "<-", "color": colour, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 2.5}
    ax.annotate("", xy=(x, y), xytext=(0, 15 if up else -15), textcoords="offset points", arrowprops=style,
                annotation_clip=False)  # fmt: skip


def _upright(ax: Any, values: Sequence[float], scale: str) -> Callable[[float], float]:
    """Set the vertical axis; what is zero or below stands at the foot of a logarithmic one."""
    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    log = scale == "log" or (scale == "auto" and len(positive) == len(values) and high / low > LOG_SPAN)
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


def _legend(figure: Figure, labels: Sequence[str], *, top: float, line: float, in_a_line: int) -> None:
    step = 0.97 / max(in_a_line, 1) if len(labels) > in_a_line else min(0.235, 0.97 / in_a_line)
    for number, label in enumerate(labels):
        row, column = divmod(number, in_a_line)
        figure.text(
            0.012 + column * step, top - row * line, f"{_SIGNS[number % len(_SIGNS)]} {label}",
            ha="left", va="top", fontsize=8.5, color=_colour(number),
        )  # fmt: skip


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _pale(colour: str) -> tuple[float, ...]:
    return tuple(0.7 + 0.3 * part for part in to_rgb(colour))


def _about(panels: Sequence[Panel], axes: Axes) -> str:
    told = []
    for panel in panels:
        for label, marks in panel.series.items():
            pairs = "; ".join(f"{axes.name(mark.at)}: {_published(mark)}, ours {_ours(mark)}" for mark in marks)
            told.append(f"{panel.title}, {label}, published and ours: {pairs or 'none'}")
    return ". ".join(told)


def _published(mark: Mark) -> str:
    sign = {"about": "about ", "at_least": "at least ", "at_most": "at most "}.get(mark.exactness, "")
    return (sign if mark.published is not None else "") + _number(mark.published)


def _ours(mark: Mark) -> str:
    return ("≥ " if mark.ours and mark.ours.at_least else "") + _number(mark.ours.mean if mark.ours else None)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
