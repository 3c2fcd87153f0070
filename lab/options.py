"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[
    Path,
    typer.Option(
        "--results",
        envvar="AIRWIRE_RESULTS",
        help="Folder that campaigns are written to and read from.",
        file_okay=False,
    ),
]

Kernel = Annotated[
    str,
    typer.Option(
        "--kernel",
        envvar="AIRWIRE_RUN_ON",
        help="host: this machine's own kernel; lab: the embedded one; auto: the own if it can do what the link needs.",
    ),
]

Medium = Annotated[
    str,
    typer.Option(
        "--medium",
        envvar="AIRWIRE_MEDIUM",
        help="What makes links. tc: htb, netem and nftables; line: ours in user space, on this machine's own kernel; "
        "auto: what suits kernel and profile.",
    ),
]

Mix = Annotated[
    bool,
    typer.Option(
        "--mix",
        help="Run what is left although code, kernel, link emulation, servers or processor are not those of the "
        "campaign's finished trials.",
    ),
]
LowDisk = Annotated[bool, typer.Option("--low-disk", help="Begin although the disk may be too small.")]

For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="DURATION",
        help="Begin no trial that would not end in this time, the report's included (90s, 40m, 1h30m); status 4 and "
        "the words that go on when trials are left.",
    ),
]

Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="Spark master (local[N], spark://HOST:PORT, sc://HOST:PORT for Spark Connect); default: this process, or "
        "Spark on this machine for what is large.",
    ),
]

Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's, before spark-defaults.conf; repeatable."),
]

PRESENT = "present"
Env = Annotated[
    str,
    typer.Option(
        "--env",
        metavar="present|ship",
        help="numpy, pyarrow and what else a cluster's workers need: present there, or shipped with the job.",
    ),
]

EventLog = Annotated[
    str | None,
    typer.Option("--event-log", metavar="FOLDER", help="Write Spark's event log there, for its history server."),
]

ALL_PAGES = "all"
Pages = Annotated[
    str,
    typer.Option(
        "--pages",
        metavar="all|cells|none",
        help="Of the report: a page for each trial too; report.html alone, with a section for each cell; or without.",
    ),
]
