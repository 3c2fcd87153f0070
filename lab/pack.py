"""`lab pack`: a campaign as one small file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.campaign.campaign import CampaignError, owned
from experiments.trial import revision
from lab.common import command, note, out, shown, told
from lab.files import filling
from lab.start import find, tidy
from records.campaign import read_campaign
from records.counts import several
from records.location import Place, locate
from records.pack import SUFFIX, write_pack
from records.packed import in_all, size
from records.store import trials

if TYPE_CHECKING:
    from analysis.details import Reduced


def pack(*, campaign: str | None, to: str, ledgers: bool, results: Path) -> None:
    """Write the pack and say what is not in it."""
    with told():
        tidy(results)
        folder = find(results, campaign)
        record = read_campaign(folder)
        with owned(folder):
            _write(folder, record.scenario, to, ledgers=ledgers)


def _target(to: str, name: str) -> Place:
    """What ends with `/` is a folder, made where there is none: at a store one is there when something is in it."""
    place = locate(to)
    in_it = to.partition("?")[0].endswith("/")
    if isinstance(place, Path):
        if to.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        in_it = place.is_dir()
    return place / name if in_it else place


def _write(folder: Path, scenario: str, to: str, *, ledgers: bool) -> None:
    from analysis.pack import packing  # noqa: PLC0415 - it imports slowly

    if not trials(folder):
        raise CampaignError(f"{folder}: no trial is finished; `{command('resume', folder)}` runs what is left")
    target = _target(to, f"{scenario}-{folder.name}{SUFFIX}")
    with filling(target) as made:
        found = packing(folder, made.parent, reduce=_reduced, revision=revision.git(), ledgers=ledgers)
        write_pack(made, scenario=scenario, campaign=folder.name, members=found.members)
        packed = made.stat().st_size
    out.print(f"{several(found.trials)} of {shown(folder)}")
    out.print(f"not in the pack: {in_all(found.elsewhere)}")
    out.print(f"pack: {shown(target)}, {size(packed)}")


def _reduced(paths: Sequence[Path]) -> Reduced:
    """The trials' rows, those that are kept as a report takes them; CampaignError when Spark does not run."""
    from analysis.details import Reduced  # noqa: PLC0415 - Spark imports slowly
    from analysis.reductions.reduce import reducing  # noqa: PLC0415
    from analysis.rows import SCHEMA  # noqa: PLC0415
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415

    if not paths:
        return Reduced(rows=SCHEMA.empty_table())
    try:
        with reducing(say=note) as reduce:
            return reduce.brief(paths)
    except SparkFailed as error:
        raise CampaignError(f"nothing was packed: {error}") from error
