"""From what was measured to the files of a trial folder, and the verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from emulation.kernel import kernel
from emulation.kernel.namespace import in_namespace, read_sysctl
from emulation.kernel.quota import usable_cores
from emulation.line import layout
from emulation.link.capture import PortCapture
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.proof.bypass import bypass_checks
from emulation.proof.trialproof import loss_checks, timeline_checks, trial_rate_check
from experiments.load.fleet import FleetResult
from experiments.scenario.segments import is_medium
from experiments.trial import linkcourse, provenance
from experiments.trial.capturing import why_not_kept
from experiments.trial.checks.health import Evidence, judge
from experiments.trial.checks.path_rtt import least_path_rtt_s, path_rtt
from experiments.trial.checks.queue_use import queue_uses, rates_set
from experiments.trial.checks.samples import machine_cpu
from experiments.trial.context import TrialContext
from experiments.trial.further import FurtherMeasured
from experiments.trial.measure import Measured
from experiments.trial.observers.sampling import PERIOD_S
from experiments.trial.provenance import MACHINE_SYSCTLS, SYSCTLS
from experiments.trial.reading import Reading
from experiments.trial.stamping import collect
from experiments.trial.traced import trace_checks
from experiments.workers.programs import digests
from records import commands
from records.filenames import LINK, MANIFEST, VERDICT
from records.ledger import until
from records.link import (
    Counters,
    FateList,
    LaterProof,
    LinkCheck,
    LinkEvent,
    LinkProof,
    LossCounters,
    LossList,
    QueueCounters,
)
from records.manifest import Capture, Cell, Manifest, Node, PlacedWorkload, Window
from records.nodes import killed
from records.schema import Outcome
from records.store import write_record, write_table
from records.verdict import Verdict
from records.window_metrics import figures
from records.workload import Command
from stacks.driver import between_clients

_SAMPLED_S = 3 * PERIOD_S  # of who lives so long in the window there are two samples


def write_trial(
    context: TrialContext,
    probed: Mapping[str, Sequence[LinkCheck]],
    measured: Measured,
    *,
    later: Mapping[str, Sequence[LaterProof]] | None = None,
) -> Verdict:
    """Write everything but the captures, which are there already, and return the verdict.

    Captures that the scenario does not keep are gone then: their packets and drops are in the manifest.
    """
    folder, result, asked = context.folder, measured.result, context.workload.asked
    work = result.with_clients(context.workload, measured.node_events, go_ns=measured.window.go_ns)
    # What came after the drain came over a link that was bare again.
    published, delivered = until(result.published, result.delivered, measured.window.drained_ns)
    set_ = rates_set(context.link, measured.played, since_ns=measured.readings[0].t_ns)
    further = [one.named(name) for name, one in measured.further.items()]
    resources = pa.concat_tables([measured.resources, set_, *further, context.host.table()])
    stamps, missing = collect(context)
    measured = replace(measured, notes=(*measured.notes, *missing))
    tables = {"published": published, "delivered": delivered, "resources": resources, **stamps}
    for name, table in tables.items():
        write_table(folder / f"{name}.parquet", table)
    proof = _proof(context, probed, measured, later or {})
    write_record(folder / LINK, proof)
    sizes = [capture.path.stat().st_size for capture in measured.captures]
    why = why_not_kept(context.settings.capture, trial=context.spec.trial, sizes=sizes)
    write_record(folder / MANIFEST, _manifest(context, measured, work, tables, no_captures=why))
    verdict = judge(
        Evidence(
            link_checks=proof.all_checks,
            offloads_on=measured.offloads_on,
            capture_drops=(
                {capture.port: capture.dropped for capture in measured.captures}
                if context.settings.capture.enabled
                else None
            ),
            resources=measured.resources,
            further_resources=[one.resources for one in measured.further.values()],
            window=measured.window,
            cores=usable_cores(),
            memory_bytes=psutil.virtual_memory().total,
            send_lateness_s=_lateness_s(result),
            clock_step_s=measured.clock_step_s,
            published=published,
            delivered=delivered,
            audiences=work.audiences,
            unreadable=sum(done.unreadable for done in result.nodes.values()) + result.cut,
            miscounted=_miscounted(result),
            lost=[*measured.gone, *result.lost_connections],
            host=context.host.readings,
            lab=kernel.current() == "lab",
            shared_machine=context.spec.shared_machine,
            open_loop=not isinstance(asked, Command) and asked.loop == "open",
            stale=result.stale,
            path_rtt=path_rtt(measured.connecting, _least_rtt(context), expected=bool(context.listeners)),
            bare=context.settings.connect == "bare",
            in_client=context.settings.driver().in_client,
            serverless=not context.services,
            on_link=isinstance(asked, Command) or bool(context.listeners),
            line=measured.line,
            full_frame_s=_full_frame_s(context),
            programs=result.programs if isinstance(asked, Command) else None,
            station_cores=context.settings.station_cores,
            stations=_stations(context),
        ),
        context.settings.checks,
        context.spec.levels,
    )
    write_record(folder / VERDICT, verdict)
    if why:
        for capture in measured.captures:
            capture.path.unlink()
    return verdict


def _stations(context: TrialContext) -> dict[str, list[str]]:
    """By station, the samples' subjects that are its processes; not of who is killed before there are samples of it."""
    gone = killed(one for one in context.settings.nodes if one.at_s < _SAMPLED_S)
    having = {one.node for one in (*context.workload.producers, *context.workload.consumers)}
    found: dict[str, list[str]] = {
        node.name: [f"generator:{node.name}"] * (node.name in having) for node in context.network.stations
    }
    for one in context.running:
        if one.node in found:
            found[one.node].append(f"server:{one.name}")
    return {name: subjects for name, subjects in found.items() if subjects and name not in gone}


