"""Runs a campaign's missing trials one after another, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from emulation import congestion, features
from emulation.profile import LinkProfile
from experiments import campaign as campaigns
from experiments import deploy, provenance
from experiments.bench import TrialSpec, services
from experiments.campaign import CampaignError
from experiments.isolation import command
from experiments.provenance import ROOT, Provenance
from experiments.settings import Settings
from results.campaign import Campaign, Cell, Planned, read_campaign
from results.store import Trial, TrialWriter, aside, set_aside, trial_name
from results.verdict import Check, Health, State

LOG = "trials.log"
INSTALL_LIMIT_S = 600.0
GIVE_UP_AFTER = 3
REPEATS = 2
# What a trial may take beside its own times: every step has a limit of its own, this is for what has none.
HANG_LIMIT_S = 500.0
_END_LIMIT_S = 10.0


class NotPossible(Exception):
    """This machine, as it is, cannot run the scenario; the message says what is missing and what brings it."""


class GaveUp(Exception):
    """Trials fail one after another, so the campaign was left; it can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a trial ended.  failed: there is no result; reasons say why, or which health checks did not pass."""

    planned: Planned
    state: State | Literal["failed"]
    reasons: tuple[str, ...]
    seconds: float


class Watcher(Protocol):
    """Somebody who is told how a campaign goes."""

    def started(self, planned: Planned) -> None:
        """A trial begins."""

    def phase(self, planned: Planned, name: str, delivered: int) -> None:
        """What the trial is doing; delivered: messages so far."""

    def repeated(self, planned: Planned, why: str) -> None:
        """A trial that had begun has ended and will begin again."""

    def ended(self, outcome: Outcome) -> None:
        """A trial has ended."""


def run(folder: Path, watcher: Watcher) -> list[Outcome]:
    """Run what is missing in a campaign.  On KeyboardInterrupt the trial under way is ended, and leaves nothing.

    Raises NotPossible before anything starts, CampaignError when another command has the campaign, GaveUp after
    three failures in a row.
    """
    campaign = read_campaign(folder)
    check(_known(campaign, folder))
    cells = {cell.name: cell for cell in campaign.cells}
    with campaigns.owned(folder), congestion.allowed(_congestion_controls(campaign)):
        install(campaign)
        origin = provenance.gather()
        outcomes: list[Outcome] = []
        for planned in campaigns.missing(folder, campaign):
            spec = _spec(folder, campaign, cells[planned.cell], planned, origin)
            outcomes.append(_run_until_the_machine_holds_still(spec, planned, folder / LOG, watcher))
            watcher.ended(outcomes[-1])
            _give_up_if_hopeless(outcomes)
        return outcomes


def check(cells: Iterable[tuple[Settings, LinkProfile]]) -> None:
    """NotPossible when the kernel or the user lacks what these cells need."""
    if os.geteuid():
        raise NotPossible(
            "building networks needs root, and there is no lab kernel to do it in as an ordinary user: "
            "run the same command as root (sudo)"
        )
    available = features.probe()
    for _, profile in cells:
        try:
            features.require(profile, available)
        except features.MissingFeature as error:
            raise NotPossible(str(error)) from error


def install(campaign: Campaign) -> None:
    """Let Ansible see to it that servers and clients are installed; DeployError when they cannot be."""
    calls = {call.role: call for cell in campaign.cells for call in map(deploy.role_call, services(_settings(cell)))}
    target = deploy.Target(
        name="this-machine",
        address="127.0.0.1",
        pid=os.getpid(),
        roles=(*calls.values(), deploy.RoleCall(role="client")),
    )
    with tempfile.TemporaryDirectory(prefix="airwire-") as scratch:
        deploy.apply(["install"], [target], scratch=Path(scratch), timeout_s=INSTALL_LIMIT_S)


def _settings(cell: Cell) -> Settings:
    return Settings.model_validate(cell.settings["settings"])


def _known(campaign: Campaign, folder: Path) -> list[tuple[Settings, LinkProfile]]:
    """Settings and profile of every cell; CampaignError when another version of this program wrote them."""
    try:
        return [(_settings(cell), LinkProfile.model_validate(cell.settings["profile"])) for cell in campaign.cells]
    except (ValidationError, KeyError) as error:
        raise CampaignError(
            f"{folder}: this campaign was made by another version, whose settings this one does not know; "
            f"run the scenario anew with --new ({str(error).splitlines()[0]})"
        ) from error


def _congestion_controls(campaign: Campaign) -> set[str]:
    return {_settings(cell).congestion_control for cell in campaign.cells}


def _spec(folder: Path, campaign: Campaign, cell: Cell, planned: Planned, origin: Provenance) -> TrialSpec:
    return TrialSpec(
        campaign_folder=str(folder.resolve()),
        digest=campaign.digest,
        cell=cell.name,
        levels=cell.levels,
        trial=planned.trial,
        seed=planned.seed,
        settings=cell.settings["settings"],
        profile=cell.settings["profile"],
        provenance=origin,
    )


def _give_up_if_hopeless(outcomes: list[Outcome]) -> None:
    last = outcomes[-GIVE_UP_AFTER:]
    if len(last) == GIVE_UP_AFTER and all(outcome.state == "failed" for outcome in last):
        raise GaveUp(f"{GIVE_UP_AFTER} trials in a row failed, the last one so: {'; '.join(last[-1].reasons)}")


def _run_until_the_machine_holds_still(spec: TrialSpec, planned: Planned, log: Path, watcher: Watcher) -> Outcome:
    """A trial in whose window the machine stalled says nothing about a stack: it is set aside, and run again.

    At most REPEATS times, earlier runs of the campaign included; what was set aside is kept beside the trial,
    whose manifest has a note of it.
    """
    trial = Trial(Path(spec.campaign_folder) / spec.cell / trial_name(spec.trial))
    while True:
        watcher.started(planned)
        notes = tuple(f"repeated, because the machine stalled in {one.name}" for one in aside(trial))
        outcome = _run_one(spec.model_copy(update={"notes": notes}), planned, log, watcher)
        if outcome.state is not State.INVALID or len(notes) >= REPEATS or not _only_stalled(trial):
            return outcome
        why = "; ".join(outcome.reasons)
        watcher.repeated(planned, f"the machine stalled, so it is run again ({why}); see {set_aside(trial).name}")


def _only_stalled(trial: Trial) -> bool:
    """Whether nothing but a stall of this machine speaks against a trial; a stall makes the generator late, too."""
    failed = {one.check for one in trial.verdict().checks if one.health is Health.FAILED}
    return Check.HEARTBEAT in failed and failed <= {Check.HEARTBEAT, Check.SEND_LATENESS}


def _run_one(spec: TrialSpec, planned: Planned, log: Path, watcher: Watcher) -> Outcome:
    started = time.monotonic()
    times = Settings.model_validate(spec.settings).window
    limit_s = HANG_LIMIT_S + times.warmup_s + times.window_s + times.drain_s
    last: dict[str, Any] = {}
    writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
    with _discarded(writer), _process(log) as process, _limited(process, limit_s):
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):  # it died at once; its end is read below
            process.stdin.write(spec.model_dump_json() + "\n")
            process.stdin.flush()
        for line in process.stdout:
            with suppress(ValueError):  # a trial that is killed can leave half a line
                last = json.loads(line)
            if last["event"] == "phase":
                watcher.phase(planned, last["name"], last["delivered"])
    state, reasons = _read_end(last, process.returncode, log)
    return Outcome(planned=planned, state=state, reasons=reasons, seconds=time.monotonic() - started)


def _read_end(last: dict[str, Any], status: int, log: Path) -> tuple[State | Literal["failed"], tuple[str, ...]]:
    if last.get("event") == "finished":
        return State(last["state"]), tuple(last["reasons"])
    if last.get("event") == "failed":
        return "failed", (f"{last['kind']}: {last['message']}",)
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    return "failed", (f"the trial's process ended ({how}) while in phase {last.get('name', 'start')!r}; see {log}",)


@contextmanager
def _process(log: Path) -> Iterator[subprocess.Popen[str]]:
    """The trial's process, in a session of its own so that Ctrl-C reaches us alone; ended on every way out."""
    with log.open("a") as messages:
        process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            start_new_session=True,
            cwd=ROOT,
        )
    try:
        yield process
    finally:
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.close()  # tells the trial that its owner has gone
        try:
            process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()  # its namespace of processes goes with it
            process.wait()
        assert process.stdout
        process.stdout.close()


@contextmanager
def _discarded(writer: TrialWriter) -> Iterator[None]:
    """A trial that was killed cannot remove its unfinished folder; a finished one has none."""
    try:
        yield
    finally:
        writer.discard()


@contextmanager
def _limited(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
