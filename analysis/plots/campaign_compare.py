"""Two campaigns against each other: a panel for each metric, a row for each cell, dots with intervals."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis.campaign_compare.record import Between, Row, Verdict
from analysis.plots.style import COLOURS, HAIR, INK, MUTED, Plot, finish, frame, linear_ticks
from analysis.plots.whiskers import inside, whisker

COLOUR = {
    Verdict.BETTER: COLOURS[2],
    Verdict.NO_WORSE: COLOURS[0],
    Verdict.INCONCLUSIVE: "#8a939c",
    Verdict.WORSE: COLOURS[1],
}
_MARK = {Verdict.BETTER: "D", Verdict.NO_WORSE: "o", Verdict.INCONCLUSIVE: "s", Verdict.WORSE: "X"}
_SHADE = "#fbe9dc"  # a pale tone of the colour of `worse`
_LEFT_IN, _PANEL_IN, _ROW_IN, _ABOVE_IN, _BELOW_IN = 2.05, 1.55, 0.42, 1.12, 0.52
_LABEL_CHARACTERS, _NAME_CHARACTERS = 30, 24
_SIGNS = {Verdict.BETTER: "\u25c6", Verdict.NO_WORSE: "\u25cf", Verdict.INCONCLUSIVE: "\u25a0", Verdict.WORSE: "\u2716"}
# Labelled in pairs, as far from equal one way as the other.
_RATIOS = ((0.01, 100.0), (0.1, 10.0), (0.2, 5.0), (0.5, 2.0), (0.8, 1.25), (0.9, 1.11), (0.95, 1.05), (0.98, 1.02),
           (0.99, 1.01))  # fmt: skip
_FURTHEST = 100.0  # ratios beyond this, either way, are drawn at the edge
_FOLLOWED = 2.0  # an axis of ratios follows intervals to this many times the furthest ratio, of differences likewise
MOST_CELLS = 40  # more would be a plot that nobody reads; the tables have them all


def between_plot(found: Between) -> Plot | None:
    """B over A on a logarithmic axis, shares as differences; the side that is worse than tolerated is shaded.

    None when no row has a figure.
    """
    drawn = [row for row in found.rows if row.centre is not None]
    cells = list(dict.fromkeys(row.cell for row in drawn))[:MOST_CELLS]
    drawn = [row for row in drawn if row.cell in cells]
    metrics = list(dict.fromkeys(row.metric for row in drawn))
    if not cells:
        return None
    titles = {row.cell: row.title for row in drawn}
    width, height = _LEFT_IN + _PANEL_IN * max(len(metrics), 2), _ABOVE_IN + _BELOW_IN + _ROW_IN * len(cells)
    figure = Figure(figsize=(width, height))
    grid = {"left": _LEFT_IN / width, "right": 0.985, "wspace": 0.12, "bottom": _BELOW_IN / height,
            "top": 1 - _ABOVE_IN / height}  # fmt: skip
    axes = figure.subplots(1, len(metrics), squeeze=False, sharey=True, gridspec_kw=grid)[0]
    for ax, metric in zip(axes, metrics, strict=True):
        _panel(ax, cells, [row for row in drawn if row.metric == metric])
    axes[0].set_yticks(range(len(cells)), [_label(titles[cell]) for cell in cells], fontsize=7.5)
    axes[0].set_ylim(len(cells) - 0.45, -0.55)
    _legend(figure, found, width, height)
    about = "; ".join(f"{row.title}, {row.label}: {row.text}, {row.verdict}" for row in drawn)
    return finish(figure, name="compare", title=f"{found.b.campaign} against {found.a.campaign}", about=about)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS else name[: _NAME_CHARACTERS - 1] + "\u2026"


def _label(title: str) -> str:
    return "\n".join(textwrap.wrap(title, _LABEL_CHARACTERS, break_on_hyphens=False)[:2])


def _panel(ax: Any, cells: Sequence[str], rows: Sequence[Row]) -> None:
    frame(ax)
    log = any(row.scale == "ratio" for row in rows)
    same = [row for row in rows if (row.scale == "ratio") == log]
    low, high = _ends(same, log=log)
    if log:
        ax.set_xscale("log")
    ax.set_xlim(low, high)
    limit, lower = same[0].limit, same[0].better == "lower"
    ax.axvspan(limit if lower else low, high if lower else limit, color=_SHADE, linewidth=0, zorder=0)
    ax.axvline(1.0 if log else 0.0, color=MUTED, linewidth=0.9, zorder=1)
    for row in same:
        _dot(ax, cells.index(row.cell), row, low, high)
    for row in rows:
        if row not in same:
            ax.text(0.5, cells.index(row.cell), "holds a zero: see the table", fontsize=6.5, color=MUTED, ha="center",
                    va="center", transform=ax.get_yaxis_transform())  # fmt: skip
    for y in range(len(cells)):
        ax.axhline(y, color=HAIR, linewidth=0.5, zorder=0.5)
    _ticks(ax, low, high, log=log, points=rows[0].scale == "points")
    ax.tick_params(axis="y", length=0)
    ax.set_title("\n".join(textwrap.wrap(rows[0].label, 20)), fontsize=8.5, color=INK, pad=5)
    ax.set_xlabel(("worse →" if lower else "← worse"), fontsize=7.5, color=COLOUR[Verdict.WORSE], labelpad=2,
                  loc="right" if lower else "left")  # fmt: skip


def _dot(ax: Any, y: int, row: Row, low: float, high: float) -> None:
    colour = COLOUR[row.verdict]
    ends = {"≥": (row.centre, math.inf), "≤": (-math.inf, row.centre)}.get(row.bound, (row.low, row.high))
    whisker(ax, y, ends, colour=colour, width=2.2)
    centre = inside(row.centre or 0.0, low, high)
    ax.plot([centre], [y], marker=_MARK[row.verdict], markersize=5.5, color=colour, markeredgecolor="white",
            markeredgewidth=0.6, clip_on=False, zorder=4)  # fmt: skip


def _ends(rows: Sequence[Row], *, log: bool) -> tuple[float, float]:
    """Room for all rows and for the limit on both sides of equal, and for intervals unless all else would be small."""
    centres = [row.centre for row in rows if row.centre is not None]
    intervals = [value for row in rows for value in (row.low, row.high) if value is not None]
    if log:
        reach = max(abs(math.log(min(max(one, 1 / _FURTHEST), _FURTHEST))) for one in (*centres, rows[0].limit))
        ends = max((abs(math.log(one)) if one > 0 else math.inf for one in intervals), default=0.0)
        furthest = math.exp(1.25 * max(reach, min(ends, reach + math.log(_FOLLOWED))))
        return 1 / furthest, furthest
    reach = max(abs(value) for value in (*centres, rows[0].limit))
    ends = max(map(abs, intervals), default=0.0)
    widest = 1.25 * max(reach, min(ends, _FOLLOWED * reach)) or 0.01
    return -widest, widest


def _ticks(ax: Any, low: float, high: float, *, log: bool, points: bool) -> None:
    if log:
        values = _round_ratios(low, high)
        texts = [f"{value:g}" for value in values]
    else:
        values = linear_ticks(low, high, 5)
        texts = [f"{value * 100:+g}".replace("-", "−").replace("+0", "0") for value in values]
        texts = [text if text == "0" else text + ("" if points else " %") for text in texts]
    ax.xaxis.set_major_locator(FixedLocator(values))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FixedFormatter(texts))
    ax.tick_params(axis="x", labelsize=7.5)


def _round_ratios(low: float, high: float) -> list[float]:
    """Equal, and pairs of round ratios, as many as have room; at least the widest pair that fits."""
    fitting = [pair for pair in _RATIOS if low <= pair[0] and pair[1] <= high]
    values = [1.0, *max(fitting, key=lambda pair: pair[1], default=())]
    room = 0.2 * math.log(high / low)
    for less, more in fitting:
        if min(abs(math.log(more / one)) for one in values) > room:
            values += [less, more]
    return sorted(values)


def _legend(figure: Figure, found: Between, width: float, height: float) -> None:
    bounds = "an arrow alone: a bound; " if any(row.bound for row in found.rows) else ""
    title = f"B: {_short(found.b.campaign)} against A: {_short(found.a.campaign)}"
    figure.text(0.02, 1 - 0.05 / height, title, ha="left", va="top", fontsize=9.5, fontweight="bold")
    figure.text(
        0.02, 1 - 0.32 / height,
        f"B / A with 95 % interval, logarithmic; {bounds}shares: B − A in points\n"
        f"shaded: worse than tolerated ({found.margin * 100:g} %; shares: {found.share_margin * 100:g} points)",
        ha="left", va="top", fontsize=7.5, color=MUTED, linespacing=1.35,
    )  # fmt: skip
    present = [one for one in Verdict if any(row.verdict is one for row in found.rows)]
    for number, one in enumerate(present):
        place = 1 - (0.12 + 1.12 * (len(present) - 1 - number)) / width
        figure.text(
            place, 1 - 0.05 / height, f"{_SIGNS[one]} {one}", ha="right", va="top", fontsize=8.5, color=COLOUR[one]
        )
