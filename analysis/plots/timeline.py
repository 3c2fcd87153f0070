"""The events of a link on a plot over time: lines, names, and the list below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.details import Points
from analysis.findings import TrialFinding
from analysis.plots.eventmarks import LINE, SIZE, Mark, Tag, listing, marks, named, numbered
from analysis.plots.panel import Panel
from analysis.plots.sketch import Label, Line, Shape
from analysis.plots.style import MUTED, WIDTH_IN

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
    def above(self) -> float:
        """Points that the tags take."""
        return (max(tag.row for tag in self.tags) + 1) * LINE + 3.6 if self.tags else 0.0

    @property
    def below(self) -> float:
        """Points that the list takes."""
        return max(map(len, self.columns)) * LINE + 6 if self.columns else 0.0


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


def event_shapes(shown: Timeline, panels: Sequence[Panel], *, y: float) -> list[Shape]:
    """A line through all panels for each event, and its name, from y upwards."""
    top, bottom = panels[0], panels[-1]
    opacity = 0.7 if len(shown.marks) < _MANY else 0.35
    shapes: list[Shape] = []
    for number, mark in enumerate(shown.marks):
        up = 0.0 if shown.columns else shown.tags[number].row * LINE + SIZE
        at = top.along(mark.real_s)
        ends = ((at, y - up), (at, bottom.foot))
        shapes.append(Line(points=ends, colour=MUTED, width=0.6, opacity=opacity))
    shapes += [
        Label(x=tag.at, y=y - tag.row * LINE - 2.5, text=tag.text, size=SIZE, align=tag.align) for tag in shown.tags
    ]
    return shapes


def list_shapes(shown: Timeline, *, y: float) -> list[Shape]:
    """The list of numbered events, from y downwards."""
    margin = _MARGIN * WIDTH_IN * _POINTS
    column = (1 - 2 * _MARGIN) * WIDTH_IN * _POINTS / max(len(shown.columns), 1)
    return [
        Label(x=margin + number * column, y=y + (row + 1) * LINE, text=line, size=SIZE)
        for number, lines in enumerate(shown.columns) for row, line in enumerate(lines)
    ]  # fmt: skip
