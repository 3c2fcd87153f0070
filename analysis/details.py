"""What only a trial's own page and some plots show of it: too much of all trials at once, so it is read when asked for.

A trial of 400 pairs has 51,000 such rows, of 100 others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Points = list[tuple[float, float]]  # a pair (x, y) for each point; not a list of x and one of y
Read = Callable[[], pa.Table]
# The tables that are details, with those of their columns that say anything.
TABLES: Mapping[str, tuple[str, ...]] = {
    "second": ("metric", "t", "value"), "ecdf": ("value", "t"), "flow": ("key", "metric", "value", "text"),
    "packets": ("key", "metric", "value"),
}  # fmt: skip
_SIZE = "wire_bytes"  # of a flow
MOST_ROWS = 400_000  # that are held of all trials; one takes some 150 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """Trials' rows (analysis.rows.SCHEMA).  details: what gives all of trial i, where `rows` has none of TABLES."""

    rows: pa.Table
    details: Mapping[int, Read] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Details:
    """What the properties of analysis.findings.TrialFinding of the same names say."""

    seconds: dict[str, Points] = field(default_factory=dict)
    ecdf: Points = field(default_factory=list)
    flows: dict[str, dict[str, float]] = field(default_factory=dict)
    directions: dict[str, str] = field(default_factory=dict)
    packets: dict[tuple[str, str], float] = field(default_factory=dict)

    def whole(self) -> Details:
        """As of Asked."""
        return self

    def flow_sizes(self) -> dict[str, float]:
        """As of Asked."""
        return sizes_of(self.flows)

    def add(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take rows of a table of TABLES, of its columns alone."""
        if table == "second":
            for metric, t, value in rows:
                self.seconds.setdefault(metric, []).append((t, value))
        elif table == "ecdf":
            self.ecdf += rows
        elif table == "packets":
            self.packets |= {(key, metric): value for key, metric, value in rows}
        else:
            for key, metric, value, text in rows:
                if metric == "direction":
                    self.directions[key] = text
                else:
                    self.flows.setdefault(key, {})[metric] = value


class Shelf:
    """The details that were asked for last, of at most so many rows, but for the last of all."""

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most, self._rows = most_rows, 0
        self._held: OrderedDict[tuple[int, str], tuple[Details, int]] = OrderedDict()

    def part(self, number: int, table: str, read: Read) -> Details:
        """One table of trial `number`, of which `read` gives all rows."""
        place = (number, table)
        if place not in self._held:
            rows = _of(table, read())
            self._held[place] = parsed(rows), rows.num_rows
            self._rows += rows.num_rows
        self._held.move_to_end(place)
        while self._rows > self._most and len(self._held) > 1:
            _, (_, gone) = self._held.popitem(last=False)
            self._rows -= gone
        return self._held[place][0]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The details of trial `number`, read when they are looked at."""

    number: int
    read: Read
    shelf: Shelf

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked | Details) and _values(self) == _values(other)

    __hash__ = None  # type: ignore[assignment]

    def digest(self) -> str:
        """SHA-256 of the file that they are read from now, '' where there is none."""
        told = getattr(self.read, "digest", None)
        return str(told()) if told else ""

    def whole(self) -> Details:
        """All at once, for whoever goes through all trials: nothing of it is held here."""
        return parsed(self.read())

    def flow_sizes(self) -> dict[str, float]:
        """The bytes of each flow, 0 where they are not known: read sooner than all figures."""
        rows = _of("flow", self.read())
        figures = rows.filter(pc.not_equal(rows.column("metric"), "direction"))
        sized = rows.filter(pc.equal(rows.column("metric"), _SIZE))
        return dict.fromkeys(pc.unique(figures.column("key")).to_pylist(), 0.0) | dict(
            zip(sized.column("key").to_pylist(), sized.column("value").to_pylist(), strict=True)
        )

    @property
    def seconds(self) -> dict[str, Points]:
        """As of Details."""
        return self.shelf.part(self.number, "second", self.read).seconds

    @property
    def ecdf(self) -> Points:
        """As of Details."""
        return self.shelf.part(self.number, "ecdf", self.read).ecdf

    @property
    def flows(self) -> dict[str, dict[str, float]]:
        """As of Details."""
        return self.shelf.part(self.number, "flow", self.read).flows

    @property
    def directions(self) -> dict[str, str]:
        """As of Details."""
        return self.shelf.part(self.number, "flow", self.read).directions

    @property
    def packets(self) -> dict[tuple[str, str], float]:
        """As of Details."""
        return self.shelf.part(self.number, "packets", self.read).packets


def sizes_of(flows: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The bytes of each flow, 0 where they are not known."""
    return {flow: figures.get(_SIZE, 0.0) for flow, figures in flows.items()}


def _values(one: Asked | Details) -> list[object]:
    return [getattr(one, name.name) for name in fields(Details)]


def parsed(rows: pa.Table) -> Details:
    """Rows of TABLES, and of others that are passed over, of one trial, in analysis.rows.SCHEMA."""
    found = Details()
    for table, columns in TABLES.items():
        some = _of(table, rows)
        found.add(table, zip(*(_values_of(some.column(name)) for name in columns), strict=True))
    return found


def _values_of(column: pa.ChunkedArray) -> list[Any]:
    """Its values: of numbers that are all there by numpy, which is faster than pyarrow's own way."""
    if pa.types.is_floating(column.type) and not column.null_count:
        return list(column.to_numpy().tolist())
    return list(column.to_pylist())


def without(rows: pa.Table) -> pa.Table:
    """The rows but for those of TABLES."""
    return rows.filter(pc.invert(_is_detail(rows)))


def details_of(rows: pa.Table) -> pa.Table:
    """The rows of TABLES."""
    return rows.filter(_is_detail(rows))


def _of(table: str, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.equal(rows.column("table"), table))


def _is_detail(rows: pa.Table) -> pa.Array:
    return pc.is_in(rows.column("table"), pa.array(list(TABLES)))
