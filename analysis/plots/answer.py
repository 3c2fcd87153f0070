"""The answer at a glance: a column for each primary metric, a row for each level, dots with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise

from analysis.answer import Answer, Figure, Mark, Row, answer
from analysis.compare import Tone
from analysis.findings import Findings
from analysis.plots.answeraxis import BETTER, Column, across, drawn, frame
from analysis.plots.cells import colours
from analysis.plots.eventmarks import SIZE, text_length
from analysis.plots.headline import headline
from analysis.plots.panel import Panel
from analysis.plots.raster import plot_of
from analysis.plots.sketch import Box, Dot, Label, Line, Shape, Sketch
from analysis.plots.style import COLOURS, HAIR, INK, MUTED, Plot

TONES: dict[Tone, str] = {"better": BETTER, "worse": "#a8460b", "even": MUTED, "unequal": MUTED}
_WIDTH, _MARGIN = 500.0, 7.0
_NAMES, _FIGURE, _GAP = 114.0, 92.0, 10.0  # widths of the rows' names, of the texts, and between columns
_ROOMY, _NARROW, _TITLE, _FEW = 35.0, 18.0, 15.0, 6  # heights of rows and titles; so many rows are roomy
_LINE, _MOST_LINES = 9.6, 4  # height of a line of a name, and how many a name has at most
_HARD = "\u00a0"  # a space where no line ends
_HEAD, _FOOT = 34.0, 28.0  # above and below the rows


def answer_plot(findings: Findings) -> Plot | None:
    """The plot, None where no trial is valid."""
    found = answer(findings)
    if all(mark.value is None for row in found.rows for figure in row.figures for mark in figure.marks):
        return None
    return plot_of(answer_sketch(found, colours(findings)), name="answer")


def answer_sketch(found: Answer, colour: dict[str, str]) -> Sketch:
    """colour: of each cell's level, by the cell's name."""
    hollow = "; hollow: guarantees differ, so neither is better" if found.differ else ""
    shapes, top = headline(found.title, found.about + hollow, width=_WIDTH)
    top += _HEAD
    roomy = len(found.rows) <= _FEW
    titles = _titles(found.rows)
    names = [_name_of(row, titled=any(titles)) for row in found.rows]
    lines = min(3 if roomy else _MOST_LINES, max(map(len, names), default=1))
    tall = _ROOMY if roomy else max(_NARROW, _LINE * lines + 4)
    foot = top + tall * len(found.rows) + _TITLE * sum(map(bool, titles))
    columns = _columns(found, top, foot)
    shapes += [shape for column in columns for shape in frame(column)]
    y = top
    for row, title, name in zip(found.rows, titles, names, strict=True):
        if title:
            width = 1.15 * text_length(title) * 7.5 / SIZE
            shapes.append(Box(x=_MARGIN, y=y + 1, width=width, height=13, fill="#ffffff"))
            shapes.append(Label(x=_MARGIN, y=y + 11, text=title, size=7.5, bold=True))
            y += _TITLE
        ink = colour[row.cell] if _by_level(row, any(titles)) else INK
        shapes += _name(_cut(name, lines), y + tall / 2, colour=ink)
        for column, figure in zip(columns, row.figures, strict=True):
            shapes += _figure(column, figure, y + tall / 2, roomy=roomy)
        y += tall
        shapes.append(Line(points=((_MARGIN, y), (columns[-1].end, y)), colour=HAIR, width=0.5))
    y += _FOOT
    if found.left:
        shapes.append(Label(x=_MARGIN, y=y - 6, text=f"and {found.left} more in the tables", size=7.0, colour=MUTED))
    return Sketch(title=found.title, about=_about(found), width=_WIDTH, height=y, shapes=tuple(shapes))


def _about(found: Answer) -> str:
    return "; ".join(
        f"{' '.join(filter(None, (row.title, row.level)))}: {metric.label} {figure.text}"
        for row in found.rows
        for metric, figure in zip(found.metrics, row.figures, strict=True)
    )


def _titles(rows: Sequence[Row]) -> list[str]:
    """What stands above each row: a group's title above its first row, nothing where groups have one row each."""
    titles = [row.title for row in rows]
    if len(set(titles)) in (1, len(titles)):
        return [""] * len(titles)
    return [titles[0], *("" if one == other else other for one, other in pairwise(titles))]


