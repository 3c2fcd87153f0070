"""Runs a campaign's missing trials one after another, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from emulation import congestion
from emulation.kernel import KernelName
from emulation.profile import LinkProfile
from experiments import campaign as campaigns
from experiments import deploy, provenance
from experiments.bench import TrialSpec, services
from experiments.campaign import CampaignError
from experiments.isolation import command
from experiments.kernels import Kernels
from experiments.provenance import ROOT, Provenance
from experiments.settings import Settings
from results.campaign import Campaign, Cell, Planned, read_campaign
from results.scratch import scratch
from results.store import Trial, TrialWriter, aside, set_aside, trial_name
from results.verdict import Check, Health, State

LOG = "trials.log"
INSTALL_LIMIT_S = 600.0
GIVE_UP_AFTER = 3
REPEATS = 2
# What a trial may take beside its own times: every step has a limit of its own, this is for what has none.
HANG_LIMIT_S = 500.0
_END_LIMIT_S = 10.0


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


def run(folder: Path, watcher: Watcher, kernels: Kernels) -> list[Outcome]:
    """Run what is missing in a campaign.  On KeyboardInterrupt the trial under way is ended, and leaves nothing.

    Raises NotPossible (of experiments.kernels) before anything starts, CampaignError when another command has the
    campaign, GaveUp after three failures in a row.
    """
    campaign = read_campaign(folder)
    chosen = _choose(campaign, folder, kernels)
    cells = {cell.name: cell for cell in campaign.cells}
    with campaigns.owned(folder), _host_prepared(campaign, chosen):
        origin = provenance.gather()
        outcomes: list[Outcome] = []
        for planned in campaigns.missing(folder, campaign):
            spec = _spec(folder, campaign, cells[planned.cell], planned, origin)
            way = _Way(kernel=chosen[planned.cell], planned=planned, log=folder / LOG, watcher=watcher)
            outcomes.append(_run_until_the_machine_holds_still(spec, way))
            watcher.ended(outcomes[-1])
            _give_up_if_hopeless(outcomes)
        return outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How a trial is run: on which kernel, who is told, where its messages go."""

    kernel: KernelName
    planned: Planned
    log: Path
    watcher: Watcher


@contextmanager
def _host_prepared(campaign: Campaign, chosen: dict[str, KernelName]) -> Iterator[None]:
    """What trials need of this machine: servers and clients installed, congestion controls allowed.

    Only root can see to that; an ordinary user's trials find what is installed, in the lab kernel.
    """
    if os.geteuid():
        yield
        return
    install(campaign)
    on_host = {_settings(cell).congestion_control for cell in campaign.cells if chosen[cell.name] == "host"}
    with congestion.allowed(on_host) if on_host else nullcontext():
        yield


def install(campaign: Campaign) -> None:
    """Let Ansible see to it that servers and clients are installed; DeployError when they cannot be."""
    calls = {call.role: call for cell in campaign.cells for call in map(deploy.role_call, services(_settings(cell)))}
    target = deploy.Target(
        name="this-machine",
        address="127.0.0.1",
        pid=os.getpid(),
        roles=(*calls.values(), deploy.RoleCall(role="client")),
    )
    with scratch("install") as folder:
        deploy.apply(["install"], [target], scratch=folder, timeout_s=INSTALL_LIMIT_S)


def _settings(cell: Cell) -> Settings:
    return Settings.model_validate(cell.settings["settings"])


def _choose(campaign: Campaign, folder: Path, kernels: Kernels) -> dict[str, KernelName]:
    """The kernel of every cell; CampaignError when another version of this program wrote the campaign."""
    try:
        for cell in campaign.cells:
            _settings(cell)
        profiles = {cell.name: LinkProfile.model_validate(cell.settings["profile"]) for cell in campaign.cells}
    except (ValidationError, KeyError) as error:
        raise CampaignError(
            f"{folder}: this campaign was made by another version, whose settings this one does not know; "
            f"run the scenario anew with --new ({str(error).splitlines()[0]})"
        ) from error
    return {name: kernels.choose(profile) for name, profile in profiles.items()}


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


def _run_until_the_machine_holds_still(spec: TrialSpec, way: _Way) -> Outcome:
    """A trial in whose window the machine stalled says nothing about a stack: it is set aside, and run again.

    At most REPEATS times, earlier runs of the campaign included; what was set aside is kept beside the trial,
    whose manifest has a note of it.
    """
    trial = Trial(Path(spec.campaign_folder) / spec.cell / trial_name(spec.trial))
    while True:
        way.watcher.started(way.planned)
        notes = tuple(f"repeated, because the machine stalled in {one.name}" for one in aside(trial))
        outcome = _run_one(spec.model_copy(update={"notes": notes}), way)
        if outcome.state is not State.INVALID or len(notes) >= REPEATS or not _only_stalled(trial):
            return outcome
        why = "; ".join(outcome.reasons)
        way.watcher.repeated(
            way.planned, f"the machine stalled, so it is run again ({why}); see {set_aside(trial).name}"
        )


def _only_stalled(trial: Trial) -> bool:
    """Whether nothing but a stall of this machine speaks against a trial; a stall makes the generator late, too."""
    failed = {one.check for one in trial.verdict().checks if one.health is Health.FAILED}
    return Check.HEARTBEAT in failed and failed <= {Check.HEARTBEAT, Check.SEND_LATENESS}


def _run_one(spec: TrialSpec, way: _Way) -> Outcome:
    started = time.monotonic()
    times = Settings.model_validate(spec.settings).window
    limit_s = HANG_LIMIT_S + times.warmup_s + times.window_s + times.drain_s
    last: dict[str, Any] = {}
    writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
    with _discarded(writer), _process(way.kernel, way.log) as process, _limited(process, limit_s):
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):  # it died at once; its end is read below
            process.stdin.write(spec.model_dump_json() + "\n")
            process.stdin.flush()
        for line in process.stdout:
            with suppress(ValueError):  # a trial that is killed can leave half a line
                last = json.loads(line)
            if last["event"] == "phase":
                way.watcher.phase(way.planned, last["name"], last["delivered"])
    state, reasons = _read_end(last, process.returncode, way.log)
    return Outcome(planned=way.planned, state=state, reasons=reasons, seconds=time.monotonic() - started)


def _read_end(last: dict[str, Any], status: int, log: Path) -> tuple[State | Literal["failed"], tuple[str, ...]]:
    if last.get("event") == "finished":
        return State(last["state"]), tuple(last["reasons"])
    if last.get("event") == "failed":
        return "failed", (f"{last['kind']}: {last['message']}",)
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    return "failed", (f"the trial's process ended ({how}) while in phase {last.get('name', 'start')!r}; see {log}",)


@contextmanager
def _process(kernel: KernelName, log: Path) -> Iterator[subprocess.Popen[str]]:
    """The trial's process, in a session of its own so that Ctrl-C reaches us alone; ended on every way out."""
    with log.open("a") as messages:
        process = subprocess.Popen(
            command(kernel, campaign=log.parent),
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
