"""One trial, from an empty machine to a finished folder: build, deploy, prove, load, record, judge."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil

from emulation.kernel import kernel
from emulation.kernel.kernel import KernelName
from emulation.line.serving import serving
from emulation.link import features
from experiments import deploy
from experiments.scenario.segments import first_profile, further_plans, topology_plan
from experiments.trial import plan
from experiments.trial.capturing import capture_plan
from experiments.trial.checks.health import out_of_tolerance
from experiments.trial.context import Phase, TrialContext, TrialSpec, link_plan, services
from experiments.trial.later_states import LaterStates
from experiments.trial.measure import measure
from experiments.trial.observers.diskspace import Space
from experiments.trial.observers.hostlog import HostLog, heard
from experiments.trial.observers.priority import ahead
from experiments.trial.others import Others
from experiments.trial.proving import PATHS, Checks, prove, to_prove
from experiments.trial.write_trial import write_trial
from records.nodes import killed
from records.store import Trial, TrialWriter, failed_folder
from records.verdict import Verdict
from topologies.build import built

# Starting a program takes some twenty times as long in the lab kernel, and Ansible starts many.
_DEPLOY_LIMIT_S: dict[KernelName, float] = {"host": 90.0, "lab": 400.0}
_STOP_LIMIT_S = 5.0
_LOGS = ("logs/**/*.log", ".scratch/*.log", ".scratch/*/*.log", ".scratch/*/*/log")
# Servers that start hold a proof up, and a stall of this machine, which lasts seconds, the one after it, too.
_PROVEN_AGAIN_AFTER_S = (0.0, 3.0)


def run_trial(
    spec: TrialSpec, tell: Callable[[Phase], None], host: HostLog | None = None, others: Others | None = None
) -> tuple[Trial, Verdict]:
    """Run one trial and put its folder in place.

    host: what its owner says of the machine, others: of trials beside it; None when nobody says anything.

    Raises what went wrong (DeployError, ClientFailedError, KernelError, OSError ...) after everything that the
    trial started has ended.  The unfinished folder is gone then; its logs are kept (records.store.failed_folder).
    """
    writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
    folder = writer.open()
    kept = failed_folder(writer.final)
    try:
        with heard(host) as log:
            verdict = _in_folder(spec, folder, tell, log, others)
        trial = writer.commit()
    except BaseException as error:
        space = Space(Path(spec.campaign_folder))
        space.look()  # now, as what follows makes room
        for line in space.explain([str(error)])[:-1]:
            error.add_note(line)
        _keep_logs(folder, kept)
        writer.discard()
        raise
    shutil.rmtree(kept, ignore_errors=True)
    return trial, verdict


def _keep_logs(folder: Path, kept: Path) -> None:
    """Those of clients and of servers: a broker's store may have files called .log, which are none."""
    shutil.rmtree(kept, ignore_errors=True)
    for log in (log for pattern in _LOGS for log in folder.glob(pattern)):
        with suppress(OSError):  # a full disk may be why we are here; the error to report is the first one
            if log.is_file() and not log.is_symlink():
                target = kept / log.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(log, target)


