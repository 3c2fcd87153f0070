"""`lab analyse`: flow tables and plots of captures that Airwire did not make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.options import PRESENT, Conf, Env, EventLog, Master
from lab.verbs.dispatch import done_by


@done_by("lab.analyse")
def analyse(
    captures: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="pcap or pcapng files, or URIs of such.", show_default=False)
    ],
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for page, tables and plots; default: named after the first file, here."),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    env: Env = PRESENT,
    event_log: EventLog = None,
) -> None:
    """Show the TCP flows of captures, and write a page with plots, flows.csv and seconds.csv.

    Exit status: 0 all was read; 1 a file could not be read or has no TCP; 3 a file is damaged, or not analysed as a
    whole.
    """
