"""Where the time goes: a stacked bar for the mean and for each percentile, a group of bars for each cell.

Bars are as long as each other, because a percentile of latency may be a thousand times the median, and a cell's a
thousand times another's: widths are shares of the latency, seconds are written in and behind the bars.  Of a response
time the reply's parts have the request's colours, behind those of the request and the service's between two lines.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.breakdown import Breakdown, breakdowns, share, told_of, whys
from analysis.compare import level_of
from analysis.findings import CellFinding, Findings, TrialFinding
from analysis.journey.parts import is_link, kind, label, of_response, ordered
from analysis.metrics import METRICS
from analysis.plots.cells import colours, groups
from analysis.plots.eventmarks import text_length
from analysis.plots.headline import headline
from analysis.plots.raster import plot_of
from analysis.plots.sketch import Box, Label, Line, Shape, Sketch
from analysis.plots.style import INK, MUTED, WIDTH_IN, Plot
from analysis.units import digits, quantity

# Paul Tol's and Okabe and Ito's hues; recovery is the dark tone of its direction's air.  Neighbours differ in
# lightness, so that they are told apart without colour.
COLOUR = {
    "client": "#c9a3c4", "uplink_recovery": "#004a7c", "uplink_air": "#7fc4ec", "wire": "#8b959e",
    "broker": "#bfe0cf", "downlink_recovery": "#9c3a00", "downlink_air": "#f6b26b", "receiver": "#f3ea8a",
    "service": "#4d4d4d", "recovery": "#00645c", "air": "#86d3c8", "to_broker_recovery": "#004a7c",
    "to_broker_air": "#7fc4ec", "from_broker_recovery": "#9c3a00", "from_broker_air": "#f6b26b",
    "air_up": "#c2e9e3", "air_down": "#86d3c8", "to_broker_air_up": "#c3e3f7", "to_broker_air_down": "#7fc4ec",
    "from_broker_air_up": "#fbdcba", "from_broker_air_down": "#f6b26b",
    "own_node": "#d9d9d9", "between_nodes": "#86d3c8", "forwarding": "#f6b26b", "last_node": "#bfe0cf",
}  # fmt: skip
_LINK_FILLS = ("#d5dade", "#b7c0c7")  # greys between the wire's and white, in turn
UNEXPLAINED = "unexplained"
_DARK = {"wire", "service"}
_WIDTH, _MARGIN = WIDTH_IN * 72, 7.0
_LEFT, _RIGHT = 38.0, 303.0  # ends of the bars
_BAR, _STEP, _SIZE = 12.0, 15.0, 7.0  # height, distance of bars, letters
_NAMES = {"mean": "mean", "p50": "median"}
_TITLE = "Where the time goes"
_NOTE = "mean of the valid trials"
_WAYS = "between the lines: the service; before them the request's way, behind them the reply's"
_TIME = METRICS["latency_mean_s"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """One group of bars.  name: written above, in its colour; note: beside it."""

    name: str
    colour: str
    note: str
    shown: tuple[Breakdown, ...]
    why: tuple[str, ...]


def journey_plots(findings: Findings) -> tuple[Plot, ...]:
    """A plot for each group of cells that belong side by side, where at least one trial's time could be split."""
    colour = colours(findings)
    plots = []
    for number, (title, cells) in enumerate(groups(findings), start=1):
        bars = [cell_bars(cell, colour[cell.name], name=level_of(findings, cell)) for cell in cells]
        if any(one.shown for one in bars):
            plots.append(plot_of(journey_sketch(bars, title=title, note=_NOTE), name=f"journey-{number:02d}"))
    return tuple(plots)


def journey_bars(findings: Findings) -> dict[str, Sketch]:
    """Cell name to the bars of that cell alone."""
    colour = colours(findings)
    bars = {cell.name: cell_bars(cell, colour[cell.name], name=level_of(findings, cell)) for cell in findings.cells}
    return {name: journey_sketch([one], note=_NOTE) for name, one in bars.items() if one.shown}


def cell_bars(cell: CellFinding, colour: str, *, name: str = "") -> Bars:
    """The bars of a cell's valid trials.  name: what it is called beside others, '' for its folder's name."""
    why = whys(cell.valid) if cell.valid else ("no trial is valid",)
    return _bars(cell.valid, name=name or cell.name, colour=colour, why=why)


def trial_bars(trial: TrialFinding, colour: str) -> Bars:
    """The bars of one trial, valid or not."""
    return _bars([trial], name=f"trial {trial.number}", colour=colour, why=whys([trial]))


def _bars(trials: Sequence[TrialFinding], *, name: str, colour: str, why: tuple[str, ...]) -> Bars:
    attributed, shown = share(trials), breakdowns(trials)
    _, what = told_of(shown)
    notes = [] if attributed is None else [f"{digits(attributed * 100)} % of the {what} attributed"]
    if shown and shown[0].latency_of == "arrived":
        notes.append("of arrivals (older reduction)")
    known = {part for one in shown for part in one.parts}
    if "uplink_air" in known and "wire" not in known:
        notes.append("broker includes the wire")
    return Bars(name=name, colour=colour, note="; ".join(notes), shown=shown, why=why)


