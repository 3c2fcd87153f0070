"""Runs a campaign's missing trials, each in a process of its own, one after another or a few side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from emulation.kernel.quota import usable_cores
from emulation.line import ceiling
from emulation.link import features
from emulation.profile.media import MediumName
from experiments.campaign import campaign as campaigns
from experiments.campaign import foreign, launch, prepare, retry
from experiments.campaign.durations import Durations, own_s
from experiments.campaign.launch import Outcome, Way
from experiments.campaign.loads import Loads, last_alone_cpu
from experiments.campaign.piece import Piece
from experiments.campaign.schedule import leaves_room, may_share, next_turn
from experiments.campaign.stopping import precision
from experiments.campaign.together import Together
from experiments.campaign.watcher import Watcher
from experiments.campaign.width import Width
from experiments.scenario import segments
from experiments.scenario.repeats import SideBySide
from experiments.scenario.settings import Settings
from experiments.trial import provenance
from experiments.trial.checks.sharedmachine import shared_machine
from experiments.trial.context import TrialSpec
from experiments.trial.provenance import Provenance
from experiments.trial.revision import code_digest
from experiments.workers.kernels import Kernels
from experiments.workers.place import Place
from experiments.workers.worker import Workers
from records.campaign import Campaign, Cell, Planned, read_campaign
from records.errors import CannotGoOn
from records.stopping import End
from records.store import Trial, aside, note_failed, set_aside, trial_name, why_aside
from records.times import note_trial, trial_times
from records.verdict import State

LOG = "trials.log"
GIVE_UP_AFTER = 3
_BY_MACHINE = "the machine alone can have spoiled it"
_BESIDE_FEWER, _BESIDE_OTHERS = "it is run again beside fewer", "it is run again beside others"
_STALLED = "the machine stalled"  # how campaigns of earlier versions begin the same note


class GaveUp(CannotGoOn):
    """Trials fail one after another, or would not be alike, so the campaign was left; it can be resumed.

    outcomes: of the trials that were run until then.
    """

    def __init__(self, message: str, outcomes: Sequence[Outcome]) -> None:
        super().__init__(message)
        self.outcomes = list(outcomes)


def run(
    folder: Path, watcher: Watcher, kernels: Kernels, piece: Piece | None = None, *, notes: Sequence[str] = ()
) -> list[Outcome]:
    """Run what is missing in a campaign.  On KeyboardInterrupt trials under way are ended, and leave nothing.

    piece: in whose time trials have to end.  The first turn that does not fit ends the run, even if a shorter trial
    would fit: rounds are interleaved, and trials out of their order would leave some cells behind.
    notes: what the manifest of every trial should say.
    Raises NotPossible (of experiments.workers.kernels) and NeitherYesNorNo (of experiments.trial.checks.sharedmachine)
    before anything starts, CampaignError when another command has the campaign, GaveUp after three failures in a row,
    or when the code that runs trials changes meanwhile.
    """
    shared_machine()
    campaign = read_campaign(folder)
    foreign.check(folder, campaign)
    if not campaigns.missing(folder, campaign):
        return []
    chosen = prepare.choose(campaign, folder, kernels)
    with campaigns.owned(folder), prepare.prepared(campaign, chosen):
        campaign_run = CampaignRun(
            folder=folder,
            campaign=campaign,
            places=chosen,
            watcher=watcher,
            origin=provenance.gather(),
            durations=Durations(own_s=own_s(campaign), places=chosen, seen=trial_times(folder)),
            loads=Loads.seen(folder),
            notes=tuple(notes),
        )
        campaign_run.left = campaigns.missing(folder, campaign)
        campaign_run.run(piece)
        return campaign_run.outcomes


@dataclass(slots=True, kw_only=True)
class CampaignRun:
    """A campaign under way.  left: what is still to run, in order.

    crowded: cells whose trials have had too little processor beside another, until one alone leaves room.
    width: how many trials go together.  spoiled: how many of this turn are run again, crowded ones left out, which go
    together by their loads.
    loads: what a trial of each cell takes of the processors.
    alone: why trials that were spoiled beside others are run again by themselves.  notes: for every manifest.
    Everything but the trials themselves happens in one thread.
    """

    folder: Path
    campaign: Campaign
    places: dict[str, Place]
    watcher: Watcher
    origin: Provenance
    durations: Durations
    notes: tuple[str, ...] = ()
    loads: Loads = field(default_factory=Loads)
    left: list[Planned] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    crowded: set[str] = field(default_factory=set)
    alone: dict[Planned, str] = field(default_factory=dict)
    width: Width = field(init=False)
    spoiled: int = 0

    def __post_init__(self) -> None:
        most = self._parallel.trials
        if any(place.kernel == "lab" for place in self.places.values()):
            # Each lab kernel has a core to itself: more would wait for one, and begin in the window of another.
            most = min(most, usable_cores())
        self.width = Width(most=most)

    def run(self, piece: Piece | None = None) -> None:
        """Run what is left, or what fits into a piece.  Raises GaveUp, and what starting a trial does."""
        while self.left:
            turn = self.next_turn()
            if piece is not None and not piece.allows(turn, self.durations.turn_s(turn)):
                return
            self._refuse_other_code()
            self.take(turn)

    def _refuse_other_code(self) -> None:
        """Each trial is a process of its own, so it would run what somebody has written into the files meanwhile."""
        if self.origin.git.code not in ("", code_digest()):
            why = "the code that runs trials was changed while the campaign ran, so the next would not be alike"
            raise GaveUp(why, self.outcomes)

    def next_turn(self) -> tuple[Planned, ...]:
        """The trials that run next, together."""
        return next_turn(
            self.left,
            most=self.width.now,
            shares=self._shares,
            seconds=lambda one: self.durations.trial_s(one.cell),
            load=lambda one: self.loads.of(one.cell),
        )

    def take(self, turn: Sequence[Planned]) -> None:
        """Run these trials at the same time and wait for all.  Raises GaveUp, and what starting one does."""
        counts = len(turn) > 1 or self._shares(turn[0])
        self.left = [one for one in self.left if one not in turn]
        self.spoiled = 0
        done: SimpleQueue[Callable[[], None]] = SimpleQueue()
        running, workers, together = set(turn), Workers(), Together(turn)
        specs = {planned: self._spec(planned, [one for one in turn if one != planned]) for planned in turn}
        limits_s = {one: launch.limit(spec, self.places[one.cell].kernel) for one, spec in specs.items()}

        def work(planned: Planned) -> None:
            def phase(name: str, delivered: int) -> None:
                done.put(partial(self.watcher.phase, planned, name, delivered))

            others_s = max((limits_s[one] for one in turn if one != planned), default=0.0)
            way = Way(
                kernel=self.places[planned.cell].kernel,
                planned=planned,
                log=self.folder / LOG,
                phase=phase,
                together=together,
                limit_s=limits_s[planned] + others_s,
            )
            try:
                outcome = launch.run_one(specs[planned], way, workers)
                done.put(partial(self._ended, outcome, running))
            except BaseException as error:  # noqa: BLE001 - raised where the campaign is run
                done.put(partial(_raise, error))

        threads = [threading.Thread(target=work, args=(planned,), name=planned.cell) for planned in turn]
        for planned in turn:
            self.watcher.started(planned)
        try:
            for thread in threads:
                thread.start()
            while running:
                done.get()()
        finally:
            workers.end()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            self._take_in(done)
        self._give_up_if_hopeless()
        if counts and (why := self.width.ended(len(turn), self.spoiled)):
            self.watcher.widened(why)

    def _take_in(self, done: SimpleQueue[Callable[[], None]]) -> None:
        """Of what an interrupt has left undone, look at results: a spoiled one must not stay."""
        while not done.empty():
            action = done.get()
            if isinstance(action, partial) and action.func == self._ended and action.args[0].state != "failed":
                with suppress(CannotGoOn, OSError):
                    action()

    def _ended(self, outcome: Outcome, running: set[Planned]) -> None:
        planned = outcome.planned
        running.remove(planned)
        self._note_time(outcome)
        if why := self._spoiled(outcome):
            self.watcher.repeated(planned, why)
            self.left.insert(0, planned)
            return
        self.outcomes.append(outcome)
        self.watcher.ended(outcome)
        self._readmit(outcome)
        self._settle(planned.cell)

    def _note_time(self, outcome: Outcome) -> None:
        """Remember how long a trial took, whether its result stays or not."""
        planned, seconds = outcome.planned, outcome.seconds
        if outcome.state == "failed":
            self.durations.failed(planned, seconds)
            note_failed(self._trial(planned).path, "; ".join(outcome.reasons))
            return
        window = self._trial(planned).manifest().window
        load_s = (window.drained_ns - window.go_ns) / 1e9
        self.loads.note(planned.cell, self._trial(planned).manifest())
        note_trial(self.folder, self.durations.ended(planned, seconds, load_s=load_s))

    def _spoiled(self, outcome: Outcome) -> str:
        """Why a trial's result is the machine's and not its stack's, '' when it is not; then it is set aside.

        What the machine alone can have spoiled is repeated as often as the scenario says, earlier commands
        included; then it stands.
        What ran beside others is run again alone whatever was wrong with it.
        """
        trial = self._trial(outcome.planned)
        if outcome.beside:
            why = self._spoiled_beside_others(outcome, trial)
            if why and not _may_share_again(why):
                self.alone[outcome.planned] = why
        elif outcome.state is State.INVALID and self._repeats(trial) < self._settings.repeat_spoiled:
            checks = retry.spoiled_by_machine(trial.verdict())
            why = f"{_BY_MACHINE}, so it is run again ({'; '.join(outcome.reasons)})" if checks else ""
            self.spoiled += bool(checks)
        else:
            why = ""
        if why and outcome.state != "failed":
            return f"{retry.in_brief(why)}; see {set_aside(trial, why).name}"
        return why

    @staticmethod
    def _repeats(trial: Trial) -> int:
        return sum(why_aside(path).startswith((_BY_MACHINE, _STALLED)) for path in aside(trial))

    def _spoiled_beside_others(self, outcome: Outcome, trial: Trial) -> str:
        others = f"{outcome.beside} other trial{'s' * (outcome.beside > 1)}"
        if outcome.state == "failed":
            self.spoiled += 1
            return f"it failed beside {others}, so it is run again alone ({'; '.join(outcome.reasons)})"
        cpu = trial.manifest().machine_cpu
        why = retry.spoiled_beside_others(trial.verdict(), cpu)
        first = outcome.beside > 1 and not aside(trial)
        if crowd := retry.crowded(cpu):
            if first and cpu is not None:
                return f"crowded beside {others}, so {_BESIDE_FEWER} ({crowd})"
            self.crowded.add(outcome.planned.cell)
            return f"spoiled beside {others}, so it is run again alone ({why})"
        self.spoiled += bool(why)
        if first and retry.spoiled_by_machine(trial.verdict()):
            return f"spoiled beside {others}, as the machine alone can do, so {_BESIDE_OTHERS} ({why})"
        return f"spoiled beside {others}, so it is run again alone ({why})" if why else ""

    def _readmit(self, outcome: Outcome) -> None:
        """A cell was not what crowded the machine if its trial, alone, leaves room for as many."""
        cell = outcome.planned.cell
        if cell not in self.crowded or outcome.state is not State.VALID:
            return
        if leaves_room(self._parallel, self._trial(outcome.planned).manifest().machine_cpu):
            self.crowded.discard(cell)

    def _settle(self, cell: str) -> None:
        """Leave out what the stopping rule makes needless."""
        rule = self.campaign.stopping
        if rule is None or any(one.cell == cell and one.trial <= rule.least for one in self.left):
            return
        found = precision(self.folder / cell, rule)
        if found.end is not End.GOING_ON:
            before = len(self.left)
            self.left = [one for one in self.left if one.cell != cell]
            self.watcher.settled(cell, found, before - len(self.left))

    def _give_up_if_hopeless(self) -> None:
        last = self.outcomes[-GIVE_UP_AFTER:]
        if len(last) == GIVE_UP_AFTER and all(outcome.state == "failed" for outcome in last):
            why = f"{GIVE_UP_AFTER} trials in a row failed, the last one so: {'; '.join(last[-1].reasons)}"
            raise GaveUp(why, self.outcomes)

    @property
    def _settings(self) -> Settings:
        """Those of any cell: what is asked of them here is the whole campaign's."""
        return prepare.settings_of(self.campaign.cells[0])

    @property
    def _parallel(self) -> SideBySide:
        return self._settings.parallel

    def _shares(self, planned: Planned) -> bool:
        """Whether a trial may run beside others; one that was spoiled before may not."""
        earlier = [why_aside(path) for path in aside(self._trial(planned))]
        if planned.cell in self.crowded or planned in self.alone or not all(map(_may_share_again, earlier)):
            return False
        wanted, cell = self._parallel, self._cell(planned)
        if not _line_has_room(cell, self.places[cell.name], trials=wanted.trials):
            return False
        unnamed = wanted.trials > 1 and not wanted.when
        return may_share(wanted, cell.levels, last_alone_cpu(self.folder / cell.name) if unnamed else None)

    def _trial(self, planned: Planned) -> Trial:
        return Trial(self.folder / planned.cell / trial_name(planned.trial))

    def _cell(self, planned: Planned) -> Cell:
        return next(cell for cell in self.campaign.cells if cell.name == planned.cell)

    def _spec(self, planned: Planned, beside: Sequence[Planned]) -> TrialSpec:
        notes = [f"{why_aside(path)}; the earlier run is in {path.name}" for path in aside(self._trial(planned))]
        if not notes and planned in self.alone:
            notes = [self.alone[planned]]
        notes += self.notes
        return spec(
            self.folder,
            self.campaign,
            self._cell(planned),
            planned,
            self.origin,
            medium=self.places[planned.cell].medium,
            beside=beside,
            notes=notes,
        )


