"""Campaigns whose trials end as a test decides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_runs import scenario_file
from origin import origin
from stopping_world import finish

from experiments.campaign import campaign as campaigns
from experiments.campaign import launch
from experiments.campaign.durations import Durations, own_s
from experiments.campaign.launch import Outcome, Way
from experiments.campaign.piece import Piece
from experiments.campaign.runner import CampaignRun
from experiments.scenario import scenario as scenarios
from experiments.trial.context import TrialSpec
from experiments.workers.place import Place
from experiments.workers.worker import Workers
from records.campaign import Planned, read_campaign
from records.stopping import CellPrecision
from records.times import trial_times
from records.verdict import Check, State

Attempt = Callable[[TrialSpec], dict[str, object] | str]


class Told:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.repeats: list[str] = []
        self.settlements: list[str] = []
        self.widths: list[str] = []
        self.outcomes: list[Outcome] = []

    def started(self, planned: Planned) -> None:
        pass

    def phase(self, planned: Planned, name: str, delivered: int) -> None:
        pass

    def repeated(self, planned: Planned, why: str) -> None:
        self.repeats.append(f"trial {planned.trial}: {why}")

    def widened(self, why: str) -> None:
        self.widths.append(why)

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def settled(self, cell: str, precision: CellPrecision, spared: int) -> None:
        self.settlements.append(f"{cell}: {precision.end}, {spared} spared")


HOST = Place()


class World:
    """Trials whose results the test decides: `attempt` gives finish's arguments, or why the trial failed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, attempt: Attempt, **settings: object) -> None:
        self.specs: list[TrialSpec] = []
        self.told, self._attempt, self._lock = Told(), attempt, threading.Lock()
        path = scenario_file(folder, **{"repeat_spoiled": 2} | settings)
        self.folder = campaigns.create(scenarios.load(path), folder / "results")
        monkeypatch.setattr(launch, "run_one", self._run_one)

    def _run_one(self, spec: TrialSpec, way: Way, workers: Workers) -> Outcome:  # noqa: ARG002
        with self._lock:
            self.specs.append(spec)
            given = self._attempt(spec)
        state, reasons = "failed", (str(given),)
        if not isinstance(given, str):
            trial = finish(self.folder, way.planned, beside=spec.beside, notes=spec.notes, **given)  # type: ignore[arg-type]
            state, reasons = trial.verdict().state, trial.verdict().reasons()
        return Outcome(planned=way.planned, state=state, reasons=reasons, seconds=1, beside=len(spec.beside))

    def run(self, place: Place = HOST, piece: Piece | None = None, notes: tuple[str, ...] = ()) -> CampaignRun:
        campaign = read_campaign(self.folder)
        places = dict.fromkeys((cell.name for cell in campaign.cells), place)
        campaign_run = CampaignRun(
            folder=self.folder,
            campaign=campaign,
            places=places,
            watcher=self.told,
            origin=origin(),
            durations=Durations(own_s=own_s(campaign), places=places, seen=trial_times(self.folder)),
            notes=notes,
        )
        campaign_run.left = campaigns.missing(self.folder, campaign)
        campaign_run.run(piece)
        return campaign_run


def failing(*attempts: Check | tuple[Check, ...] | None) -> Attempt:
    """The attempts, in order, fail these checks; None is a valid one."""
    left = list(attempts)

    def attempt(spec: TrialSpec) -> dict[str, object]:
        failed = left.pop(0)
        return {} if failed is None else {"state": State.INVALID, "failed": failed}

    return attempt
