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
_HARD = "\u00a0"  # a space where no line ends
_HEAD, _FOOT = 34.0, 28.0  # above and below the rows


def answer_plot(findings: Findings) -> Plot | None:
    """The plot, None where no trial is valid."""
    found = answer(findings)
    if not any(figure.marks for row in found.rows for figure in row.figures):
        return None
    return plot_of(answer_sketch(found, colours(findings)), name="answer")


def answer_sketch(found: Answer, colour: dict[str, str]) -> Sketch:
    """colour: of each cell's level, by the cell's name."""
    hollow = "; hollow: guarantees differ, so neither is better" if found.differ else ""
    shapes, top = headline(found.title, found.about + hollow, width=_WIDTH)
    top += _HEAD
    roomy = len(found.rows) <= _FEW
    tall, titles = _ROOMY if roomy else _NARROW, _titles(found.rows)
    foot = top + tall * len(found.rows) + _TITLE * sum(map(bool, titles))
    columns = _columns(found, top, foot)
    shapes += [shape for column in columns for shape in frame(column)]
    y = top
    for row, title in zip(found.rows, titles, strict=True):
        if title:
            width = 1.15 * text_length(title) * 7.5 / SIZE
            shapes.append(Box(x=_MARGIN, y=y + 1, width=width, height=13, fill="#ffffff"))
            shapes.append(Label(x=_MARGIN, y=y + 11, text=title, size=7.5, bold=True))
            y += _TITLE
        shapes += _name(row, y + tall / 2, lines=2 if roomy else 1, titled=any(titles), colour=colour[row.cell])
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


def _name(row: Row, y: float, *, lines: int, titled: bool, colour: str) -> list[Shape]:
    """The row's name: its level, in that level's colour, where there are several in a group."""
    by_level = bool(row.level) and (titled or not row.title)
    name = row.level if by_level else row.title
    texts = textwrap.wrap(name.replace(" ", _HARD).replace(f"{_HARD}·{_HARD}", f"{_HARD}· "), 25)[:lines]
    first = y + 2.7 - 4.8 * (len(texts) - 1)
    return [
        Label(x=_MARGIN, y=first + 9.6 * number, text=text, colour=colour if by_level else INK)
        for number, text in enumerate(texts)
    ]


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
        low, high = drawn(mark) if column.baseline else (mark.low, mark.high)
        shapes.append(Line(points=((panel.along(low), y), (panel.along(high), y)), colour=colour, width=2.4))
    return [*shapes, Dot(x=at, y=y, radius=4.0, fill=_fill(mark, colour), rim=colour)]


def _fill(mark: Mark, colour: str) -> str:
    return "#ffffff" if mark.tone == "unequal" else colour
