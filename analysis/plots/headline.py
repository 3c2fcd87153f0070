"""The head of a sketch: its title, in two lines when one does not hold it, and a line that says what is drawn."""

from __future__ import annotations

import textwrap

from analysis.plots.sketch import Label, Shape
from analysis.plots.style import MUTED, TITLE_CHARACTERS

_MARGIN = 7.0


def headline(title: str, note: str, *, width: float) -> tuple[list[Shape], float]:
    """The shapes, and where they end.  width: of the sketch, points."""
    lines = textwrap.wrap(title, round(TITLE_CHARACTERS * width / 360)) or [""]
    size = 10.0 if len(lines) == 1 else 8.5
    y = 3.0
    shapes: list[Shape] = []
    for line in lines:
        y += size * 1.3
        shapes.append(Label(x=_MARGIN, y=y, text=line, size=size, bold=True))
    for line in textwrap.wrap(note, round(78 * width / 360)):
        y += 11.0
        shapes.append(Label(x=_MARGIN, y=y, text=line, colour=MUTED))
    return shapes, y + 6
