"""How verbs begin: clear up, and find the campaign that is meant."""

from __future__ import annotations

import os
from pathlib import Path

from emulation.kernel import congestion
from experiments.campaign import campaign as campaigns
from experiments.campaign.campaign import CampaignError, NoSuchCampaignError
from lab.common import Status, fail, shown
from records.filenames import RECORD
from records.location import is_text
from records.publishing import must_be_whole


def tidy(results: Path) -> None:
    """What every command does first: clear up after commands that were killed."""
    if not is_text(str(results.absolute())):
        fail(f"{shown(results)}: its name is no UTF-8, which records need: choose another (--results)", Status.USAGE)
    if os.geteuid() == 0:
        congestion.sweep()
    if results.is_dir():
        campaigns.sweep(results)


def find(results: Path, name: str | None) -> Path:
    """The latest campaign, or the latest one called `name` (its path, its folder's name or its scenario's).

    Raises NoSuchCampaignError when there is none of that name, CampaignError when there is none at all, NotPublished
    when it has been copied in part.
    """
    found = _find(results, name)
    must_be_whole(found)
    if not (found / RECORD).is_file():
        below = sorted(path.parent for path in found.glob(f"*/{RECORD}") if not path.parent.is_symlink())
        instead = f"; the latest one in it is {shown(below[-1])}" if below else ""
        raise NoSuchCampaignError(f"{shown(found)}: no campaign (there is no {RECORD} in it){instead}")
    return found


def _find(results: Path, name: str | None) -> Path:
    if name is None:
        known = campaigns.folders(results)
        if not known:
            raise CampaignError(f"{results}: no campaign here yet; `lab run SCENARIO` makes one")
        return known[-1]
    path, found = Path(name), campaigns.called(results, name)
    if name and path.is_dir() and ((path / RECORD).is_file() or not found):
        return path.resolve()
    if not found:
        raise NoSuchCampaignError(f"{results}: no campaign {name!r}; `lab list` shows those there are")
    return found[-1]
