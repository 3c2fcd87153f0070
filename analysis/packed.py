"""The reduced rows of a trial that came out of a pack; they come from a file, so they are checked like one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.rows import SCHEMA
from records.counting import read_reduction
from records.packed import REDUCED
from records.store import DamagedTrial, Trial
from records.verdict import State

MOST_ROWS, MOST_TEXT_BYTES = 5_000_000, 1 << 30
_NOT_MUCH = 1 << 20
_TEXT_COLUMNS = [field.name for field in SCHEMA if field.type == pa.string()]
_READ = pa.schema(
    [
        field.with_type(pa.dictionary(pa.int32(), pa.string())) if field.name in _TEXT_COLUMNS else field
        for field in SCHEMA
    ]
)
# Columns that a row of each table has; metrics with columns of their own follow.
_HAVE = {
    "trial": ("metric", "value"), "second": ("metric", "t"), "event": ("t", "value", "text"),
    "ecdf": ("metric", "t", "value"), "percentile": ("key", "metric", "value"), "flow": ("key", "metric", "value"),
    "journey": ("metric", "value"), "packets": ("key", "metric", "value"), "trend": ("metric", "t", "value"),
    "note": ("text",), "damage": ("metric", "text"), "partial": ("metric", "text"),
}  # fmt: skip
_TEXTS = {("trial", "state"), ("trial", "seed"), ("trial", "latency_of"), ("flow", "direction")}


@dataclass(frozen=True, slots=True)
class _Row:
    table: str
    key: str | None
    metric: str | None
    t: float | None
    value: float | None
    text: str | None

    @property
    def fault(self) -> str:
        """What is wrong with it, '' when nothing is."""
        if self.table not in _HAVE:
            return f"table {self.table!r} is not known"
        told = (self.table, self.metric) in _TEXTS or (self.table == "journey" and self.key is None)
        have = ("metric", "text") if told else _HAVE[self.table]
        if lacking := [name for name in have if getattr(self, name) is None]:
            return f"a row of table {self.table} has no {lacking[0]}"
        if self.table == "trial" and self.metric == "state" and self.text not in set(State):
            return f"state {self.text!r} is none of a trial"
        if self.table == "trial" and self.metric == "seed" and not (self.text or "").isdecimal():
            return f"seed {self.text!r} is no number"
        return ""


def packed_rows(trial: Trial, number: int) -> pa.RecordBatch:
    """What the trial's files were reduced to where they stand, in the shape of analysis.rows.SCHEMA.

    DamagedTrial when one of the trial's records, or the reduction, cannot be read or is not the one of packed.json.
    """
    trial.manifest(), trial.link(), trial.verdict()
    path = str(trial.path / REDUCED)
    table = read_rows(read_reduction(trial), path=path)
    if fault := next(filter(None, (row.fault for row in _rows(table))), ""):
        raise DamagedTrial(f"{path}: {fault}")
    return numbered(table, number)


def numbered(rows: pa.Table, number: int) -> pa.RecordBatch:
    """The rows of one trial, of another number."""
    columns = [pa.repeat(pa.scalar(number, pa.int32()), rows.num_rows), *(c.combine_chunks() for c in rows.columns[1:])]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def encode(rows: pa.Table) -> bytes:
    """Reduced rows of one trial as Parquet, uncompressed: a pack is compressed as a whole."""
    sink = pa.BufferOutputStream()
    numbers = dict.fromkeys(("t", "value"), "BYTE_STREAM_SPLIT")
    column = SCHEMA.get_field_index("trial")
    zeros = rows.set_column(column, SCHEMA.field("trial"), pa.array([0] * rows.num_rows, pa.int32())).cast(SCHEMA)
    pq.write_table(
        zeros, sink, compression="none", use_dictionary=_TEXT_COLUMNS, column_encoding=numbers, write_statistics=False,
        store_schema=False,
    )  # fmt: skip
    return bytes(sink.getvalue())


def without_folder(rows: pa.Table, folder: str) -> pa.Table:
    """The rows with the names of files as seen from the trial's folder, which is another one after unpacking."""
    texts = pc.replace_substring(rows.column("text"), f"{folder}/", "")
    return rows.set_column(SCHEMA.get_field_index("text"), SCHEMA.field("text"), texts)


def read_rows(content: bytes, *, path: str) -> pa.Table:
    """Rows as `encode` writes them; DamagedTrial when they cannot be read or are of another shape."""
    try:
        # As long as texts are numbers of a dictionary, a file takes little more room than it has bytes.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=_TEXT_COLUMNS)
        if file.metadata.num_rows > MOST_ROWS:
            raise DamagedTrial(f"{path}: {file.metadata.num_rows} rows, more than {MOST_ROWS}")
        if _is_compressed(file.metadata):
            raise DamagedTrial(f"{path}: it is compressed, which reduced rows never are")
        table = file.read()
        table.validate(full=True)
        if table.schema.remove_metadata() != _READ:
            raise DamagedTrial(f"{path}: columns are {table.schema.names}, expected {SCHEMA.names} with their types")
        if (size := sum(map(_text_bytes, table.select(_TEXT_COLUMNS).columns))) > MOST_TEXT_BYTES:
            raise DamagedTrial(f"{path}: {size} bytes of texts, more than {MOST_TEXT_BYTES}")
        return table.cast(SCHEMA)
    except (OSError, pa.ArrowException) as error:
        raise DamagedTrial(f"{path}: {error}") from error


def _is_compressed(about: pq.FileMetaData) -> bool:
    return any(
        about.row_group(group).column(column).compression != "UNCOMPRESSED"
        for group in range(about.num_row_groups) for column in range(about.num_columns)
    )  # fmt: skip


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Of all texts of a dictionary-encoded column, or more where that is not much."""
    total = 0
    for one in column.chunks:
        lengths = pc.binary_length(one.dictionary)
        if (most := (pc.max(lengths).as_py() or 0) * len(one)) > _NOT_MUCH:
            most = pc.sum(pc.take(pc.cast(lengths, pa.int64()), one.indices)).as_py() or 0
        total += most
    return total


def _rows(table: pa.Table) -> Iterable[_Row]:
    return (_Row(*cells) for cells in zip(*(column.to_pylist() for column in table.columns[1:]), strict=True))