def journey_sketch(bars: Sequence[Bars], *, note: str = "", title: str = "") -> Sketch:
    """All groups of bars under each other, with one legend.  note: what stands behind what the widths are."""
    shown = [one for group in bars for one in group.shown]
    shapes, y = headline(title or _TITLE, "; ".join(filter(None, (_shares(shown), note))), width=_WIDTH)
    drawn_parts = [kind(part) for one in shown for part, _, _ in segments(one)]
    used = [*ordered(part for part in drawn_parts if part != UNEXPLAINED), *{UNEXPLAINED}.intersection(drawn_parts)]
    legend, y = _legend(used, y)
    shapes += legend
    if any(one.of_responses for one in shown):
        y += 9
        shapes.append(Label(x=_MARGIN, y=y, text=_WAYS, size=_SIZE, colour=MUTED))
    for group in bars:
        drawn, y = _group(group, y + 6)
        shapes += drawn
    about = "; ".join(f"{group.name} {one.key}: {_said(one)}" for group in bars for one in group.shown)
    said = f"{_TITLE}: {title}" if title else _TITLE
    return Sketch(title=said, about=about, width=_WIDTH, height=y + 4, shapes=tuple(shapes))


def _shares(shown: Sequence[Breakdown]) -> str:
    """Of what the widths are shares."""
    kinds = dict.fromkeys(told_of([one])[0] for one in shown)
    return f"share of the {' or '.join(kinds)}"


def _said(one: Breakdown) -> str:
    parts = ", ".join(f"{label(part)} {quantity(_TIME, value)}" for part, value in one.parts.items())
    return f"{quantity(_TIME, one.latency)} of which {parts}"


def _legend(parts: Sequence[str], y: float) -> tuple[list[Shape], float]:
    """A box and a name for each part, in lines as long as the sketch allows."""
    shapes: list[Shape] = []
    x, y = _MARGIN, y + 7
    for part in parts:
        name = "no part explains it" if part == UNEXPLAINED else label(part)
        length = 11 + text_length(name)
        if x + length > _WIDTH - _MARGIN:
            x, y = _MARGIN, y + 11
        shapes.append(_box(part, x, y - 6.5, 8.0, 8.0))
        shapes.append(Label(x=x + 11, y=y, text=name, size=_SIZE))
        x += length + 11
    return shapes, y + 4


def _group(group: Bars, y: float) -> tuple[list[Shape], float]:
    y += 9
    shapes: list[Shape] = [Label(x=_MARGIN, y=y, text=group.name, size=8.5, colour=group.colour, bold=True)]
    if text_length(group.name) * 1.15 * 8.5 / _SIZE + text_length(group.note) > _WIDTH - 2 * _MARGIN - 8:
        y += 10  # both do not stand in one line
    shapes.append(Label(x=_WIDTH - _MARGIN, y=y, text=group.note, size=_SIZE, colour=MUTED, align="right"))
    y += 5
    for one in group.shown:
        shapes += _bar(one, y)
        y += _STEP
    if not group.shown:
        for line in textwrap.wrap(f"Not told: {'; '.join(group.why)}", 82):
            y += 10
            shapes.append(Label(x=_MARGIN, y=y, text=line, size=_SIZE + 0.5, colour=MUTED))
    return shapes, y


def _bar(one: Breakdown, y: float) -> list[Shape]:
    base = y + _BAR / 2 + 2.6
    shapes: list[Shape] = [Label(x=_LEFT - 4, y=base, text=_NAMES.get(one.key, one.key), size=_SIZE, align="right")]
    for part, left, right in segments(one):
        x, width = _LEFT + left * (_RIGHT - _LEFT), (right - left) * (_RIGHT - _LEFT)
        shapes.append(_box(part, x, y, width, _BAR))
        text = quantity(_TIME, one.unexplained if part == UNEXPLAINED else one.parts[part])
        if text_length(text) + 5 <= width:
            colour = "#ffffff" if kind(part) in _DARK or kind(part).endswith("recovery") else INK
            shapes.append(Label(x=x + width / 2, y=base, text=text, size=_SIZE, colour=colour, align="center"))
    if one.of_responses:
        shapes += [_mark(at, y) for at in dict.fromkeys(_service(one))]
    shapes.append(Label(x=_RIGHT + 5, y=base, text=quantity(_TIME, one.latency), size=_SIZE + 0.5, bold=True))
    return shapes


def _service(one: Breakdown) -> tuple[float, float]:
    """Where the request has come, and where the reply leaves, in shares of the bar."""
    ends = [right for part, _, right in segments(one) if part != UNEXPLAINED and not of_response(part)]
    begins = [left for part, left, _ in segments(one) if kind(part) != part]
    return max(ends, default=0.0), min(begins, default=1.0)


def _mark(at: float, y: float) -> Line:
    x = _LEFT + at * (_RIGHT - _LEFT)
    return Line(points=((x, y - 1.5), (x, y + _BAR + 1.5)), colour=INK, width=0.9)


def _box(part: str, x: float, y: float, width: float, height: float) -> Box:
    """A part's box; what no part explains is empty."""
    fill, rim = ("#ffffff", MUTED) if part == UNEXPLAINED else (_fill(part), "#ffffff")
    return Box(x=x, y=y, width=width, height=height, fill=fill, rim=rim)


def _fill(part: str) -> str:
    return _LINK_FILLS[sum(map(ord, kind(part))) % len(_LINK_FILLS)] if is_link(part) else COLOUR[kind(part)]


def segments(one: Breakdown) -> list[tuple[str, float, float]]:
    """Each part with its left and right end in shares of the bar; what no part explains is UNEXPLAINED.

    A part below zero (clocks that are read at two places may differ by microseconds) takes no room.
    """
    lengths = {part: max(value, 0.0) for part, value in one.parts.items()}
    lengths[UNEXPLAINED] = max(one.unexplained, 0.0)
    whole = sum(lengths.values()) or 1.0
    found, at = [], 0.0
    for part, length in lengths.items():
        if length:
            found.append((part, at, at + length / whole))
            at += length / whole
    return found
