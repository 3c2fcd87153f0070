"""`lab compare`: is one campaign no worse than another?  Made for a gate: the exit status is the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import PRESENT, Conf, Env, EventLog, Master, Results
from lab.verbs.dispatch import done_by


@done_by("lab.compare")
def compare(
    a: Annotated[
        str, typer.Argument(help="The one to be measured by: a campaign's folder, name or URI, or a git revision.")
    ],
    b: Annotated[str, typer.Argument(help="The one to judge, likewise.")],
    results: Results = DEFAULT_RESULTS,
    metric: Annotated[list[str] | None, typer.Option(help="Metrics to compare; default: the chief ones.")] = None,
    margin: Annotated[str, typer.Option(help="How much worse is tolerated, of A's mean.")] = "5%",
    share_margin: Annotated[str, typer.Option(help="The same for metrics that are shares (loss), in points.")] = "0.5%",
    across: Annotated[
        list[str] | None, typer.Option(metavar="SETTING", help="A setting that may differ, e.g. stack.")
    ] = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="For page, plot and table; default: in B's folder.", file_okay=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
    master: Master = None,
    conf: Conf = None,
    env: Env = PRESENT,
    event_log: EventLog = None,
) -> None:
    """Compare campaign B with campaign A: cells of equal levels, trials of equal seed.

    A git revision, tag or prefix stands for the latest finished campaign that was run at it.

    Exit status: 0 no worse; 1 worse, beyond noise and margin; 2 the command is wrong or nothing can be compared; 3 it
    cannot be told: too few or too noisy trials, or something failed on the way.
    """
