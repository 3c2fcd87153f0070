"""Where the events of a link stand on a time axis, and what is written there.  Lengths are in points."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Literal

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from analysis.findings import TrialFinding

SIZE, LINE = 7.0, 9.5  # of the letters, and from one line to the next
MOST_LINES = 40  # of a list
_GAP = 4.0  # between neighbouring texts
_ROWS = 4  # of names above a plot; events that need more are numbered
_CHARACTERS = 80  # of a listed name, in the width of a plot
_DIGIT_SPACE, _WIDE_SPACE = "\u2007", "\u2002"  # a browser would make one of several ordinary spaces
_FONT = FontProperties(family=["DejaVu Sans"], size=SIZE)


@dataclass(frozen=True, slots=True)
class Mark:
    """One event of a cell: when it was asked and when it came (median of the trials), seconds after the start."""

    asked_s: float
    real_s: float
    label: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A text above the axis.  row: 0 is the lowest.  at: its anchor, from the left.  align: which end is there."""

    text: str
    at: float
    row: int
    align: Literal["left", "center", "right"]


def marks(trials: Sequence[TrialFinding]) -> list[Mark]:
    """The events of a cell's trials, each once, in order of time."""
    found: dict[tuple[float, str], list[float]] = {}
    for trial in trials:
        for event in trial.events:
            found.setdefault((event.asked_s, event.label), []).append(event.real_s)
    every = [Mark(asked_s, median(real), label) for (asked_s, label), real in found.items()]
    return sorted(every, key=lambda mark: (mark.real_s, mark.asked_s))


def named(places: Sequence[float], labels: Sequence[str], width: float) -> list[Tag] | None:
    """Labels beside their lines, none over another or over a line; None when they need too many rows.

    places: of the lines, ascending.  A line goes up to its label; width: of the whole plot.
    """
    tags: list[Tag] = []
    taken: list[tuple[float, int]] = []  # where a tag or its line begins, and its row
    for place, label in reversed(list(zip(places, labels, strict=True))):
        length = text_length(label)
        right = place + 2 + length <= width
        left = place - 2 - length
        if not right and (left < 0 or any(left - _GAP < other < place for other in places)):
            return None
        end = place + 2 + length + _GAP if right else place
        row = 1 + max((other for begin, other in taken if begin < end), default=-1)
        taken.append((place if right else left, row))
        tags.append(Tag(label, place + 2 if right else place - 2, row, "left" if right else "right"))
    return tags[::-1] if all(tag.row < _ROWS for tag in tags) else None


def numbered(places: Sequence[float]) -> list[Tag]:
    """Numbers from 1 over their lines; neighbours that would touch are written together, as in 3–5."""
    groups: list[tuple[int, int]] = []
    for number in range(len(places)):
        groups.append((number, number))
        while len(groups) > 1 and _ends(groups[-2], places)[1] + _GAP > _ends(groups[-1], places)[0]:
            _, last = groups.pop()
            groups[-1] = (groups[-1][0], last)
    return [Tag(_span(group), (places[group[0]] + places[group[1]]) / 2, 0, "center") for group in groups]


def _ends(group: tuple[int, int], places: Sequence[float]) -> tuple[float, float]:
    middle, half = (places[group[0]] + places[group[1]]) / 2, text_length(_span(group)) / 2
    return middle - half, middle + half


def _span(group: tuple[int, int]) -> str:
    first, last = group[0] + 1, group[1] + 1
    return str(first) if first == last else f"{first}–{last}"


def listing(found: Sequence[Mark], width: float) -> list[list[str]]:
    """Columns of lines that say what the numbers stand for."""
    digits = len(str(min(len(found), MOST_LINES)))
    entries: list[list[str]] = []
    lines: list[str] = []
    for number, mark in enumerate(found, start=1):
        parts = (str(number).rjust(digits, _DIGIT_SPACE), f"{mark.asked_s:g} s", mark.label)
        entry = textwrap.wrap(_WIDE_SPACE.join(parts), _CHARACTERS, subsequent_indent=_WIDE_SPACE * 3)
        if len(lines) + len(entry) > MOST_LINES:
            lines.append(f"… {len(found) - number + 1} more, in the table of events")
            break
        entries.append(entry)
        lines += entry
    columns = max(1, min(3, int(width // (max(map(text_length, lines)) + 3 * _GAP))))
    if any(len(entry) > 1 for entry in entries):
        columns = 1  # a name that is continued stays in one column
    height = -(-len(lines) // columns)
    return [lines[start : start + height] for start in range(0, len(lines), height)]


@lru_cache(maxsize=1024)
def text_length(text: str) -> float:
    """Width of a text, as it is drawn."""
    return float(text_to_path.get_text_width_height_descent(text, _FONT, False)[0]) if text.strip() else 0.0
