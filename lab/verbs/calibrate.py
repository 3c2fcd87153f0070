"""`lab calibrate`: what link profiles deliver of what they ask, on each kernel and medium of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS, ROOT
from lab.options import For, LowDisk, Mix, Results
from lab.verbs.dispatch import done_by

DEFAULT_OUT = ROOT / "build" / "calibration"


@done_by("lab.calibrate")
def calibrate(
    profiles: Annotated[
        list[str] | None, typer.Argument(help="Link profiles, by name or file; default: the whole library.")
    ] = None,
    kernel: Annotated[str, typer.Option("--kernel", help="host, lab, both, or auto (the first that can).")] = "both",
    medium: Annotated[
        str, typer.Option("--medium", help="On this machine's own kernel: tc, line, both, or auto (as trials have it).")
    ] = "both",
    out_folder: Annotated[
        Path, typer.Option("--out", help="Where the table and the plot go.", file_okay=False)
    ] = DEFAULT_OUT,
    seed: Annotated[int, typer.Option(min=0, help="Of the losses.")] = 1,
    agreement: Annotated[
        bool,
        typer.Option("--agreement", help="Compare what a load measures by each medium, instead; by default over six."),
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="With --agreement: line, lab (tc in the lab kernel), host (tc). Default: all."),
    ] = None,
    results: Results = DEFAULT_RESULTS,
    new: Annotated[bool, typer.Option("--new", help="With --agreement: start afresh.")] = False,
    mix: Mix = False,
    low_disk: LowDisk = False,
    duration: For = None,
) -> None:
    """Measure asked against delivered for each PROFILE, both ways, and write a table (CSV, Markdown) and a plot.

    With --agreement, run a load over each PROFILE by each medium, on the same seeds, until throughput and latency are
    equal within 3 %, are not, or the most trials have been run; finished trials are never run again.

    Exit status: 0 all hold; 1 something failed; 2 the command is wrong; 3 some are outside what is tolerated, not
    equal or not decided; 4 the time of --for is up.
    """
