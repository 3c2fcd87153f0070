"""From what was measured to the files of a trial folder, and the verdict."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from emulation import kernel, linkplan
from emulation.bypass import bypass_checks
from emulation.capture import PortCapture
from emulation.line import layout
from emulation.linkplan import LinkPlan
from emulation.namespace import in_namespace, read_sysctl
from emulation.trialproof import loss_checks, timeline_checks, trial_rate_check
from experiments import provenance
from experiments.bench import Bench
from experiments.capturing import why_not_kept
from experiments.health import Evidence, judge
from experiments.load.fleet import FleetResult
from experiments.measure import Measured, Reading
from experiments.path_rtt import path_rtt
from experiments.plan import guarantee_class
from experiments.provenance import MACHINE_SYSCTLS, SYSCTLS
from experiments.queue_use import queue_uses, rates_set
from experiments.samples import machine_cpu
from experiments.traced import trace_checks
from results.figures import figures
from results.ledger import until
from results.link import (
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
from results.manifest import Capture, Cell, Manifest, Node
from results.schema import Outcome
from results.store import LINK, MANIFEST, VERDICT, write_record, write_table
from results.verdict import Verdict


def record(
    bench: Bench, probed: Sequence[LinkCheck], measured: Measured, *, later: Sequence[LaterProof] = ()
) -> Verdict:
    """Write everything but the captures, which are there already, and return the verdict.

    Captures that the scenario does not keep are gone then: their packets and drops are in the manifest.
    """
    folder, result = bench.folder, measured.result
    # What came after the drain came over a link that was bare again.
    published, delivered = until(result.published, result.delivered, measured.window.drained_ns)
    set_ = rates_set(bench.link, measured.played, since_ns=measured.readings[0].t_ns)
    resources = pa.concat_tables([measured.resources, set_, bench.host.table()])
    tables = {"published": published, "delivered": delivered, "resources": resources}
    for name, table in tables.items():
        write_table(folder / f"{name}.parquet", table)
    proof = link_proof(bench, probed, measured).model_copy(update={"later": tuple(later)})
    write_record(folder / LINK, proof)
    sizes = [capture.path.stat().st_size for capture in measured.captures]
    why = why_not_kept(bench.settings.capture, trial=bench.spec.trial, sizes=sizes)
    write_record(folder / MANIFEST, _manifest(bench, measured, tables, no_captures=why))
    verdict = judge(
        Evidence(
            link_checks=proof.checks,
            offloads_on=measured.offloads_on,
            capture_drops=(
                {capture.port: capture.dropped for capture in measured.captures}
                if bench.settings.capture.enabled
                else None
            ),
            resources=measured.resources,
            window=measured.window,
            cores=os.cpu_count() or 1,
            memory_bytes=psutil.virtual_memory().total,
            send_lateness_s=max(
                (max(done.worst_send_lateness_s, done.worst_loop_lag_s) for done in result.nodes.values()),
                default=None,
            ),
            clock_step_s=measured.clock_step_s,
            published=published,
            delivered=delivered,
            consumers=bench.workload.consumers,
            unreadable=sum(done.unreadable for done in result.nodes.values()),
            miscounted=_miscounted(result),
            lost=[*measured.gone, *result.lost_connections],
            host=bench.host.readings,
            lab=kernel.current() == "lab",
            shared_machine=bench.spec.shared_machine,
            open_loop=bench.workload.loop == "open",
            stale=result.stale,
            path_rtt=path_rtt(measured.connecting, bench.link, expected=bool(bench.services)),
            bare=bench.settings.connect == "bare",
            line=measured.line,
        ),
        bench.settings.checks,
        bench.spec.levels,
    )
    write_record(folder / VERDICT, verdict)
    if why:
        for capture in measured.captures:
            capture.path.unlink()
    return verdict


def _miscounted(result: FleetResult) -> int:
    """Rows by which the tables differ from what the clients say they have written."""
    done = result.nodes.values()
    acked = int(np.count_nonzero(result.published.column("outcome").to_numpy() == Outcome.ACKED))
    return (
        abs(len(result.published) - sum(one.rows["published"] for one in done))
        + abs(len(result.delivered) - sum(one.rows["delivered"] for one in done))
        + abs(acked - sum(one.acked for one in done))
    )


def link_proof(bench: Bench, probed: Sequence[LinkCheck], measured: Measured) -> LinkProof:
    """Probes and counters of one trial, with what was asked."""
    before, start, end, last = measured.readings
    plan, profile = bench.link, bench.profile
    uses = queue_uses(plan, measured.played, measured.resources, ((start.t_ns, start.queues), (end.t_ns, end.queues)))
    seen_s = (measured.window.drained_ns - measured.window.start_ns) / 1e9
    return LinkProof(
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


def _manifest(bench: Bench, measured: Measured, tables: dict[str, pa.Table], *, no_captures: str) -> Manifest:
    spec = bench.spec
    campaign = Path(spec.campaign_folder)
    return Manifest(
        scenario=bench.settings.scenario,
        scenario_digest=spec.digest,
        campaign=campaign.name,
        cell=Cell(name=spec.cell, levels=spec.levels),
        trial=spec.trial,
        seed=spec.seed,
        stack=bench.settings.stack,
        guarantee_class=guarantee_class(bench.settings),
        workload=measured.result.with_clients(bench.workload),
        nodes=tuple(Node(name=one.name, role=one.role, address=one.address) for one in bench.network.nodes),
        profile=spec.profile,
        window=measured.window,
        clock_offset_ns=measured.clock_offset_ns,
        git=spec.provenance.git,
        kernel=provenance.this_kernel(),
        medium=bench.link.made_by,
        transmission_time=_pays_for_frames(bench.link),
        machine=spec.provenance.machine.model_copy(
            update={
                # What the trial had: a lab kernel has one core and a part of the memory.
                "cores": os.cpu_count() or 1,
                "memory_bytes": psutil.virtual_memory().total,
                "load_1m_before": bench.load_1m_before,
            }
        ),
        versions=spec.provenance.versions,
        sysctls=_sysctls(bench),
        kernel_state=measured.kernel_state,
        captures=tuple(_capture(bench, one, stays=not no_captures) for one in measured.captures),
        no_captures=no_captures,
        rows={name: len(table) for name, table in tables.items()},
        drained=measured.drained,
        figures=figures(tables["published"], tables["delivered"], measured.window, bench.workload.consumers),
        latency_of="sent",
        machine_cpu=machine_cpu(measured.resources, measured.window, cores=os.cpu_count() or 1),
        beside=spec.beside,
        shared_machine=spec.shared_machine,
        connecting=measured.connecting,
        notes=(*spec.notes, *measured.notes),
    )


def _pays_for_frames(plan: LinkPlan) -> bool:
    """Whether a frame takes its transmission time on an idle link, too; without a rate it has none."""
    return plan.pays_for_frames or not linkplan.queues(plan)


def _sysctls(bench: Bench) -> dict[str, dict[str, str]]:
    def read(names: Sequence[str]) -> dict[str, str]:
        return {name: value for name in names if (value := read_sysctl(name))}

    names = [*SYSCTLS, *bench.settings.sysctls]
    nodes = {node.name: in_namespace(node.pid, lambda: read(names)) for node in bench.network.nodes}
    return {"machine": read(MACHINE_SYSCTLS), **nodes}


def _capture(bench: Bench, capture: PortCapture, *, stays: bool) -> Capture:
    place = bench.capture.place(capture.port)
    digest = ""
    if stays:
        with capture.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Capture(
        file=capture.path.name,
        port=capture.port,
        side=place.point,
        node=place.node,
        snap_bytes=bench.capture.snap_bytes,
        packets=capture.packets or 0,
        dropped=capture.dropped or 0,
        bytes=capture.path.stat().st_size,
        sha256=digest,
    )
