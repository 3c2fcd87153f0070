"""`lab report`: build a report again, from what stands under results/."""

from __future__ import annotations

from pathlib import Path

import typer

from lab.closing import reporting
from lab.cluster import chosen
from lab.common import Status, fail, told
from lab.start import find, tidy
from records.campaign import read_campaign
from records.comparing import problems


def report(
    *, campaign: str | None, results: Path, by: str | None, master: str | None, conf: list[str] | None, env: str,
    event_log: str | None,
) -> None:  # fmt: skip
    """Build the report and say what is in it."""
    with told():
        target = chosen(master=master, conf=conf, env=env, event_log=event_log)
        tidy(results)
        folder = find(results, campaign)
        if by is not None:
            _check(folder, by)
        closing = reporting(master=target, by=by)
        # How long it takes elsewhere is no news for the next report built here.
        raise typer.Exit(closing.build(folder) if target else closing.run(folder))


def _check(campaign: Path, by: str) -> None:
    """End with what is allowed where the campaign has no such factor, or one with nothing to compare."""
    for _, problem in problems(read_campaign(campaign).factors, factor=by):
        fail(f"--by: {problem}", Status.USAGE)
