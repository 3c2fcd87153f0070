"""The events of a link on a plot over time: lines, names, the list below, and the rate where it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from analysis.findings import Points, TrialFinding
from analysis.metrics import METRICS
from analysis.plots.eventmarks import LINE, SIZE, Mark, Tag, listing, marks, named, numbered
from analysis.plots.style import INK, MUTED, WIDTH_IN, ticks
from analysis.units import scale

_POINTS = 72.0  # to the inch
_MANY = 15  # more lines than this are drawn paler
_MARGIN = 0.02  # of the plot's width, on both sides


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What a plot shows of a cell's timeline.  rates: part of the medium to its steps (seconds, bit/s).

    tags: what is written above; columns: what is listed below, empty when the names stand above.
    """

    marks: list[Mark]
    tags: list[Tag]
    columns: list[list[str]]
    rates: dict[str, Points]

    @property
    def above_in(self) -> float:
        """Inches that the tags take."""
        return (max(tag.row for tag in self.tags) + 1) * LINE / _POINTS + 0.05 if self.tags else 0.0

    @property
    def below_in(self) -> float:
        """Inches that the list takes."""
        return (max(map(len, self.columns)) * LINE + 6) / _POINTS if self.columns else 0.0


def timeline(trials: Sequence[TrialFinding], *, low: float, high: float, left: float, right: float) -> Timeline:
    """Place a cell's events on an axis that shows low..high seconds between left and right (shares of the width)."""
    found = marks(trials)
    whole = WIDTH_IN * _POINTS
    places = [whole * (left + (right - left) * (mark.real_s - low) / (high - low)) for mark in found]
    tags = named(places, [mark.label for mark in found], whole * (1 - _MARGIN))
    columns = [] if tags is not None else listing(found, whole * (1 - 2 * _MARGIN))
    ordered = sorted(trials, key=lambda trial: trial.standing.value != "valid")
    rates = next((rates for trial in ordered if (rates := _rates(trial))), {})
    return Timeline(marks=found, tags=numbered(places) if tags is None else tags, columns=columns, rates=rates)


def _rates(trial: TrialFinding) -> dict[str, Points]:
    return {name.removeprefix("rate_"): p for name, p in trial.seconds.items() if name.startswith("rate_")}


def draw_events(figure: Figure, axes: Sequence[Any], shown: Timeline, *, left: float, right: float) -> None:
    """Draw a line through all axes for each event, its tag above, and the list at the bottom."""
    low, high = axes[0].get_xlim()
    height = axes[0].get_position().height * figure.get_figheight() * _POINTS
    whole = figure.get_figwidth() * _POINTS
    pen = {"color": MUTED, "linewidth": 0.6, "alpha": 0.7 if len(shown.marks) < _MANY else 0.35}
    for number, mark in enumerate(shown.marks):
        for ax in axes:
            ax.axvline(mark.real_s, zorder=1.5, **pen)
        up = 0.0 if shown.columns else shown.tags[number].row * LINE + SIZE
        axes[0].plot([mark.real_s] * 2, [1, 1 + (up + 1) / height], clip_on=False,
                     transform=axes[0].get_xaxis_transform(), **pen)  # fmt: skip
    for tag in shown.tags:
        at_s = low + (tag.at / whole - left) / (right - left) * (high - low)
        axes[0].text(at_s, 1 + (tag.row * LINE + 2) / height, tag.text, transform=axes[0].get_xaxis_transform(),
                     ha=tag.align, va="bottom", fontsize=SIZE, color=INK)  # fmt: skip
    for number, lines in enumerate(shown.columns):
        for row, line in enumerate(lines):
            place = (shown.below_in * _POINTS - row * LINE - 1) / (figure.get_figheight() * _POINTS)
            figure.text(_MARGIN + number * (1 - 2 * _MARGIN) / len(shown.columns), place, line, ha="left", va="top",
                        fontsize=SIZE)  # fmt: skip


def draw_rates(ax: Any, rates: dict[str, Points]) -> None:
    """Draw the rate of each part of the medium as steps, named beside the axis."""
    peak = max(rate for points in rates.values() for _, rate in points)
    factor, unit = scale(METRICS["goodput_bit_s"].unit, peak)
    top = peak / factor * 1.12 or 1.0
    last = -1.0
    for name, points in sorted(rates.items(), key=lambda item: item[1][-1][1]):
        dashed = name.startswith("downlink")
        ax.plot([t for t, _ in points], [rate / factor for _, rate in points], color=INK, linewidth=1.0,
                drawstyle="steps-post", linestyle="--" if dashed else "-", alpha=0.8)  # fmt: skip
        last = max(points[-1][1] / factor / top, last + 0.22, 0.06)
        ax.text(1.02, last, f"{name} {'– –' if dashed else '—'}", transform=ax.transAxes, color=INK, fontsize=8,
                va="center")  # fmt: skip
    ax.set_ylim(0, top)
    ticks(ax.yaxis, 0, top, parts=2)
    ax.set_ylabel(f"rate, {unit}", fontsize=8.5)
