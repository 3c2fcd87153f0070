"""The report of a campaign at a URI, written to a folder of this machine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from analysis.extent import Extent
from analysis.findings import Findings
from analysis.reductions.published import Copy, copy_records, reducing_published
from analysis.reductions.reduce import silent
from analysis.report.build import REPORT, command, found, placed, write, written
from analysis.spark.target import Say, Where
from records.campaign import Campaign
from records.comparing import problems
from records.errors import WrongInput
from records.location import Remote
from records.publishing import read_published
from records.scratch import scratch


def build_published(
    campaign: Remote, out: Path, *, master: Where = None, by: str | None = None, extent: Extent = Extent.ALL,
    say: Say = silent,
) -> Path:  # fmt: skip
    """Write what analysis.report.build.build does into `out`; returns the path of report.html.

    Reductions are kept at the URI, where it may be written; nothing else there is touched.  Raises NotPublished when
    there is no whole campaign, Unreachable, WrongInput when the factor cannot be compared, and what build raises.
    """
    with scratch("report") as place:
        copy = copy_records(campaign, read_published(campaign), place)
        findings = found_published(copy, master=master, say=say)
        findings = findings if by is None else replace(findings, campaign=_by(findings.campaign, by))
        write(findings, extent=extent, again=command(str(campaign), by=by, out=out), last=out)
        out.mkdir(parents=True, exist_ok=True)
        with placed(out, extent) as stage:
            for name in written(extent):
                shutil.move(copy.folder / name, stage / name)
    return out / REPORT


def found_published(copy: Copy, *, master: Where = None, say: Say = silent) -> Findings:
    """What came of a published campaign, of whose records `copy` is a copy; raises as analysis.report.build.found."""
    with reducing_published(copy, master=master, say=say) as reduce:
        findings = found(copy.folder, reduce.brief)
    return replace(findings, at=copy.campaign)


def _by(campaign: Campaign, factor: str) -> Campaign:
    for _, problem in problems(campaign.factors, factor=factor):
        raise WrongInput(problem)
    return campaign.by(factor)