def _may_share_again(why: str) -> bool:
    """Whether a trial that was set aside for this reason may run beside others all the same."""
    return _BESIDE_FEWER in why or _BESIDE_OTHERS in why


def _line_has_room(cell: Cell, place: Place, *, trials: int) -> bool:
    """Whether the processors have room for the lines of so many trials; in the lab kernel there is none."""
    if place.kernel == "lab":
        return True
    settings, profile, links = prepare.settings_of(cell), prepare.profile_of(cell), prepare.links_of(cell)
    loads = segments.carried(settings, profile, links, first=place.medium, has_netem=features.times_frames())
    return ceiling.has_room(*loads.values(), trials=trials)


def spec(
    folder: Path,
    campaign: Campaign,
    cell: Cell,
    planned: Planned,
    origin: Provenance,
    *,
    medium: MediumName = "tc",
    beside: Sequence[Planned] = (),
    notes: Sequence[str] = (),
) -> TrialSpec:
    """What a trial's process is told."""
    return TrialSpec(
        campaign_folder=str(folder.resolve()),
        digest=campaign.digest,
        cell=cell.name,
        levels=cell.levels,
        trial=planned.trial,
        seed=planned.seed,
        settings=prepare.settings_of(cell),
        profile=prepare.profile_of(cell),
        links=prepare.links_of(cell),
        provenance=origin,
        notes=tuple(notes),
        beside=tuple(f"{one.cell}/{trial_name(one.trial)}" for one in beside),
        shared_machine=shared_machine(),
        medium=medium,
    )


def _raise(error: BaseException) -> None:
    raise error
