"""Dots with intervals: one metric of all cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from analysis.compare import Match, baseline_of, describe, level_of, matches, shared_levels
from analysis.findings import CellFinding, Findings
from analysis.metric import Metric
from analysis.plots.style import COLOURS, HAIR, MUTED, WIDTH_IN, Plot, canvas, finish, heading, limits, ticks
from analysis.plots.whiskers import ends_of, whisker
from analysis.statistics import Estimate
from analysis.units import interval
from analysis.worded import metrics_for, words_for

_ROW_IN = 0.27
_CHARACTER_IN = 0.065  # width of a character of 8 points, with some room
MOST_ROWS = 40  # more would be a plot that nobody reads; the tables have them all


def colours(findings: Findings) -> dict[str, str]:
    """The colour of each cell, by its name: that of its level of the compared factor, the baseline's first."""
    compared = findings.campaign.compared
    levels = list(dict.fromkeys(level_of(findings, cell) for cell in findings.cells))
    levels.sort(key=lambda level: compared is None or level != baseline_of(compared))
    of_level = {level: COLOURS[number % len(COLOURS)] for number, level in enumerate(levels)}
    return {cell.name: of_level[level_of(findings, cell)] for cell in findings.cells}


def groups(findings: Findings) -> list[tuple[str, Sequence[CellFinding]]]:
    """Cells that belong side by side, with what they share, and whether they promise different things."""
    found = matches(findings)
    if found:
        return [(_title(match), (match.baseline, *match.others)) for match in found]
    return [(describe(shared_levels(findings, cell)) or cell.name, (cell,)) for cell in findings.cells]


def _title(match: Match) -> str:
    return f"{match.title or 'All cells'} (guarantees differ)" if match.unequal else match.title


def cells_plot(findings: Findings, metric_name: str) -> Plot | None:
    """The metric of every cell: mean, 95 % interval, value.  None when no cell has it."""
    words = words_for(findings.cells)
    metric = metrics_for(findings.cells)[metric_name]
    rows, left = _rows(groups(findings))
    means = [found.mean for _, cell in rows if cell and (found := cell.estimate(metric_name))]
    if not means:
        return None
    height = 1.15 + _ROW_IN * len(rows)
    figure, (ax,) = canvas(height_in=height, left=0.03, right=0.94, top=1 - 0.55 / height, bottom=0.5 / height)
    low, high, log = (0.0, max(1.0, *means), False) if metric.unit == "share" else limits(means)
    if log:
        ax.set_xscale("log")
    ax.set_xlim(low, high)
    ticks(ax.xaxis, low, high, log=log, percent=metric.unit == "share")
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=HAIR, linewidth=0.6)
    ax.set_axisbelow(True)
    colour = colours(findings)
    for y, (label, cell) in enumerate(rows):
        if cell is None:
            ax.text(0, y + 0.12, label, transform=ax.get_yaxis_transform(), fontsize=8.5, va="center")
        else:
            name = level_of(findings, cell) if len(set(colour.values())) > 1 else ""
            _dot(ax, y, cell, metric, colour[cell.name], name=name)
    what = "share of the rate" if metric_name == "air_utilisation" else str(metric.unit)
    if metric.unit == "1/s":
        what = "per second" if metric.each == "1" else f"{words.message}s per second"
    more = f"; {left} more cells are in the tables" if left else ""
    heading(figure, metric.label, f"{what}; mean of the valid trials and its 95 % interval{more}")
    if log:
        ax.set_xlabel("logarithmic axis", fontsize=8, color=MUTED)
    about = "; ".join(f"{cell.name}: {interval(metric, cell.estimate(metric_name))}" for _, cell in rows if cell)
    return finish(figure, name=f"cells-{metric_name.replace('_', '-')}", title=metric.label, about=about)


def _rows(grouped: Sequence[tuple[str, Sequence[CellFinding]]]) -> tuple[list[tuple[str, CellFinding | None]], int]:
    """Titles and cells, as many as are drawn, and how many cells are left."""
    rows: list[tuple[str, CellFinding | None]] = []
    for title, cells in grouped:
        rows += [(title, None), *(("", cell) for cell in cells)]
    shown = rows[:MOST_ROWS]
    if shown and shown[-1][1] is None:  # a title without its cells
        shown.pop()
    return shown, sum(cell is not None for _, cell in rows[len(shown) :])


def _dot(ax: Any, y: int, cell: CellFinding, metric: Metric, colour: str, *, name: str) -> None:
    found = cell.estimate(metric.name)
    name = f"{name}  " if name else ""
    if found is None:
        text = f"{name}{'none' if cell.valid else 'no valid trial'}"
        ax.text(0.02, y, text, transform=ax.get_yaxis_transform(), fontsize=8, color=colour, va="center")
        return
    whisker(ax, y, ends_of(found), colour=colour, width=2.2)
    ax.plot([found.mean], [y], marker="o", markersize=5.5, color=colour, clip_on=False)
    _label(ax, y, found, name + interval(metric, found), colour)


def _label(ax: Any, y: int, found: Estimate, text: str, colour: str) -> None:
    """Write the value beside its interval where there is room, else above it."""
    ends = (found.mean if end is None else end for end in ends_of(found))
    left, right = (_place(ax, value) for value in ends)
    width = len(text) * _CHARACTER_IN / (WIDTH_IN * ax.get_position().width)
    if right + width < 1.0:
        place, offset, side = right, (7.0, 0.0), "left"
    elif left - width > 0.0:
        place, offset, side = left, (-7.0, 0.0), "right"
    else:
        place, offset, side = 0.0, (0.0, 7.5), "left"
    ax.annotate(
        text, (place, y), xycoords=ax.get_yaxis_transform(), xytext=offset, textcoords="offset points",
        ha=side, va="center", fontsize=8, color=colour,
    )  # fmt: skip


def _place(ax: Any, value: float) -> float:
    """Where a value lies on the horizontal axis: 0 left end, 1 right end."""
    low, high = ax.get_xlim()
    if ax.get_xscale() == "log":
        low, high, value = math.log(low), math.log(high), math.log(max(value, low))
    return float(min(max((value - low) / (high - low), 0.0), 1.0))
