"""The records of a published campaign in one file, so that a reader of 10,000 trials needs no call for each of them.

    URI/_records.parquet    columns file (its name inside the campaign) and content, sorted by name

All of them stand at the URI by themselves, too: one that lacks here, or is not as the campaign's list says, is fetched
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from records.location import NotThere, Remote

BUNDLE = "_records.parquet"
_SUFFIX = ".json"  # of the records of campaign, trials and reductions
_ROWS = 500  # files that are in memory at once
_FIELDS = {"file": pa.string(), "content": pa.binary()}
_SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _FIELDS.items()])


def encode(folder: Path, names: Iterable[str]) -> bytes:
    """The bundle of those of the campaign's files `names` that are records."""
    chosen = sorted(name for name in names if name.endswith(_SUFFIX))
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, _SCHEMA, compression="zstd", use_dictionary=False, write_statistics=False) as writer:
        for start in range(0, len(chosen), _ROWS):
            some = chosen[start : start + _ROWS]
            contents = [(folder / name).read_bytes() for name in some]
            writer.write_table(pa.table({"file": some, "content": contents}, schema=_SCHEMA))
    return bytes(sink.getvalue())


def bundled(campaign: Remote) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the records, which nobody has checked; none where there is no bundle that can be read.

    Raises Unreachable.
    """
    try:
        content = (campaign / BUNDLE).read_bytes()
    except NotThere:
        return
    with suppress(pa.ArrowException, OSError):
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.schema_arrow.remove_metadata() == _SCHEMA:
            for batch in file.iter_batches(_ROWS):
                yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
