"""What a view and a column are, and the same as Arrow's schema and as Spark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

TEXT, FLAG, INT, LONG, REAL = pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.float64()
_SPARK = {TEXT: "string", FLAG: "boolean", pa.int8(): "tinyint", INT: "int", LONG: "bigint", REAL: "double"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """unit: '' where it has none.  metric: whether it is one of the closed list of metrics (analysis.metrics)."""

    name: str
    type: pa.DataType
    about: str
    unit: str = ""
    metric: bool = False

    @property
    def comment(self) -> str:
        """What DESCRIBE says of it."""
        return f"{self.unit}: {self.about}" if self.unit else self.about


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """about: what a row is.  source: where rows come from.  per: what one partition of Spark is of.

    files: of a trial's folder without which it has no rows here; `captures` stands for those of its manifest.
    """

    name: str
    about: str
    source: str
    per: Literal["trial", "cell", "range"]
    columns: tuple[Column, ...]
    files: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """Arrow's schema, in the order of `columns`."""
        return pa.schema([pa.field(one.name, one.type) for one in self.columns])

    @property
    def ddl(self) -> str:
        """Spark's schema; each column's comment has unit and meaning."""
        return ", ".join(
            f"`{one.name}` {spark_type(one.type)} COMMENT '{_quoted(one.comment)}'" for one in self.columns
        )


def spark_type(kind: pa.DataType) -> str:
    """A type as Spark's DDL writes it; KeyError for one that no view has."""
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{part.name}: {spark_type(part.type)}' for part in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{spark_type(kind.key_type)}, {spark_type(kind.item_type)}>"
    return _SPARK[kind]


def batch(view: View, rows: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    """Rows, by column, in the view's schema; what a row lacks is null."""
    arrays = [pa.array([row.get(one.name) for row in rows], one.type) for one in view.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=view.schema)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
