"""The one narrow shape in which reduced trials travel from the tasks to the driver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa

# trial: number of the path that was handed out.  table: trial, flow, second, ecdf, percentile, trend, journey,
# packets, event, note, partial (a part that failed) or damage.  key: which flow, capture or percentile; of a journey
# `mean` or a percentile.  t: seconds from the window's start (second; event: when it was asked, value: when it was in
# force), share (ecdf) or p of no trend (trend; value: its change).  text `at least` (trial, percentile): the value is a
# lower bound.
SCHEMA = pa.schema(
    [
        pa.field("trial", pa.int32(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("metric", pa.string()),
        pa.field("t", pa.float64()),
        pa.field("value", pa.float64()),
        pa.field("text", pa.string()),
    ]
)
DDL = "trial int, table string, key string, metric string, t double, value double, text string"


def by_trial(rows: pa.Table) -> dict[int, pa.Table]:
    """The rows of each trial that has any, in their order; nothing is copied, and each row is passed once."""
    found: dict[int, list[pa.RecordBatch]] = {}
    for batch in filter(len, rows.to_batches()):
        numbers = batch.column("trial").to_numpy()
        for first, end in pairwise([0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]):
            found.setdefault(int(numbers[first]), []).append(batch.slice(first, end - first))
    return {number: pa.Table.from_batches(some) for number, some in found.items()}


@dataclass(slots=True)
class Rows:
    """Rows of one trial, gathered column by column."""

    trial: int
    columns: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in SCHEMA.names[1:]})

    def add(
        self, table: str, metric: str | None = None, *, key: str | None = None, t: float | None = None,
        value: float | None = None, text: str | None = None,
    ) -> None:  # fmt: skip
        """Append one row."""
        row = {"table": table, "key": key, "metric": metric, "t": t, "value": value, "text": text}
        for name, cell in row.items():
            self.columns[name].append(cell)

    def add_all(
        self, table: str, metric: str, *, value: np.ndarray, key: Sequence[str] | str | None = None,
        t: np.ndarray | None = None, text: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Append a row per element of `value` (float64); a NaN becomes a null.  key, t, text: as many, or none."""
        count = len(value)
        empty: list[object] = [None] * count
        cells = {
            "table": [table] * count,
            "key": list(key) if key is not None and not isinstance(key, str) else [key] * count,
            "metric": [metric] * count,
            "t": empty if t is None else t.tolist(),
            "value": [None if one != one else one for one in value.tolist()],  # noqa: PLR0124 - NaN
            "text": empty if text is None else text,
        }
        for name, column in cells.items():
            self.columns[name].extend(column)

    def take(self, other: Rows, *, without: Collection[str] = ()) -> None:
        """Append another's rows but for those of the tables `without`."""
        kept = [row for row, table in enumerate(other.columns["table"]) if table not in without]
        for name, column in other.columns.items():
            self.columns[name].extend(column if len(kept) == len(column) else [column[row] for row in kept])

    def batch(self) -> pa.RecordBatch:
        """All rows in the shape of SCHEMA."""
        count = len(self.columns["table"])
        arrays = [pa.array([self.trial] * count, pa.int32())]
        arrays += [pa.array(self.columns[name], SCHEMA.field(name).type) for name in SCHEMA.names[1:]]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