def _in_folder(
    spec: TrialSpec, folder: Path, tell: Callable[[Phase], None], host: HostLog, others: Others | None
) -> Verdict:
    settings = spec.settings
    scratch, logs, load_1m = folder / ".scratch", folder / "logs", os.getloadavg()[0]
    scratch.mkdir()
    logs.mkdir()
    tell(Phase(name="build"))
    with (
        built(
            topology_plan(settings), congestion_control=settings.congestion_control, sysctls=settings.sysctls
        ) as network,
        serving(idle_poll=not spec.shared_machine) as line,  # others' idle work has what is left
    ):
        stations = list(network.ports.stations)
        link = link_plan(first_profile(settings, spec.profile), settings, stations, spec.seed, spec.medium)
        link = replace(link, times_frames=features.times_frames())
        further = further_plans(settings, spec.profile, spec.links, link)
        context = TrialContext(
            spec=spec,
            folder=folder,
            scratch=scratch,
            network=network,
            link=link,
            further=further,
            line=line,
            capture=capture_plan(settings.capture, (link, *further.values()), network),
            services=services(settings),
            workload=plan.workload(settings, [node.name for node in network.stations]),
            load_1m_before=load_1m,
            tell=tell,
            host=host,
            others=others if spec.beside else None,
        )
        placed = ((node.name, node.address, one) for node, one in context.placed)
        context = replace(context, authority=deploy.certify(placed, scratch=scratch))
        for node in network.stations:
            context.client_folder(node.name).mkdir(mode=0o700, parents=True)
        later = LaterStates(context)
        try:
            probed, notes = _deploy_and_prove(context, later)
            measured = asyncio.run(measure(context))
        except BaseException:
            _stop(context)
            raise
        tell(Phase(name="stop"))
        verdict = write_trial(
            context,
            probed,
            replace(measured, notes=(*notes, *measured.notes, *_stop(context, killed=killed(measured.node_events)))),
            later=later.proofs,
        )
        for one in context.running:
            shutil.copyfile(one.folder / "log", logs / f"{one.name}.log")
    shutil.rmtree(scratch)
    return verdict


def _stop(context: TrialContext, *, killed: Collection[str] = ()) -> tuple[str, ...]:
    """End the servers, without a playbook, which would take longer than ending them.

    What was measured is not lost when that fails: the trial's own end ends them anyway.  killed: nodes whose servers
    have ended as was planned.
    """
    notes = []
    for service in (one for one in context.running if one.node not in killed):
        try:
            process = psutil.Process(service.pid)
            process.terminate()
            process.wait(_STOP_LIMIT_S)
        except (psutil.NoSuchProcess, deploy.DeployError):
            notes.append(f"{service.name} had ended before it was stopped")
        except psutil.TimeoutExpired:
            notes.append(f"{service.name} did not end within {_STOP_LIMIT_S:g} s of SIGTERM")
    return tuple(notes)


def _deploy(context: TrialContext) -> None:
    """Configure and start the services.  What clients need of a machine is installed with the campaign."""
    if targets := context.targets:
        deploy.apply(
            ["configure", "start"],
            targets,
            scratch=context.scratch,
            timeout_s=_DEPLOY_LIMIT_S[kernel.current()] * math.ceil(len(targets) / deploy.FORKS),
        )


def _deploy_and_prove(context: TrialContext, later: LaterStates) -> tuple[Checks, tuple[str, ...]]:
    """Prove the links while the servers start behind it, where nothing of theirs crosses it.

    They take processors from the probes, though, and this machine may stall: a link that does not hold is proven again
    when they have started, going before whatever else runs here, at once and after a pause, and a note says what was
    off.
    """
    context.tell(Phase(name="deploy"))
    with ThreadPoolExecutor(1) as pool:
        deployed = pool.submit(_deploy, context)
        wanted = to_prove(context.plans, segments=len(context.network.segments))
        checks = prove(context.network, context.plans, wanted, context.line, context.peer_ways)
        later.prove()
        deployed.result()
    notes: list[str] = []
    for pause_s in _PROVEN_AGAIN_AFTER_S:
        broken = [name for name, some in checks.items() if not all(check.holds for check in some)]
        off = [*_off(checks), *_off(later.checks)]
        if not off:
            break
        notes.append(f"the link did not hold and was proven again ({'; '.join(off)})")
        time.sleep(pause_s)
        with ahead(()):  # not before: servers that start meanwhile would go first as well
            checks |= prove(context.network, context.plans, broken, context.line, context.peer_ways)
            later.prove()
    later.remember()
    first, paths = next(iter(context.plans)), checks.pop(PATHS, ())
    found = {name: (*some, *later.checks[name]) for name, some in checks.items()}
    return found | {first: (*found[first], *paths)}, tuple(notes)


def _off(checks: Checks) -> list[str]:
    """What did not hold; of which segment, where there are several."""
    return [
        f"{name + ': ' if len(checks) > 1 else ''}{out_of_tolerance(check)}"
        for name, some in checks.items()
        for check in some
        if not check.holds
    ]
