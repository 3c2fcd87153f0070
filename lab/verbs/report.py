"""`lab report`: build a report again, from what stands under results/."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import ALL_PAGES, PRESENT, Conf, Env, EventLog, Master, Pages, Results
from lab.verbs.dispatch import done_by


@done_by("lab.report")
def report(
    campaign: Annotated[
        str | None, typer.Argument(help="Folder, name or URI of a campaign; default: the latest.")
    ] = None,
    results: Results = DEFAULT_RESULTS,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FACTOR", help="Compare this factor's levels, the first with the rest."),
    ] = None,
    pages: Pages = ALL_PAGES,
    master: Master = None,
    conf: Conf = None,
    env: Env = PRESENT,
    event_log: EventLog = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Of a campaign at a URI: folder for the report; default: named after it, here."),
    ] = None,
) -> None:
    """Build CAMPAIGN's report from its trial folders alone; the machine need not be the one that ran it.

    CAMPAIGN may be a URI that `lab publish` has written.
    """