def _columns(found: Answer, top: float, foot: float) -> list[Column]:
    width = (_WIDTH - _MARGIN - _NAMES) / len(found.metrics) - _GAP
    columns = []
    for number, metric in enumerate(found.metrics):
        judged = any(row.figures[number].tone != "unequal" for row in found.rows)
        marks = [mark for row in found.rows for mark in row.figures[number].marks]
        ends, log = across(marks, ratios=bool(found.baseline))
        x = _NAMES + _GAP + number * (width + _GAP)
        panel = Panel(
            x=x, y=top, width=width - _FIGURE - _GAP / 2, height=foot - top, across=ends, up=(0.0, 1.0), log=log
        )
        columns.append(Column(metric=metric, panel=panel, end=x + width, baseline=found.baseline, judged=judged))
    return columns


def _by_level(row: Row, titled: bool) -> bool:
    """Whether a row has its level's name, in that level's colour: where there are several in a group."""
    return bool(row.level) and (titled or not row.title)


def _name_of(row: Row, *, titled: bool) -> list[str]:
    """The lines of a row's name."""
    name = row.level if _by_level(row, titled) else row.title
    return textwrap.wrap(name.replace(" ", _HARD).replace(f"{_HARD}·{_HARD}", f"{_HARD}· "), 25)


def _cut(name: Sequence[str], lines: int) -> Sequence[str]:
    """So many lines of it, with a sign where more follow."""
    return name if len(name) <= lines else [*name[: lines - 1], f"{name[lines - 1]}…"]


def _name(texts: Sequence[str], y: float, *, colour: str) -> list[Shape]:
    first = y + 2.7 - _LINE / 2 * (len(texts) - 1)
    return [Label(x=_MARGIN, y=first + _LINE * number, text=text, colour=colour) for number, text in enumerate(texts)]


def _figure(column: Column, figure: Figure, y: float, *, roomy: bool) -> list[Shape]:
    """Marks with their intervals, and at the right what they say."""
    shapes = [shape for mark in figure.marks for shape in _mark(column, mark, y, alone=len(figure.marks) == 1)]
    aside = figure.aside if roomy else ""
    judged = figure.tone in ("better", "worse")
    text = Label(x=column.end, y=y + (-1.5 if aside else 2.7), text=figure.text, align="right",
                 size=_fitting(figure.text, 8.0), colour=TONES[figure.tone], bold=judged)  # fmt: skip
    shapes.append(text)
    if aside:
        shapes.append(
            Label(x=column.end, y=y + 8.5, text=aside, size=_fitting(aside, 7.0), colour=MUTED, align="right")
        )
    return shapes


def _fitting(text: str, size: float) -> float:
    """The size of letters in which a text has room beside the marks."""
    return min(size, SIZE * _FIGURE / max(text_length(text), 1.0))


def _mark(column: Column, mark: Mark, y: float, *, alone: bool) -> list[Shape]:
    """A dot, and where it stands alone its interval, and a thin line from equal."""
    if mark.value is None:
        return []
    panel = column.panel
    colour = TONES[mark.tone] if column.baseline else COLOURS[0]
    at = panel.along(mark.value)
    if not alone:
        fill = _fill(mark, colour)
        return [Dot(x=at, y=y, radius=2.8, fill=fill, rim="#ffffff" if fill == colour else colour)]
    shapes: list[Shape] = []
    if column.baseline:
        shapes.append(Line(points=((panel.along(1.0), y), (at, y)), colour=colour, opacity=0.4))
    if mark.low is not None and mark.high is not None:
        low, high = drawn(mark) if column.baseline else _within(panel, mark.low, mark.high)
        shapes.append(Line(points=((panel.along(low), y), (panel.along(high), y)), colour=colour, width=2.4))
        for end, true, way in ((low, mark.low, 1), (high, mark.high, -1)):
            if end != true:  # it goes on
                x = panel.along(end)
                head = ((x + 4.0 * way, y - 3.5), (x, y), (x + 4.0 * way, y + 3.5))
                shapes.append(Line(points=head, colour=colour, width=1.2))
    return [*shapes, Dot(x=at, y=y, radius=4.0, fill=_fill(mark, colour), rim=colour)]


def _within(panel: Panel, low: float, high: float) -> tuple[float, float]:
    """As much of an interval as its axis has."""
    first, last = panel.across
    return min(max(low, first), last), max(min(high, last), first)


def _fill(mark: Mark, colour: str) -> str:
    return "#ffffff" if mark.tone == "unequal" else colour