def _full_frame_s(context: TrialContext) -> float:
    lines = (plan for plan in context.plans.values() if plan.made_by == "line")
    return min(map(linkplan.shortest_full_frame_s, lines), default=0.0)


def _lateness_s(result: FleetResult) -> float | None:
    """How late the generator was at most: with a send, or with the start of a program."""
    late = [max(done.worst_send_lateness_s, done.worst_loop_lag_s) for done in result.nodes.values()]
    return max([*late, *(run.started_after_s for run in result.programs)], default=None)


def _miscounted(result: FleetResult) -> int:
    """Rows by which the tables differ from what the clients say they have written."""
    done = result.nodes.values()
    acked = int(np.count_nonzero(result.published.column("outcome").to_numpy() == Outcome.ACKED))
    return (
        abs(len(result.published) - sum(one.rows["published"] for one in done))
        + abs(len(result.delivered) - sum(one.rows["delivered"] for one in done))
        + abs(acked - sum(one.acked for one in done))
    )


def _least_rtt(context: TrialContext) -> Callable[[str], float]:
    hosts: dict[str, list[str]] = {}
    for station, host in context.ways:
        hosts.setdefault(station, []).append(host)
        if between_clients(context.settings.driver()):  # either may have connected to the other
            hosts.setdefault(host, []).append(station)
    return lambda station: least_path_rtt_s(context.plans, context.network, station, hosts[station])


def _proof(
    context: TrialContext, probed: Mapping[str, Sequence[LinkCheck]], measured: Measured,
    later: Mapping[str, Sequence[LaterProof]],
) -> LinkProof:  # fmt: skip
    """The first segment's proof, which has those of the others."""
    plan = context.network.plan
    first, *others = plan.emulated
    further = tuple(
        link_proof(
            measured.further[one.name].plan, probed[one.name], measured.further[one.name], measured.window,
            segment=one.name,
        ).model_copy(update={"link": not is_medium(plan, one), "later": tuple(later.get(one.name, ()))})
        for one in others
    )  # fmt: skip
    segment = first.name if further else ""
    proof = link_proof(context.link, probed[first.name], measured, measured.window, segment=segment)
    return proof.model_copy(update={"further": further, "later": tuple(later.get(first.name, ()))})


def link_proof(
    plan: LinkPlan, probed: Sequence[LinkCheck], measured: Measured | FurtherMeasured, window: Window, *, segment: str
) -> LinkProof:
    """Probes and counters of one segment, with what was asked.  segment: its name, '' = there is no other."""
    before, start, end, last = measured.readings
    profile = plan.profile
    uses = queue_uses(plan, measured.played, measured.resources, ((start.t_ns, start.queues), (end.t_ns, end.queues)))
    seen_s = (window.drained_ns - window.start_ns) / 1e9
    return LinkProof(
        segment=segment,
        made_by=plan.made_by,
        transmission_time=linkplan.takes_time(plan),
        profile=profile.name,
        medium=profile.medium,
        rate_uplink=profile.uplink.rate,
        rate_downlink=profile.downlink.rate,
        overhead_uplink=profile.uplink.frame_overhead,
        overhead_downlink=profile.downlink.frame_overhead,
        events=tuple(LinkEvent(at_s=one.at_s, t_ns=one.t_ns, label=one.label) for one in measured.played if one.label),
        checks=(
            *probed,
            *(trial_rate_check(use) for use in uses),
            *loss_checks(plan.losses, last.stage.losses),
            *bypass_checks(before.stage, last.stage),
            *timeline_checks(plan, measured.played, until_s=seen_s),
            *trace_checks(plan, measured),
        ),
        loss_lists=tuple(
            LossList(
                name=one.name,
                direction=one.direction,
                model=one.model,
                seed=one.seed,
                modulus=one.modulus,
                listed=len(one.indices),
                sha256=one.digest,
            )
            for one in plan.losses
        ),
        fates=tuple(
            FateList(name=name, packets=layout.digested(plan), sha256=digest)
            for name, digest in layout.digests(plan).items()
        )
        if plan.made_by == "line"
        else (),
        counters=(_counters("window", start, end), _counters("trial", before, last)),
        states=linkcourse.states(plan),
        interruptions=tuple(linkcourse.interruptions(plan)),
    )


