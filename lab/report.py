"""`lab report`: build a report again, from what stands under results/."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from analysis.extent import Extent, extent_of
from lab.closing import built, reporting
from lab.cluster import chosen
from lab.common import Status, fail, note, told
from lab.start import find, tidy
from records.campaign import read_campaign
from records.comparing import problems
from records.location import Remote, locate

if TYPE_CHECKING:
    from analysis.spark.target import Target


def report(
    *, campaign: str | None, results: Path, by: str | None, pages: str, master: str | None,
    conf: list[str] | None, env: str, event_log: str | None, folder: Path | None,
) -> None:  # fmt: skip
    """Build the report and say what is in it."""
    with told():
        extent = extent_of(pages)
        target = chosen(master=master, conf=conf, env=env, event_log=event_log)
        place = locate(campaign or "")
        if isinstance(place, Remote):
            folder = folder or Path(f"{place.name}-report")
            raise typer.Exit(_at_uri(place, folder, by=by, extent=extent, master=target))
        if folder is not None:
            fail("--out: is for a campaign at a URI; the report of one here is written into its folder", Status.USAGE)
        tidy(results)
        found = find(results, campaign and str(place))
        if by is not None:
            _check(found, by)
        closing = reporting(master=target, by=by, extent=extent)
        # How long it takes elsewhere, or without its pages, is no news for the next report built here.
        other = target is not None or extent is not Extent.ALL
        raise typer.Exit(closing.build(found) if other else closing.run(found))


def _at_uri(campaign: Remote, folder: Path, *, by: str | None, extent: Extent, master: Target | None) -> Status:
    from analysis.report.published import build_published  # noqa: PLC0415 - it imports slowly

    def work() -> Path:
        return build_published(campaign, folder, master=master, by=by, extent=extent, say=note)

    return built(folder, work)


def _check(campaign: Path, by: str) -> None:
    """End with what is allowed where the campaign has no such factor, or one with nothing to compare."""
    for _, problem in problems(read_campaign(campaign).factors, factor=by):
        fail(f"--by: {problem}", Status.USAGE)
