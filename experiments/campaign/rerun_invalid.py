"""Running invalid trials of a campaign again because somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from experiments.campaign.stopping import precision
from records.campaign import Campaign, Planned
from records.stopping import End
from records.store import DamagedTrial, Trial, set_aside, trial_name
from records.verdict import State


def invalid(folder: Path, campaign: Campaign) -> tuple[Planned, ...]:
    """Planned trials that are finished and invalid, whatever the reason, in order.

    Without those beyond the least number of a cell that is precise enough: nobody would run them.
    """
    found = [one for one in campaign.order if _state(_trial(folder, one)) is State.INVALID]
    rule = campaign.stopping
    if rule is None:
        return tuple(found)
    precise = {cell for cell in {one.cell for one in found} if precision(folder / cell, rule).end is End.PRECISE}
    return tuple(one for one in found if one.trial <= rule.least or one.cell not in precise)


def set_all_aside(folder: Path, planned: Iterable[Planned]) -> None:
    """Keep these finished trials beside their places, with why, so that they are missing in the campaign.

    The caller holds the campaign's lock.  Their next run has the same seed, and a note of this in its manifest.
    """
    for one in planned:
        trial = _trial(folder, one)
        reasons = "; ".join(trial.verdict().reasons())
        set_aside(trial, f"it was invalid ({reasons}), and lab resume --retry invalid ran it again")


def _trial(folder: Path, planned: Planned) -> Trial:
    return Trial(folder / planned.cell / trial_name(planned.trial))


def _state(trial: Trial) -> State | None:
    if not trial.path.is_dir():
        return None
    with suppress(DamagedTrial):
        return trial.verdict().state
    return None
