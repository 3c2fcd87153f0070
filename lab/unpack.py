"""`lab unpack`: a packed campaign back into a results folder."""

from __future__ import annotations

from pathlib import Path

from experiments.campaign import campaign as campaigns
from experiments.campaign.unpack import unpack as put_back
from lab.common import Status, fail, out, shown, told
from lab.start import tidy
from records.campaign import read_campaign
from records.packed import in_all


def unpack(*, file: Path, results: Path) -> None:
    """Put the campaign back and say what is left to run and to read."""
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
