"""What is looked at before a campaign's trials run, and what is asked or refused: worlds that would mix, disk."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from emulation import labkernel
from emulation.profile import media
from experiments.campaign import diskneeds, prepare
from experiments.campaign.campaign import CampaignError
from experiments.campaign.diskneeds import Part
from experiments.campaign.world import Now, differences
from experiments.load.pattern import why_not
from experiments.scenario.scenario import Scenario
from experiments.scenario.settings import Settings
from experiments.trial import provenance
from experiments.trial.checks.sharedmachine import shared_machine
from experiments.workers.kernels import NOT_IN_THE_LAB, WANTED, Kernels
from experiments.workers.place import Place
from lab.common import Status, err, fail, is_terminal, shown
from lab.within import Command
from records.campaign import Campaign, Planned
from records.packed import size
from records.store import trials
from records.workload import Command as Programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """What the user has allowed.  room: that the disk may fill.  looked: whether its room was looked at already."""

    mix: bool = False
    room: bool = False
    looked: bool = False

    def of(self, command: Command) -> Command:
        """The command that goes on, with what it needs to be allowed."""
        allowed = (("--mix", self.mix), ("--low-disk", self.room))
        return replace(command, words=(*command.words, *(option for option, given in allowed if given)))


def kernels(wanted: str, medium: str = "auto") -> Kernels:
    """The kernels and media to choose from, by the user's words.

    Raises NeitherYesNorNo: what the environment says has to be readable before anything is made or set aside.
    """
    shared_machine()
    if wanted not in WANTED:
        fail(f"--kernel: {wanted!r} is not one of {', '.join(WANTED)}", Status.USAGE)
    if medium not in media.WANTED:
        fail(f"--medium: {medium!r} is not one of {', '.join(media.WANTED)}", Status.USAGE)
    if (wanted, medium) == ("lab", "line"):
        fail(f"--kernel lab --medium line: {NOT_IN_THE_LAB}; leave one of them out", Status.USAGE)
    return Kernels(wanted=wanted, medium=medium)


def look(
    folder: Path, campaign: Campaign, todo: Sequence[Planned], kernels: Kernels, *, care: Care, again: Command
) -> tuple[str, ...]:
    """What the manifests of the trials to come should say of their world beside that of the finished ones.

    again: the command that goes on.  CampaignError when the user has not allowed what should not be done unasked, and
    does not when asked, or another version wrote the campaign.  Raises NotPossible like prepare.choose.
    """
    if not todo:
        return ()
    chosen = prepare.choose(campaign, folder, kernels)
    if why := without_module(map(prepare.settings_of, campaign.cells)):
        raise CampaignError(f"{shown(folder)}: {why}")
    notes = _look_at_worlds(folder, campaign, todo, chosen, care=care, again=again)
    if not (care.room or care.looked):
        _look_at_disk(folder, _least(campaign, todo, _parts(folder, campaign, todo)))
    return notes


def without_module(cells: Iterable[Settings]) -> str:
    """Why no load can follow the pattern of one of these cells, '' when it can be done in all."""
    patterns = dict.fromkeys(one.workload.pattern for one in cells if not isinstance(one.workload, Programs))
    return next(filter(None, map(why_not, patterns)), "")


def look_at_room(scenario: Scenario, results: Path) -> None:
    """CampaignError when a campaign of this scenario may not fit below `results`, and the user does not insist."""
    rule = scenario.settings.trials.rule
    rounds = rule.least if rule else scenario.settings.trials.cap
    parts = [
        Part(
            settings=cell.settings,
            trial=trial,
            size=diskneeds.expected(cell.settings, cell.profile, cell.links),
            beside=_beside(cell.settings, cell.levels),
        )
        for cell in scenario.cells
        for trial in range(1, rounds + 1)
    ]
    _look_at_disk(results, parts)


def _look_at_worlds(
    folder: Path,
    campaign: Campaign,
    todo: Sequence[Planned],
    chosen: dict[str, Place],
    *,
    care: Care,
    again: Command,
) -> tuple[str, ...]:
    finished = trials(folder)
    if not finished:
        return ()
    now = Now(origin=provenance.gather(), places=chosen, lab_release=labkernel.release())
    found = differences(campaign, finished, {one.cell for one in todo}, now)
    if not found:
        return ()
    listed = "\n".join(f"  {one.text}" for one in found)
    said = f"{shown(folder)}: what is left would not run as what is there did:\n{listed}"
    if not care.mix and not _allowed(said, "Mix them in one campaign?"):
        allowing = replace(care, mix=True).of(again).text()
        raise CampaignError(
            f"{said}\nIts cells would mix the two. Start afresh (lab run SCENARIO --new), or allow it: {allowing}"
        )
    return (f"run with --mix, beside trials of another world ({'; '.join(one.text for one in found)})",)


def _parts(folder: Path, campaign: Campaign, todo: Iterable[Planned]) -> list[tuple[Planned, Part]]:
    cells = {cell.name: cell for cell in campaign.cells}
    finished = trials(folder)
    sizes = {}
    for name in {one.cell for one in todo}:
        settings, profile = prepare.settings_of(cells[name]), prepare.profile_of(cells[name])
        mine = [trial for trial in finished if trial.path.parent.name == name]
        sizes[name] = diskneeds.seen(mine) or diskneeds.expected(settings, profile, prepare.links_of(cells[name]))
    found = []
    for one in todo:
        settings = prepare.settings_of(cells[one.cell])
        beside = _beside(settings, cells[one.cell].levels)
        found.append((one, Part(settings=settings, trial=one.trial, size=sizes[one.cell], beside=beside)))
    return found


def _beside(settings: Settings, levels: dict[str, str]) -> int:
    return settings.parallel.trials if not settings.parallel.when or settings.parallel.names(levels) else 1


def _least(campaign: Campaign, todo: Sequence[Planned], parts: Sequence[tuple[Planned, Part]]) -> list[Part]:
    """Those that will run whatever the stopping rule says; one of each cell when it may end any time."""
    rule = campaign.stopping
    certain = [part for one, part in parts if rule is None or one.trial <= rule.least]
    return certain or [next(part for one, part in parts if one.cell == cell) for cell in {one.cell for one in todo}]


def _look_at_disk(place: Path, parts: Sequence[Part]) -> None:
    need, free = diskneeds.needed(parts), diskneeds.free_bytes(place)
    if free is None or need.bytes <= free:
        return
    said = (
        f"{shown(place)}: {need.trials} trial{'s' * (need.trials != 1)} may need {size(round(need.bytes))} there, "
        f"{size(round(need.captures))} of it for captures that stay, and {size(free)} are free"
    )
    if _allowed(said, "Begin all the same?"):
        return
    raise CampaignError(
        f"{said}: free some, choose another place (--results), keep less (in the scenario capture: off, "
        "{keep_every: 5} or {keep_mb: 20}), or begin all the same with --low-disk"
    )


def _allowed(said: str, question: str) -> bool:
    """The user's answer; no where nobody can be asked."""
    if not (sys.stdin.isatty() and is_terminal()):
        return False
    err.print(said, style="yellow")
    return typer.confirm(question, default=False, err=True)