def _counters(during: str, before: Reading, after: Reading) -> Counters:
    return Counters.model_validate(
        {
            "during": during,
            "seconds": (after.t_ns - before.t_ns) / 1e9,
            "queues": tuple(
                QueueCounters(
                    name=new.name,
                    bytes=new.bytes - old.bytes,
                    packets=new.packets - old.packets,
                    dropped=new.dropped - old.dropped,
                )
                for old, new in zip(before.queues, after.queues, strict=True)
            ),
            "losses": tuple(
                LossCounters(
                    name=new.name, direction=new.direction, seen=new.seen - old.seen, dropped=new.dropped - old.dropped
                )
                for old, new in zip(before.stage.losses, after.stage.losses, strict=True)
            ),
            "dark": {way: count - before.stage.dark[way] for way, count in after.stage.dark.items()},
        }
    )


def _manifest(
    context: TrialContext, measured: Measured, work: PlacedWorkload, tables: dict[str, pa.Table], *, no_captures: str
) -> Manifest:
    spec = context.spec
    campaign = Path(spec.campaign_folder)
    return Manifest(
        scenario=context.settings.scenario,
        scenario_digest=spec.digest,
        campaign=campaign.name,
        cell=Cell(name=spec.cell, levels=spec.levels),
        trial=spec.trial,
        seed=spec.seed,
        stack=context.settings.stack,
        guarantee_class=context.workload.asked.guarantee_class,
        workload=work,
        nodes=tuple(Node(name=one.name, role=one.role, address=one.address) for one in context.network.nodes),
        profile=spec.profile.model_dump(mode="json"),
        window=measured.window,
        clock_offset_ns=measured.clock_offset_ns,
        git=spec.provenance.git,
        kernel=provenance.this_kernel(),
        medium=context.link.made_by,
        transmission_time=linkplan.takes_time(context.link),
        machine=spec.provenance.machine.model_copy(
            update={
                # What the trial had: a lab kernel has one core and a part of the memory.
                "cores": usable_cores(),
                "memory_bytes": psutil.virtual_memory().total,
                "load_1m_before": context.load_1m_before,
            }
        ),
        versions=spec.provenance.versions | digests(work.asked, before_s=psutil.Process().create_time()),
        sysctls=_sysctls(context),
        kernel_state=measured.kernel_state,
        captures=tuple(_capture(context, one, stays=not no_captures) for one in measured.captures),
        no_captures=no_captures,
        rows={name: len(table) for name, table in tables.items()},
        drained=measured.drained,
        figures=(
            commands.exact_figures(measured.result.programs)
            if isinstance(work.asked, Command)
            else figures(tables["published"], tables["delivered"], measured.window, work.audiences)
        ),
        programs=measured.result.programs,
        latency_of="sent",
        machine_cpu=machine_cpu(measured.resources, measured.window, cores=usable_cores()),
        idle_polled=context.line.idle_polled is not None,
        beside=spec.beside,
        shared_machine=spec.shared_machine,
        connecting=measured.connecting,
        node_events=measured.node_events,
        half_open=measured.half_open,
        notes=(*spec.notes, *measured.notes, *_sleepy(context)),
    )


def _sleepy(context: TrialContext) -> tuple[str, ...]:
    """What the manifest says where the line was not given processors that wake up at once."""
    return (f"{context.line.sleepy}, so idle processors slept and wake the line later",) * bool(context.line.sleepy)


def _sysctls(context: TrialContext) -> dict[str, dict[str, str]]:
    def read(names: Sequence[str]) -> dict[str, str]:
        return {name: value for name in names if (value := read_sysctl(name))}

    names = [*SYSCTLS, *context.settings.sysctls]
    nodes = {node.name: in_namespace(node.pid, lambda: read(names)) for node in context.network.nodes}
    return {"machine": read(MACHINE_SYSCTLS), **nodes}


def _capture(context: TrialContext, capture: PortCapture, *, stays: bool) -> Capture:
    place = context.capture.place(capture.port)
    digest = ""
    if stays:
        with capture.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Capture(
        file=capture.path.name,
        port=capture.port,
        side=place.point,
        node=place.node,
        snap_bytes=context.capture.snap_bytes,
        packets=capture.packets or 0,
        dropped=capture.dropped or 0,
        bytes=capture.path.stat().st_size,
        sha256=digest,
        link=place.link,
    )
