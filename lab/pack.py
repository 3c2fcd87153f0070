"""`lab pack`: a campaign as one small file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments import revision
from experiments.campaign import CampaignError, owned
from lab.common import DEFAULT_RESULTS, Results, find, out, shown, tidy, told
from results.campaign import RECORD, read_campaign
from results.pack import SUFFIX, write_pack
from results.packed import in_all, size
from results.scratch import scratch
from results.store import trials

if TYPE_CHECKING:
    import pyarrow as pa


def pack(
    campaign: Annotated[str | None, typer.Argument(help="Folder or name of a campaign; default: the latest.")] = None,
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File or folder to write to; default: this folder.")
    ] = None,
    ledgers: Annotated[bool, typer.Option("--ledgers", help="Take the ledgers along: every message.")] = False,
    results: Results = DEFAULT_RESULTS,
) -> None:
    """Write CAMPAIGN as one small file: records, reduced tables and latency histograms of every trial, no captures.

    `lab unpack` puts it back, here or on another machine, where reports, comparisons and `lab resume` go on from it.
    """
    with told():
        tidy(results)
        folder = find(results, campaign)
        if not (folder / RECORD).is_file():
            raise CampaignError(f"{folder}: no campaign (there is no {RECORD} in it)")
        record = read_campaign(folder)
        target = _target(to or Path(), f"{record.scenario}-{folder.name}{SUFFIX}")
        with owned(folder):
            _write(folder, record.scenario, target, ledgers=ledgers)


def _target(to: Path, name: str) -> Path:
    return to / name if to.is_dir() else to


def _write(folder: Path, scenario: str, target: Path, *, ledgers: bool) -> None:
    from analysis.pack import packing  # noqa: PLC0415 - it imports slowly

    if not trials(folder):
        raise CampaignError(f"{folder}: no trial is finished; `lab resume {shown(folder)}` runs what is left")
    with scratch("pack", target.parent) as place:
        found = packing(folder, reduce=_reduced, revision=revision.git(), ledgers=ledgers)
        write_pack(place / "pack", scenario=scenario, campaign=folder.name, members=found.members)
        (place / "pack").replace(target)
    out.print(f"{found.trials} trials of {shown(folder)}", markup=False)
    out.print(f"not in the pack: {in_all(found.elsewhere)}")
    out.print(f"pack: {shown(target)}, {size(target.stat().st_size)}", markup=False)


def _reduced(paths: Sequence[Path]) -> pa.Table:
    """The trials' rows; CampaignError when Spark does not run.  It is not started for nothing."""
    from analysis.rows import SCHEMA  # noqa: PLC0415 - Spark imports slowly
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415
    from analysis.spark.jobs import reduce_trials  # noqa: PLC0415
    from analysis.spark.session import session  # noqa: PLC0415

    if not paths:
        return SCHEMA.empty_table()
    try:
        with session() as spark:
            return reduce_trials(spark, paths)
    except SparkFailed as error:
        raise CampaignError(f"nothing was packed: {error}") from error
