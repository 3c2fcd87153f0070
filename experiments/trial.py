"""One trial, from an empty machine to a finished folder: build, deploy, prove, load, record, judge."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil

from emulation import features, kernel
from emulation.kernel import KernelName
from emulation.link import applied
from emulation.profile import LinkProfile
from emulation.proof import probe_link
from experiments import deploy, plan
from experiments.bench import Bench, Phase, TrialSpec, link_plan, services
from experiments.capturing import capture_plan
from experiments.diskspace import Space
from experiments.health import out_of_tolerance
from experiments.hostlog import HostLog, heard
from experiments.later_states import LaterStates
from experiments.measure import measure
from experiments.priority import ahead
from experiments.record import record
from experiments.settings import from_campaign
from results.link import LinkCheck
from results.store import Trial, TrialWriter
from results.verdict import Verdict
from topologies.network import probe_ends
from topologies.star import star

# Starting a program takes some twenty times as long in the lab kernel, and Ansible starts many.
_DEPLOY_LIMIT_S: dict[KernelName, float] = {"host": 90.0, "lab": 400.0}
_STOP_LIMIT_S = 5.0
# Servers that start hold a proof up, and a stall of this machine, which lasts seconds, the one after it, too.
_PROVEN_AGAIN_AFTER_S = (0.0, 3.0)


def run_trial(spec: TrialSpec, tell: Callable[[Phase], None], host: HostLog | None = None) -> tuple[Trial, Verdict]:
    """Run one trial and put its folder in place.  host: what its owner says of the machine, None when nobody does.

    Raises what went wrong (DeployError, ClientFailedError, KernelError, OSError ...) after everything that the
    trial started has ended.  The unfinished folder is gone then; its logs are kept in `.failed-<trial>`.
    """
    writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
    folder = writer.open()
    kept = failed_folder(writer)
    try:
        with heard(host) as log:
            verdict = _in_folder(spec, folder, tell, log)
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


def failed_folder(writer: TrialWriter) -> Path:
    """Where the logs of a failed trial are kept until it succeeds."""
    return writer.final.with_name(f".failed-{writer.final.name}")


def _keep_logs(folder: Path, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    try:
        for log in [*folder.rglob("*.log"), *folder.rglob("log")]:
            target = kept / log.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, target)
    except OSError:
        # A full disk may be why we are here; the error to report is the first one.
        shutil.rmtree(kept, ignore_errors=True)


def _in_folder(spec: TrialSpec, folder: Path, tell: Callable[[Phase], None], host: HostLog) -> Verdict:
    settings = from_campaign(spec.settings)
    profile = LinkProfile.model_validate(spec.profile)
    scratch, logs, load_1m = folder / ".scratch", folder / "logs", os.getloadavg()[0]
    scratch.mkdir()
    logs.mkdir()
    tell(Phase(name="build"))
    with star(
        stations=settings.stations, congestion_control=settings.congestion_control, sysctls=settings.sysctls
    ) as network:
        link = link_plan(profile, settings, [node.name for node in network.stations], spec.seed, spec.medium)
        link = replace(link, times_frames=features.times_frames())
        bench = Bench(
            spec=spec,
            settings=settings,
            profile=profile,
            folder=folder,
            scratch=scratch,
            network=network,
            link=link,
            capture=capture_plan(settings.capture, link, network),
            services=services(settings),
            workload=plan.workload(settings, [node.name for node in network.stations]),
            load_1m_before=load_1m,
            tell=tell,
            host=host,
        )
        for node in network.stations:
            bench.client_folder(node.name).mkdir(mode=0o700, parents=True)
        later = LaterStates(bench)
        probed, notes = _deploy_and_prove(bench, later)
        measured = asyncio.run(measure(bench))
        tell(Phase(name="stop"))
        verdict = record(
            bench, probed, replace(measured, notes=(*notes, *measured.notes, *_stop(bench))), later=later.proofs
        )
        for service in bench.services:
            shutil.copyfile(bench.service_folder(service) / "log", logs / f"{service.name}.log")
    shutil.rmtree(scratch)
    return verdict


def _stop(bench: Bench) -> tuple[str, ...]:
    """End the servers, without a playbook, which would take longer than ending them.

    What was measured is not lost when that fails: the trial's own end ends them anyway.
    """
    notes = []
    for service in bench.services:
        try:
            process = psutil.Process(bench.service_pid(service))
            process.terminate()
            process.wait(_STOP_LIMIT_S)
        except (psutil.NoSuchProcess, deploy.DeployError):
            notes.append(f"{service.name} had ended before it was stopped")
        except psutil.TimeoutExpired:
            notes.append(f"{service.name} did not end within {_STOP_LIMIT_S:g} s of SIGTERM")
    return tuple(notes)


def _deploy(bench: Bench) -> None:
    """Configure and start the servers.  What clients need of a machine is installed with the campaign."""
    if bench.services:
        deploy.apply(
            ["configure", "start"],
            [bench.server_target],
            scratch=bench.scratch,
            timeout_s=_DEPLOY_LIMIT_S[kernel.current()],
        )


def _deploy_and_prove(bench: Bench, later: LaterStates) -> tuple[tuple[LinkCheck, ...], tuple[str, ...]]:
    """Prove the link while the servers start behind it, where nothing of theirs crosses it.

    They take processors from the probes, though, and this machine may stall: a link that does not hold is proven again
    when they have started, going before whatever else runs here, at once and after a pause, and a note says what was
    off.
    """
    bench.tell(Phase(name="deploy"))
    with ThreadPoolExecutor(1) as pool:
        deployed = pool.submit(_deploy, bench)
        checks = _prove(bench)
        later.prove()
        deployed.result()
    notes: list[str] = []
    for pause_s in _PROVEN_AGAIN_AFTER_S:
        off = [out_of_tolerance(check) for check in (*checks, *later.checks) if not check.holds]
        if not off:
            break
        notes.append(f"the link did not hold and was proven again ({'; '.join(off)})")
        time.sleep(pause_s)
        with ahead(()):  # not before: servers that start meanwhile would go first as well
            if not all(check.holds for check in checks):
                checks = _prove(bench)
            later.prove()
    later.remember()
    return (*checks, *later.checks), tuple(notes)


def _prove(bench: Bench) -> tuple[LinkCheck, ...]:
    with applied(bench.link, bench.network.ports):
        return probe_link(bench.link, probe_ends(bench.network, bench.link.groups))
