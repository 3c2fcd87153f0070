"""Campaigns: one execution of a scenario, as a folder with a plan; what is finished in it is never run again."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from experiments.campaign.stopping import precision
from experiments.scenario.scenario import Scenario, digest_of
from experiments.trial.observers.diskspace import naming
from records.campaign import Campaign, Cell, Planned, put_record, read_campaign, write_campaign
from records.errors import CannotGoOn, WrongInput
from records.filenames import RECORD
from records.publishing import is_whole
from records.scratch import remove_abandoned
from records.stopping import End
from records.store import FOREIGN, DamagedTrial, remove_partials, trial_name

SCENARIO_COPY = "scenario.yaml"


class CampaignError(CannotGoOn):
    """A campaign that cannot be made, found or taken up; the message says which and what to do."""


class NoSuchCampaignError(CampaignError, WrongInput):
    """The campaign that was named is not there."""


def plan(scenario: Scenario) -> tuple[Planned, ...]:
    """Trials in order: in each round every cell once, shuffled by the scenario's seed; as many rounds as its cap.

    Trial number t of every cell has the same seed, so cells are compared on the same weather.
    """
    settings = scenario.settings
    return rounds([cell.name for cell in scenario.cells], seed=settings.seed, number=settings.trials.cap)


def rounds(cells: Sequence[str], *, seed: int, number: int) -> tuple[Planned, ...]:
    """The trials of so many rounds of the cells; more rounds begin with those of fewer."""
    shuffler = np.random.Generator(np.random.PCG64(seed))
    planned: list[Planned] = []
    for trial in range(1, number + 1):
        own = int(np.random.SeedSequence([seed, trial]).generate_state(1)[0])
        planned += [
            Planned(cell=cells[position], trial=trial, seed=own) for position in shuffler.permutation(len(cells))
        ]
    return tuple(planned)


def create(scenario: Scenario, root: Path, *, first: int | None = None) -> Path:
    """Make a new campaign folder below `root` and return it.

    first: how many rounds it has to begin with, where `extend` is to say whether there are more; None = all.
    """
    compared = scenario.compared
    campaign = Campaign(
        scenario=scenario.name,
        question=scenario.settings.question,
        digest=scenario.digest,
        created=now(),
        seed=scenario.settings.seed,
        factors=scenario.factors,
        compare=compared.factor if compared else None,
        baseline=compared.baseline if compared else None,
        cells=tuple(
            Cell(
                name=cell.name,
                levels=cell.levels,
                settings=cell.meaning,
            )
            for cell in scenario.cells
        ),
        order=tuple(one for one in plan(scenario) if first is None or one.trial <= first),
        stopping=scenario.settings.trials.rule,
    )
    return write(campaign, root, scenario.source)


def extend(folder: Path, more: Sequence[Planned]) -> None:
    """Let a campaign have more trials, after those that it has; CampaignError when another command has it."""
    with owned(folder):
        lengthen(folder, more)


def lengthen(folder: Path, more: Sequence[Planned]) -> None:
    """The same, for whoever has the campaign."""
    campaign = read_campaign(folder)
    put_record(folder, campaign.model_copy(update={"order": (*campaign.order, *more)}))


def now() -> str:
    """The time, as a campaign keeps it: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write(campaign: Campaign, root: Path, scenario: bytes) -> Path:
    """Make a campaign's folder below `root`, with its record and its scenario file, and return it."""
    stem = f"{datetime.fromisoformat(campaign.created):%Y%m%d-%H%M%S}-{campaign.digest[:8]}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = root / campaign.scenario / (stem + suffix)
        with suppress(FileExistsError), naming(folder):
            write_campaign(folder, campaign, {SCENARIO_COPY: scenario})
            return folder
    raise CampaignError(f"{root / campaign.scenario / stem}: a hundred campaigns in one second")


def folders(root: Path) -> list[Path]:
    """Every campaign folder below `root`, oldest first."""
    return sorted((path.parent for path in root.glob(f"*/*/{RECORD}") if not path.parent.is_symlink()), key=_age)


def called(root: Path, name: str) -> list[Path]:
    """Campaigns below `root` whose folder, scenario, or both as `lab list` shows them, have that name, oldest first."""
    return [one for one in folders(root) if name in (one.name, one.parent.name, f"{one.parent.name}/{one.name}")]


def _age(folder: Path) -> tuple[str, str]:
    return folder.name, folder.parent.name


def missing(folder: Path, campaign: Campaign) -> list[Planned]:
    """Planned trials without a finished folder that may still be run, in order.

    Of a cell that is precise enough only the least number of trials is wanted; which that is depends on finished
    folders alone, so a campaign can be taken up at any point.
    """
    left = [one for one in campaign.order if not (folder / one.cell / trial_name(one.trial)).is_dir()]
    rule = campaign.stopping
    if rule is None:
        return left
    beyond = {one.cell for one in left if one.trial > rule.least}
    open_cells = {cell for cell in beyond if precision(folder / cell, rule).end is End.GOING_ON}
    return [one for one in left if one.trial <= rule.least or one.cell in open_cells]


def is_of(campaign: Campaign, digest: str) -> bool:
    """Whether a campaign is one of the scenario with that digest: it says so, and its cells, too.

    A pack says what it likes, and a replay has the cells of its scenario, where it has one.
    """
    cells = ((cell.name, cell.settings) for cell in campaign.cells)
    return campaign.digest == digest == digest_of(cells)


def latest_unfinished(root: Path, digest: str | None = None) -> Path | None:
    """The newest campaign with trials still to run, of the scenario with that digest when one is given.

    Not one with programs that came out of a pack.  Not one that is being copied.
    """
    for folder in reversed(folders(root)):
        with suppress(DamagedTrial):
            campaign = read_campaign(folder)
            ours = not (folder / FOREIGN).exists() and is_whole(folder)
            if ours and (digest is None or is_of(campaign, digest)) and missing(folder, campaign):
                return folder
    return None


@contextmanager
def owned(folder: Path, *, patience_s: float = 2.0) -> Iterator[None]:
    """Hold a campaign's lock, which ends with the process; CampaignError when another command keeps it.

    patience_s: how long to wait for it; a command that only sweeps holds it for a moment.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + patience_s
        while not _locked(handle):
            if time.monotonic() > deadline:
                raise CampaignError(f"{folder}: another command is running this campaign; wait for it or end it")
            time.sleep(0.02)
        remove_partials(folder)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sweep(root: Path) -> None:
    """Remove what interrupted trials left in campaigns that nobody is running, and what killed commands left here."""
    remove_abandoned(root)
    for folder in folders(root):
        with suppress(CampaignError, OSError), owned(folder, patience_s=0):
            pass
