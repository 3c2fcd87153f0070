"""`lab unpack`: a packed campaign back into a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import campaign as campaigns
from experiments.unpack import unpack as put_back
from lab.common import DEFAULT_RESULTS, Results, Status, fail, out, shown, tidy, told
from results.campaign import read_campaign
from results.packed import in_all


def unpack(
    file: Annotated[Path, typer.Argument(help="What `lab pack` wrote.")],
    results: Results = DEFAULT_RESULTS,
) -> None:
    """Put the campaign in FILE below --results; if it is there, add the trials that it lacks.

    A trial that is there stays.  When it and the pack's are two different runs, nothing is changed.
    """
    with told():
        if not file.is_file():
            fail(f"{file}: there is no such file", Status.USAGE)
        tidy(results)
        found = put_back(file, results)
        there = f", {found.kept} were there" if found.kept else ""
        out.print(f"campaign {shown(found.folder)}: {found.added} trials added{there}", markup=False)
        if found.elsewhere:
            out.print(f"not in the pack, and so only where it was packed: {in_all(found.elsewhere)}")
        left = len(campaigns.missing(found.folder, read_campaign(found.folder)))
        if left:
            out.print(f"at most {left} trials are left to run: lab resume {shown(found.folder)}", markup=False)
        out.print(f"report: lab report {shown(found.folder)}", markup=False)
