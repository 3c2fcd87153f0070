"""The rows of a view without Spark: its partitions planned here, and read here, one after the other."""

from __future__ import annotations

import pyarrow as pa

from analysis.reductions.code import code_digest
from analysis.sql import recorded
from analysis.sql.columns import batch
from analysis.sql.reduced import OF_REDUCTIONS, rows
from analysis.sql.views import VIEWS
from analysis.sql.work import Wanted, planned
from records.location import Place

CODE = code_digest()
Row = dict[str, object]


def table_of(name: str, place: Place, wanted: Wanted) -> pa.Table:
    """A view of one campaign, through its schema."""
    made: list[pa.RecordBatch] = []
    for work in planned(VIEWS[name], [place], wanted):
        if name in OF_REDUCTIONS:
            made.append(batch(VIEWS[name], list(rows(work, CODE))))
        else:
            made += recorded.batches(work)
    found = pa.Table.from_batches(made, VIEWS[name].schema)
    found.validate(full=True)
    return found


def view(name: str, place: Place, **wanted: object) -> list[Row]:
    """The rows of a view of one campaign.  wanted: value of campaign, cell or trial."""
    return table_of(name, place, {key: (value,) for key, value in wanted.items()}).to_pylist(maps_as_pydicts="strict")
