"""Reading published.csv: one published value on each line, in long form, with comments.

    figure,series,x,metric,unit,value,how_exact
    5.1,64 B,2,delivered_per_s,1/s,12000,about

Four more columns may stand there.  network: the study's word for it, where it has several.  case: ours that answers the
value, where that is not x.  reading, note: see Point.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator
from pathlib import Path

from analysis.claims.comparisons import Quantity
from analysis.claims.known import unknown
from analysis.metrics import METRICS
from analysis.papers.published import PRINTED, HowExact, Point
from analysis.units import words

NEEDED = ("figure", "series", "x", "metric", "unit", "value", "how_exact")
_MORE = ("network", "case", "reading", "note")


class PublishedError(ValueError):
    """A file of published numbers that cannot be used; one line per problem, with file, line, column and value."""


def lines_of(path: Path) -> list[tuple[int, list[str]]]:
    """The cells of each line that is neither empty nor a comment, with its number; the first one names the columns."""
    try:
        text = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PublishedError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    found = []
    for number, line in enumerate(text, start=1):
        if line.strip() and not line.startswith("#"):
            try:
                found.append((number, next(csv.reader([line], strict=True))))
            except csv.Error as error:
                raise PublishedError(f"{path}:{number}: not CSV: {error}") from error
    if len(found) < 2:
        raise PublishedError(f"{path}: no rows; the first line that is no comment names the columns")
    number, head = found[0]
    if twice := [name for at, name in enumerate(head) if name in head[:at]]:
        raise PublishedError(f"{path}:{number}: the column {twice[0]!r} stands there twice")
    for number, cells in found[1:]:
        if len(cells) != len(head):
            raise PublishedError(f"{path}:{number}: {len(cells)} cells under {len(head)} columns")
    return found


def read_points(path: Path, networks: Collection[str]) -> tuple[Point, ...]:
    """All values of a file, in order.  networks: the study's words.  PublishedError names every problem found."""
    (first, head), *body = lines_of(path)
    problems = [f"{path}:{first}: there is no column {name!r}" for name in NEEDED if name not in head]
    strange = filter(None, (unknown("column", name, (*NEEDED, *_MORE)) for name in head))
    problems += [f"{path}:{first}: {problem}" for problem in strange]
    if problems:
        raise PublishedError("\n".join(problems))
    points: list[Point] = []
    for number, cells in body:
        found = _point(number, dict(zip(head, (cell.strip() for cell in cells), strict=True)), networks)
        if isinstance(found, Point):
            points.append(found)
        else:
            problems += [f"{path}:{number}: {problem}" for problem in found]
    problems += [f"{path}:{line}: {problem}" for line, problem in _twice(points)]
    if problems:
        raise PublishedError("\n".join(problems))
    return tuple(points)


def _point(line: int, cells: dict[str, str], networks: Collection[str]) -> Point | list[str]:
    """The point, or what is wrong with its line."""
    problems = [f"{name}: is empty" for name in NEEDED if not cells[name]]
    network = cells.get("network") or (next(iter(networks)) if len(networks) == 1 else "")
    for column, kind, name, known in (
        ("metric", "metric", cells["metric"], METRICS),
        ("how_exact", "way to be exact", cells["how_exact"], [one.value for one in HowExact]),
        ("network", "network of this study", network, networks),
    ):
        if told := unknown(kind, name, known):
            problems.append(f"{column}: {told}")
    factors = words(METRICS[cells["metric"]].unit) if cells["metric"] in METRICS else {}
    if factors and (told := unknown(f"unit of {cells['metric']}", cells["unit"], factors)):
        problems.append(f"unit: {told}")
    value = _number(cells["value"])
    if value is None:
        problems.append(
            f"value: {cells['value']!r} is not a number, 0 or more; of a range give the middle, and `about`"
        )
    if problems or value is None:
        return problems
    return Point(
        line=line, figure=cells["figure"], series=cells["series"], x=cells["x"], metric=cells["metric"],
        value=value * factors[cells["unit"]], how_exact=HowExact(cells["how_exact"]), network=network,
        case=cells.get("case") or cells["x"], reading=cells.get("reading") or PRINTED, note=cells.get("note", ""),
    )  # fmt: skip


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _twice(points: list[Point]) -> Iterator[tuple[int, str]]:
    """What stands there twice: the same place of a series, or, elsewhere, another value of the same quantity."""
    places: dict[tuple[str, ...], Point] = {}
    values: dict[tuple[Quantity, str], Point] = {}
    for point in points:
        place = (point.figure, point.series, point.x, point.metric, point.network, point.reading)
        if (other := places.setdefault(place, point)) is not point:
            yield point.line, f"x: {point.x!r} of series {point.series!r} stands in line {other.line} already"
            continue
        other = values.setdefault((point.quantity, point.reading), point)
        if (other.value, other.how_exact) != (point.value, point.how_exact):
            of = f"{point.metric} of case {point.case!r} on {point.network}"
            way_out = "give one of them another `reading`, or a `case` of its own"
            yield point.line, f"value: line {other.line} says otherwise of {of}: {way_out}"
