"""`lab sql`: questions to campaigns, in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import PRESENT, Conf, Env, EventLog, Master, Results
from lab.verbs.dispatch import done_by


@done_by("lab.sql")
def sql(
    query: Annotated[
        str | None, typer.Argument(help="SELECT, WITH, DESCRIBE or SHOW, in Spark's SQL.", show_default=False)
    ] = None,
    campaigns: Annotated[
        list[str] | None,
        typer.Argument(metavar="CAMPAIGN", help="Folders, names or URIs of campaigns; default: the latest."),
    ] = None,
    results: Results = DEFAULT_RESULTS,
    form: Annotated[
        Literal["table", "csv", "json"] | None,
        typer.Option("--format", help="Default: a table, or by --out's name.  csv and json have all rows."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the rows there.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Print all rows of a table, not the first 40.")] = False,
    views: Annotated[bool, typer.Option("--views", help="Print the views and their columns; no query is run.")] = False,
    master: Master = None,
    conf: Conf = None,
    env: Env = PRESENT,
    event_log: EventLog = None,
) -> None:
    """Answer QUERY from the views of campaigns: all that was measured, as tables.

    Views: trials, cells, published, delivered, flows, seconds, journeys, percentiles, links, clients, resources,
    events, packets.
    """
