"""Intervals as all plots draw them: a stroke as far as the axis goes, and an arrow where the interval goes on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from analysis.statistics import Estimate

_ARROWS = {False: ("<", ">"), True: ("v", "^")}
_ARROW_POINTS = 4.0
_FARTHEST = 3.0  # an axis follows an interval to this many times its mean, and to a third of it


def ends_of(found: Estimate) -> tuple[float | None, float | None]:
    """Where a mean's interval ends; a lower bound's has no upper end."""
    if found.at_least:
        return found.mean if found.low is None else found.low, math.inf
    return found.low, found.high


def reach(found: Estimate) -> Iterable[float]:
    """What an axis should have room for: the mean, and its interval unless that would make all else small."""
    yield found.mean
    for end in ends_of(found):
        if end is not None:
            yield min(max(end, found.mean / _FARTHEST), found.mean * _FARTHEST)


def whisker(
    ax: Any, at: float, ends: tuple[float | None, float | None], *, colour: str, width: float, upright: bool = False,
    alpha: float = 1.0, zorder: float = 2.0,
) -> None:  # fmt: skip
    """Draw an interval at `at` on the other axis; nothing when it has no ends.

    The axis must have its limits already: what lies outside is cut off there, and an arrow says so.
    """
    low, high = ends
    if low is None or high is None:
        return
    first, last = sorted(ax.get_ylim() if upright else ax.get_xlim())
    stroke = [inside(end, first, last) for end in (low, high)]
    across = [at, at]
    places = (across, stroke) if upright else (stroke, across)
    ax.plot(*places, color=colour, linewidth=width, solid_capstyle="butt", alpha=alpha, zorder=zorder)
    for beyond, end, mark in zip((low < first, high > last), (first, last), _ARROWS[upright], strict=True):
        if beyond:
            place = ([at], [end]) if upright else ([end], [at])
            ax.plot(*place, marker=mark, markersize=_ARROW_POINTS, color=colour, linestyle="", clip_on=False, zorder=3)


def inside(value: float, first: float, last: float) -> float:
    """The nearest place that an axis from `first` to `last` has for a value."""
    return min(max(value, first), last)
