"""The calibration plot: delivered over asked of every profile, with what is tolerated, a panel for each quantity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis.plots.style import COLOURS, HAIR, INK, MUTED, SHADE, Plot, finish, frame, heading
from analysis.plots.whiskers import inside, whisker
from records.calibration import Calibrated
from records.link import LinkCheck

_PANELS = {"rate": "rate", "delay": "one-way delay", "jitter": "jitter", "loss": "loss share"}
_NAME = {"host": "host kernel", "line": "the line", "lab": "lab kernel"}
_COLOUR = {"host": COLOURS[0], "line": COLOURS[2], "lab": COLOURS[1]}
_LANE = {
    ("host", "uplink"): -0.33, ("host", "downlink"): -0.2, ("line", "uplink"): -0.07, ("line", "downlink"): 0.07,
    ("lab", "uplink"): 0.2, ("lab", "downlink"): 0.33,
}  # fmt: skip
_MARK = {"uplink": "^", "downlink": "v"}
_WIDTH_IN, _ROW_IN, _ABOVE_IN, _BELOW_IN = 8.4, 0.3, 0.95, 0.5
_TICKS = (0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0, 1.01, 1.02, 1.05, 1.1, 1.25, 2.0, 5.0, 10.0)


def calibration_plot(found: Sequence[Calibrated]) -> Plot:
    """A row for each profile that was measured, a panel for each quantity that one of them asks for."""
    measured = [one for one in found if not one.refused]
    names = sorted({one.profile for one in measured})
    panels = [quantity for quantity in _PANELS if any(_shown(measured, quantity))]
    height = _ABOVE_IN + _BELOW_IN + _ROW_IN * max(len(names), 1)
    figure = Figure(figsize=(_WIDTH_IN, height))
    axes = figure.subplots(
        1,
        max(len(panels), 1),
        squeeze=False,
        sharey=True,
        gridspec_kw={
            "left": 0.185, "right": 0.985, "wspace": 0.09, "bottom": _BELOW_IN / height, "top": 1 - _ABOVE_IN / height,
        },
    )[0]  # fmt: skip
    for ax, quantity in zip(axes, panels, strict=False):
        _panel(ax, names, list(_shown(measured, quantity)), _PANELS[quantity])
    axes[0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    places = [place for place in _NAME if any(one.by == place for one in measured)]
    heading(figure, "What link profiles deliver of what they ask", "")
    _legend(figure, places, height)
    outside = [f"{one.profile} on {one.by}" for one in measured if one.outside]
    about = f"{len(names)} profiles on {', '.join(places)}; outside: {', '.join(outside) or 'none'}"
    return finish(figure, name="calibration", title="Calibration", about=about)


def _shown(measured: Sequence[Calibrated], quantity: str) -> Iterator[tuple[Calibrated, LinkCheck]]:
    """What can be divided by what was asked; a share of losses so small that none may come is in the table only."""
    for one in measured:
        for check in (check for checks in one.checks for check in checks):
            if check.quantity == quantity and check.asked > 0 and (quantity != "loss" or check.low > 0):
                yield one, check


def _panel(ax: Any, names: Sequence[str], shown: Sequence[tuple[Calibrated, LinkCheck]], title: str) -> None:
    frame(ax)
    ax.set_xscale("log")
    for row in range(0, len(names), 2):
        ax.axhspan(row - 0.5, row + 0.5, color=SHADE, linewidth=0, zorder=0)
    ax.axvline(1, color=MUTED, linewidth=0.8, zorder=1)
    lows = [check.low / check.asked for _, check in shown] + [check.delivered / check.asked for _, check in shown]
    highs = [check.high / check.asked for _, check in shown] + [check.delivered / check.asked for _, check in shown]
    left, right = max(min(lows), 0.2) / 1.01, min(max(highs), 8.0) * 1.01
    ax.set_xlim(left, right)
    for one, check in shown:
        y, colour = names.index(one.profile) + _LANE[one.by, check.direction], _COLOUR[one.by]
        whisker(ax, y, (check.low / check.asked, check.high / check.asked), colour=HAIR, width=3.2)
        ratio = inside(check.delivered / check.asked, left, right)
        ax.plot(
            [ratio], [y], marker=_MARK[check.direction], markersize=4, color=colour, linestyle="", zorder=3,
            markeredgecolor="#c1121f" if not check.holds else colour, markeredgewidth=1.4 if not check.holds else 0.5,
        )  # fmt: skip
    _ratio_ticks(ax, left, right)
    ax.tick_params(axis="y", length=0)
    ax.set_title(title, fontsize=9, color=INK, pad=5)


def _ratio_ticks(ax: Any, left: float, right: float) -> None:
    """As many round ratios as there is room for, from 1 outwards."""
    values = [1.0]
    for value in sorted(_TICKS, key=lambda one: -abs(math.log(one))):
        if left <= value <= right and min(abs(math.log(value / one)) for one in values) > 0.2 * math.log(right / left):
            values.append(value)
    values.sort()
    ax.xaxis.set_major_locator(FixedLocator(values))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FixedFormatter([f"{value:g}" for value in values]))
    ax.tick_params(axis="x", labelsize=7.5)


def _legend(figure: Figure, places: Sequence[str], height: float) -> None:
    below = 1 - 0.34 / height
    figure.text(
        0.02, below,
        "delivered / asked, logarithmic; grey: what is tolerated; red rim: outside it; triangles point up for uplink",
        ha="left", va="top", fontsize=8, color=MUTED,
    )  # fmt: skip
    for number, place in enumerate(places):
        figure.text(
            0.98 - 0.13 * (len(places) - 1 - number), 0.985, f"\u25cf {_NAME[place]}",
            ha="right", va="top", fontsize=8.5, color=_COLOUR[place],
        )  # fmt: skip
