"""Running a campaign under somebody's eyes, and ending in a report."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.campaign import campaign as campaigns
from experiments.campaign import cut_timeline, foreign, rerun_invalid, runner
from experiments.campaign.launch import Outcome
from experiments.campaign.piece import Budget, Piece
from experiments.campaign.runner import GaveUp
from experiments.campaign.stopping import precisions
from experiments.trial.observers.diskspace import naming
from experiments.workers.kernels import Kernels
from lab.beforehand import Care, look
from lab.closing import Closing
from lab.common import Status, err, gravest, out
from lab.progress import minutes, watching
from lab.within import Command, why
from records.campaign import Campaign, Planned, read_campaign
from records.stopping import End
from records.store import DamagedTrial, trial_name, trials
from records.verdict import State


def execute(
    folder: Path,
    kernels: Kernels,
    *,
    again: Command,
    closing: Closing | None,
    budget: Budget | None = None,
    care: Care | None = None,
    retry: bool = False,
) -> Status:
    """Run what is missing, as far as the budget goes, build what follows, return the exit status.

    again: the command that goes on with what is left.  care: what the user has allowed.  retry: whether invalid trials
    are run again, too.  CampaignError when something has to be allowed and was not.
    """
    campaign, care = read_campaign(folder), care or Care()
    foreign.check(folder, campaign)
    retried = rerun_invalid.invalid(folder, campaign) if retry else ()
    todo = [*campaigns.missing(folder, campaign), *retried]
    again = care.of(again)
    asked = replace(again, words=(*again.words, "--retry", "invalid")) if retry else again
    notes = look(folder, campaign, todo, kernels, care=care, again=asked)
    if retry:
        with campaigns.owned(folder):  # another command may have run some again since they were looked at
            retried = tuple(one for one in rerun_invalid.invalid(folder, campaign) if one in retried)
            rerun_invalid.set_all_aside(folder, retried)
        out.print(f"{len(retried)} invalid trial{'s' * (len(retried) != 1)} set aside, to be run again")
        todo = campaigns.missing(folder, campaign)
    before = precisions(folder, campaign)
    out.print(plan_line(campaign, todo))
    for line in cut_timeline.told(campaign) if todo else ():
        err.print(line, style="yellow")
    piece = None if budget is None else Piece(budget=budget, closing_s=partial(_takes_s, closing, folder))
    outcomes: list[Outcome] = []
    gave_up = None
    try:
        with watching(campaign, todo, before, budget) as watcher, naming(folder):
            outcomes = runner.run(folder, watcher, kernels, piece, notes=notes)
    except KeyboardInterrupt:
        err.print(f"\ninterrupted; nothing is left running. Go on with: {again.text()}", style="yellow")
        return Status.INTERRUPTED
    except GaveUp as error:
        gave_up, outcomes = error, error.outcomes
    failed = sum(outcome.state == "failed" for outcome in outcomes)
    doubts = doubtful(folder)
    status = Status.FAILED if failed or gave_up else Status.NOT_ALL_VALID if doubts else Status.ALL_VALID
    just_told = {Path(one.planned.cell) / trial_name(one.planned.trial) for one in outcomes}
    for cell, found in before.items():
        if found.end is not End.GOING_ON:
            out.print(f"{cell}: {found.text}")
    for name in sorted(doubts.keys() - just_told):
        out.print(f"{name}, run earlier: {doubts[name]}", soft_wrap=True)
    if closing is not None and trials(folder):
        status = gravest(status, _closed(folder, closing, piece))
    time_is_up = piece is not None and piece.shortage is not None
    if piece is not None and time_is_up:
        piece.reckon()
        status = gravest(status, Status.TIME_IS_UP)
        err.print(why(piece, left=len(campaigns.missing(folder, campaign))), style="yellow")
    if gave_up is not None:
        err.print(f"{gave_up}\nonce that is cured, go on with: {again.text(piece)}", style="red")
    elif failed:
        err.print(f"{failed} trial{'s' * (failed != 1)} failed, for the reason above, to be run again\n"
                  f"go on with: {again.text(piece)}", style="red")  # fmt: skip
    elif time_is_up:
        err.print(f"go on with: {again.text(piece)}", style="yellow")
    return status


def _takes_s(closing: Closing | None, folder: Path, more: int) -> float:
    return 0.0 if closing is None else closing.takes_s(folder, more)


def _closed(folder: Path, closing: Closing, piece: Piece | None) -> Status:
    """Build what follows the trials, if that ends in time and something was run, or nothing was left to run."""
    if piece is None:
        return closing.run(folder)
    if piece.shortage is not None and not piece.begun:
        return Status.TIME_IS_UP
    takes_s = closing.takes_s(folder)
    if piece.budget.fits(takes_s):
        return closing.run(folder)
    left_s = max(piece.budget.left_s(), 0.0)
    err.print(
        f"the report was left out: it may take {minutes(takes_s)}, and {minutes(left_s)} are left; "
        f"build it with: {'; '.join(closing.later(folder))}",
        style="yellow",
    )
    return Status.TIME_IS_UP


def plan_line(campaign: Campaign, todo: list[Planned]) -> str:
    """How much there is to do."""
    rule, many, trials_many = campaign.stopping, len(campaign.cells), len(campaign.order)
    cells = f"{many} cell{'s' * (many != 1)}"
    if rule is None:
        return f"{cells}, {trials_many} trial{'s' * (trials_many != 1)}, {len(todo)} to run"
    return (
        f"{cells}, {rule.least} to {rule.most} trials each (until {', '.join(rule.metrics)} are within "
        f"±{100 * rule.half_width:g} %), at most {len(todo)} to run"
    )


def doubtful(folder: Path) -> dict[Path, str]:
    """Finished trials of a campaign that are not valid (cell/trial), each with its verdict and why."""
    found = {}
    for trial in trials(folder):
        name = trial.path.relative_to(folder)
        try:
            verdict = trial.verdict()
        except DamagedTrial as error:
            found[name] = f"damaged: {error}"
            continue
        if verdict.state is not State.VALID:
            found[name] = f"{verdict.state}: {'; '.join(verdict.reasons())}"
    return found
