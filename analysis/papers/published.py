"""The published numbers: CSV with comments, one row per case; a doubtful row may stand there in a second reading."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.claims.comparisons import Quantity

PRINTED = "printed"
_UNITS = {"published_per_s": 1.0, "delivered_per_s": 1.0, "latency_ms": 1e-3}
_METRICS = {"latency_ms": "latency_mean_s"}


class PublishedError(ValueError):
    """A file of published numbers that cannot be read; the message has file, line and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One case as published.  values: by (metric, network), in SI units.  factors: the other columns, as words.

    reading: `printed`, or the name of another reading of a row that looks wrong.  note: what is doubtful.
    """

    case: str
    reading: str
    note: str
    factors: dict[str, str]
    values: dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The published values as evidence, in one reading: its rows where it has them, else the printed ones."""

    rows: Mapping[str, PublishedRow]

    @property
    def exact(self) -> bool:
        """A published number is taken as it is: the study gives no interval."""
        return True

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """See analysis.claims.Evidence; the one value has the seed 0."""
        row = self.rows.get(wanted.case)
        value = None if row is None else row.values.get((wanted.metric, wanted.network))
        return {} if value is None else {0: value}

    def why_none(self, wanted: Quantity) -> str:
        """See analysis.claims.Evidence."""
        return f"{wanted.case}: {wanted.metric} on {wanted.network} was not published"

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """See analysis.claims.Evidence; of the study's windows only their numbers are known."""
        del wanted
        return ""

    def held(self, wanted: Quantity) -> Quantity:
        """See analysis.claims.Evidence."""
        return wanted

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        """See analysis.claims.Evidence; a published number is taken as it is."""
        del wanted, beside
        return False


def reading(rows: Iterable[PublishedRow], name: str = PRINTED) -> Published:
    """One value for each case."""
    chosen: dict[str, PublishedRow] = {}
    for row in rows:
        if row.reading == name or (row.reading == PRINTED and row.case not in chosen):
            chosen[row.case] = row
    return Published(rows=chosen)


def read_published(path: Path) -> tuple[PublishedRow, ...]:
    """All rows of a file, in order.  Values that are not finite and positive are refused."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PublishedError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line and not line.startswith("#")]
    if not numbered:
        raise PublishedError(f"{path}: no rows; the first line that is no comment names the columns")
    head, *body = (next(csv.reader([line])) for _, line in numbered)
    for needed in ("case", "reading", "note"):
        if needed not in head:
            raise PublishedError(f"{path}:{numbered[0][0]}: there is no column {needed!r}; there are {', '.join(head)}")
    rows = tuple(_row(path, number, head, cells) for (number, _), cells in zip(numbered[1:], body, strict=True))
    seen: set[tuple[str, str]] = set()
    for (number, _), row in zip(numbered[1:], rows, strict=True):
        if (row.case, row.reading) in seen:
            raise PublishedError(f"{path}:{number}: {row.case} stands there twice in the reading {row.reading!r}")
        seen.add((row.case, row.reading))
    return rows


def _row(path: Path, number: int, head: list[str], cells: list[str]) -> PublishedRow:
    if len(cells) != len(head):
        raise PublishedError(f"{path}:{number}: {len(cells)} cells under {len(head)} columns")
    values, factors = {}, {}
    for name, text in zip(head, cells, strict=True):
        metric, dot, network = name.partition(".")
        if not dot:
            factors[name] = text
        elif metric not in _UNITS:
            raise PublishedError(f"{path}:{number}: column {name!r}: {metric!r} is not one of {', '.join(_UNITS)}")
        elif text:
            values[_METRICS.get(metric, metric), network] = _number(path, number, name, text) * _UNITS[metric]
    case, which, note = (factors.pop(name) for name in ("case", "reading", "note"))
    return PublishedRow(case=case, reading=which, note=note, factors=factors, values=values)


def _number(path: Path, line: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise PublishedError(f"{path}:{line}: {column}: {text!r} is not a number above 0; leave unknown ones empty")
    return value
