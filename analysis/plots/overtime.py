"""A cell or a trial second by second: throughput, link, queue, losses, and what a timeline did to the link."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from analysis.compare import describe
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.names import plain
from analysis.plots.cells import colours
from analysis.plots.eventmarks import MOST_LINES, SIZE, text_length
from analysis.plots.headline import headline
from analysis.plots.lines import drawn_of, said_of
from analysis.plots.panel import Panel, level, shaded, upright
from analysis.plots.raster import plot_of
from analysis.plots.sketch import Box, Label, Line, Point, Shape, Sketch
from analysis.plots.style import MUTED, SHADE, WIDTH_IN, Plot
from analysis.plots.timeline import event_shapes, list_shapes, timeline
from analysis.plots.tracks import Curve, Track, tracks
from analysis.worded import words_for
from records.counts import several
from records.words import Words

_WIDTH = WIDTH_IN * 72
_LEFT, _RIGHT = 0.12, 0.83  # ends of the axes, shares of the width
_TITLE, _GAP, _BELOW = 12.0, 6.0, 33.0  # points: above each track, between tracks, for the labels of the time
_LETTERS = 8.0
_LINE = 9.5  # from one name beside an axis to the next
_RECOVERY = "#E69F00"


def overtime_plots(findings: Findings) -> dict[str, Plot]:
    """Cell name to its plot, trials that do not count included, as dotted lines; None where nothing was measured."""
    colour = colours(findings)
    shown = ((cell, drawn_of(_run(cell), measured)) for cell in findings.cells)
    return {
        cell.name: plot_of(_cell(cell, trials, colour[cell.name]), name=f"time-{plain(cell.name)}")
        for cell, trials in shown  # one cell after the other, as its seconds may come from files
        if trials
    }


def _run(cell: CellFinding) -> list[TrialFinding]:
    """Those of which something may be measured: the seconds of all others need not be read."""
    return [trial for trial in cell.trials if "window_s" in trial.metrics]


def measured(trial: TrialFinding) -> bool:
    """Whether its ledger could be read: captures alone have seconds, too, and no window."""
    return "window_s" in trial.metrics and bool(trial.seconds)


def _cell(cell: CellFinding, trials: Sequence[TrialFinding], colour: str) -> Sketch:
    title = describe(cell.levels) or cell.name
    counts = {trial.standing is Standing.VALID for trial in trials}
    note = "one line per valid trial" if counts == {True} else "one line per trial; dotted: trials that do not count"
    note += said_of(_run(cell))
    return overtime(trials, title=title, note=note, colour=colour, words=words_for([cell]), dotted=True)


def overtime(
    trials: Sequence[TrialFinding], *, title: str, note: str, colour: str, words: Words, dotted: bool = False
) -> Sketch:
    """Trials with series, second by second; dotted: as tracks.tracks has it."""
    window_s = max((trial.metrics.get("window_s", 0.0) for trial in trials), default=0.0)
    low, high = _span(trials, window_s)
    shown = timeline(trials, low=low, high=high, left=_LEFT, right=_RIGHT)
    shapes, y = headline(title, note, width=_WIDTH)
    y = names_foot = y + shown.above
    panels: list[tuple[Panel, Track]] = []
    for track in tracks(trials, colour=colour, words=words, dotted=dotted):
        panel = Panel(
            x=_LEFT * _WIDTH, y=y + _TITLE, width=(_RIGHT - _LEFT) * _WIDTH, height=track.height,
            across=(low, high), up=(0.0, track.top),
        )  # fmt: skip
        panels.append((panel, track))
        y = panel.foot + _GAP
    for number, (panel, track) in enumerate(panels):
        shapes += _track(panel, track, window_s, first=number == 0, last=number == len(panels) - 1)
    if panels:
        shapes += event_shapes(shown, [panel for panel, _ in panels], y=names_foot)
        shapes += [shape for panel, track in panels for shape in _title(panel, track)]
        shapes += [shape for panel, track in panels for curve in track.curves for shape in _lines(panel, curve)]
    y += _BELOW - _GAP
    shapes.append(Label(x=(_LEFT + _RIGHT) / 2 * _WIDTH, y=y - 6, text="seconds from the start of the window",
                        align="center"))  # fmt: skip
    shapes += list_shapes(shown, y=y)
    about = f"{', '.join(track.title for _, track in panels)}, second by second, {several(len(trials))}"
    about += "".join(f"; at {mark.asked_s:g} s {mark.label}" for mark in shown.marks[:MOST_LINES])
    return Sketch(title=f"Over time: {title}", about=about, width=_WIDTH, height=y + shown.below, shapes=tuple(shapes))


def _span(trials: Sequence[TrialFinding], window_s: float) -> tuple[float, float]:
    drawn = [points for trial in trials for name, points in trial.seconds.items() if not name.startswith("rate_")]
    ends = [t for points in drawn for t, _ in (points[0], points[-1])]
    ends += [event.real_s for trial in trials for event in trial.events]
    return min([*ends, 0.0]) - 0.5, max([*ends, window_s]) + 0.5


def _track(panel: Panel, track: Track, window_s: float, *, first: bool, last: bool) -> list[Shape]:
    """Everything of a track but its curves."""
    shapes: list[Shape] = [shaded(panel, 0.0, window_s)]
    shapes += [_recovering(panel, t, share) for t, share in track.shade if share > 0]
    shapes += upright(panel, percent=track.percent, parts=track.parts)
    shapes += level(panel, named=last)
    middle = panel.along(window_s / 2)
    if first:
        shapes.append(Box(x=middle - 17, y=panel.y + 1, width=34, height=10, fill=SHADE))
        shapes.append(Label(x=middle, y=panel.y + 9, text="window", colour=MUTED, align="center"))
    return shapes + _names(panel, track.curves)


def _title(panel: Panel, track: Track) -> list[Shape]:
    """The track's title, on white where the lines of events cross it."""
    y = panel.y - 3.5
    length = text_length(track.title) * _LETTERS / SIZE
    ground = Box(x=panel.x, y=y - 7.0, width=length + 1.5, height=9.0, fill="#ffffff")
    return [ground, Label(x=panel.x, y=y, text=track.title, size=_LETTERS)]


def _recovering(panel: Panel, t: float, share: float) -> Box:
    left, right = panel.along(t - 0.5), panel.along(t + 0.5)
    return Box(x=left, y=panel.y, width=right - left, height=panel.height, fill=_RECOVERY, opacity=0.1 + 0.5 * share)


def _lines(panel: Panel, curve: Curve) -> list[Shape]:
    return [
        Line(points=panel.curve(_steps(points) if curve.steps else points), colour=curve.colour, width=curve.width,
             dash=dash, opacity=0.85)
        for points, dash in curve.lines
    ]  # fmt: skip


def _steps(points: Sequence[Point]) -> list[Point]:
    """Each value holds until the next one."""
    corners = [(t, before) for (_, before), (t, _) in pairwise(points)]
    return [point for pair in zip(points, [*corners, points[-1]], strict=True) for point in pair]


def _names(panel: Panel, curves: Sequence[Curve]) -> list[Shape]:
    """The curves' names beside the axis, at their heights, none over another."""
    shapes: list[Shape] = []
    lowest = panel.foot
    for curve in sorted(curves, key=lambda one: one.beside):
        place = min(panel.above(curve.beside) + 2.5, lowest)
        lowest = place - _LINE
        dashed = " – –" if all(dash for _, dash in curve.lines) and len(curves) > 1 else ""
        shapes.append(Label(x=panel.x + panel.width + 6, y=place, text=curve.name + dashed, colour=curve.colour))
    return shapes
