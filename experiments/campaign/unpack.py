"""Putting a packed campaign below a results folder: whole, or not at all."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from experiments.campaign import foreign
from experiments.campaign.campaign import CampaignError, lengthen, owned
from records.campaign import Campaign, point_latest, read_campaign
from records.filenames import MANIFEST
from records.pack import extract
from records.packed import Elsewhere
from records.scratch import scratch
from records.store import DamagedTrial, Trial, aside_of, sync, sync_tree, trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """folder: of the campaign.  added, kept: trials that came out of the pack, and that were there before.

    elsewhere: what the pack left out of the trials that were added.
    """

    folder: Path
    added: int
    kept: int
    elsewhere: tuple[Elsewhere, ...]


def unpack(pack: Path, root: Path) -> Unpacked:
    """Put the campaign of `pack` below `root`; where it is there already, the trials that it lacks are added.

    Nothing is written to a campaign's folder before all of the pack is on disk beside it and checked.  Raises BadPack,
    and CampaignError when another campaign has the place, when the two have different results for a trial, or when
    another command is running the campaign.
    """
    root.mkdir(parents=True, exist_ok=True)
    with scratch("unpack", root) as folder:
        staged = folder / "new" / "campaign"  # so deep that nobody takes it for a campaign
        staged.mkdir(parents=True)
        index, campaign = extract(pack, staged)
        sync_tree(staged)
        place = root / index.scenario / index.campaign
        place.parent.mkdir(exist_ok=True)
        if not os.path.lexists(place):
            foreign.mark(staged, campaign)
            return _install(staged, place)
        if place.is_symlink() or not place.is_dir():
            raise CampaignError(f"{place}: something other than a campaign's folder has this place")
        with owned(place):
            return _merge(staged, place, campaign)


def _install(staged: Path, place: Path) -> Unpacked:
    found = trials(staged)
    elsewhere = _elsewhere(found)
    try:
        staged.rename(place)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        raise CampaignError(f"{place}: another command has made it meanwhile; unpack again") from error
    sync(place.parent)
    latest = place.parent / "latest"
    if not latest.exists() or latest.resolve().name < place.name:
        point_latest(place)
    return Unpacked(folder=place, added=len(found), kept=0, elsewhere=elsewhere)


def _merge(staged: Path, place: Path, campaign: Campaign) -> Unpacked:
    try:
        there = read_campaign(place)
    except DamagedTrial as error:
        raise CampaignError(f"{error}; mend it, or unpack below another folder with --results") from error
    if not _grew(there, campaign):
        raise CampaignError(
            f"{place}: another campaign has this place (made {there.created}, digest {there.digest[:8]}; the pack's: "
            f"{campaign.created}, {campaign.digest[:8]}); unpack below another folder with --results"
        )
    finished, set_aside = trials(staged), aside_of(staged)
    lacking = [path for path in (*set_aside, *(trial.path for trial in finished)) if not _is_there(path, staged, place)]
    if more := campaign.order[len(there.order) :]:
        lengthen(place, more)
    added = [trial for trial in finished if trial.path in lacking]
    elsewhere = _elsewhere(added)
    for path in lacking:
        target = place / path.relative_to(staged)
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
        sync(target.parent)
    return Unpacked(folder=place, added=len(added), kept=len(finished) - len(added), elsewhere=elsewhere)


def _grew(one: Campaign, other: Campaign) -> bool:
    """Whether they are one campaign, that may have been given more trials on either side."""
    common = min(len(one.order), len(other.order))
    alike = one.model_copy(update={"order": ()}) == other.model_copy(update={"order": ()})
    return alike and one.order[:common] == other.order[:common]


def _is_there(path: Path, staged: Path, place: Path) -> bool:
    """Whether a staged trial is there already; CampaignError when another one has its place."""
    target = place / path.relative_to(staged)
    if not os.path.lexists(target):
        return False
    if (target / MANIFEST).read_bytes() != (path / MANIFEST).read_bytes():
        raise CampaignError(
            f"{target}: this trial and the pack's are two different runs; nothing was unpacked. Remove the folder "
            "here, or unpack below another folder with --results"
        )
    return True


def _elsewhere(found: list[Trial]) -> tuple[Elsewhere, ...]:
    return tuple(one for trial in found for one in trial.elsewhere())
