"""`lab conform`: does a stack keep what it declares?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import Kernel, LowDisk, Medium, Results
from lab.verbs.dispatch import done_by


@done_by("lab.conform")
def conform(
    stack: Annotated[str, typer.Argument(help="Name of a stack, one of another package included; see `lab stacks`.")],
    knob: Annotated[
        list[str] | None, typer.Option("--knob", metavar="KNOB=VALUE", help="What is set of the stack.")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", metavar="FAULT", help="A fault of `reference`, such as drop=10.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="PROMISE", help="Only this promise, such as 'at least once'.")
    ] = None,
    short: Annotated[bool, typer.Option("--short", help="Short trials: a 1 s outage instead of one of 5 s.")] = False,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON.")] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write it as JUnit's XML.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    low_disk: LowDisk = False,
) -> None:
    """Try everything that STACK declares over an impaired link with an outage, and say what it keeps.

    Exit status: 0 it keeps all; 1 a trial failed, or a promise could not be tried; 2 the command is wrong; 3 a promise
    is broken.  What a killed server has kept takes root to try; --only names promises that do not.
    """
