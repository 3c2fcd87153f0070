"""`lab export`: packets and ledgers as Parquet, for pandas, DuckDB or Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import PRESENT, Conf, Env, EventLog, Master, Results
from lab.verbs.dispatch import done_by


@done_by("lab.export")
def export(
    what: Annotated[
        list[str], typer.Argument(metavar="CAMPAIGN|FILE...", help="A campaign or captures, or their URIs.")
    ],
    folder: Annotated[str, typer.Option("--out", help="Folder or URI to write to; it must be empty or not be there.")],
    results: Results = DEFAULT_RESULTS,
    master: Master = None,
    conf: Conf = None,
    env: Env = PRESENT,
    event_log: EventLog = None,
) -> None:
    """Write packets (and a campaign's ledgers) below --out as zstd-compressed Parquet, partitioned by capture or trial.

    Exit status: 0 all was written; 1 something could not be read or is damaged (the rest is written).
    """
