"""From what was measured to the files of a trial folder, and the verdict."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from emulation import linkplan
from emulation.capture import PortCapture
from emulation.direction import FULL_FRAME
from emulation.linkplan import Queue
from emulation.namespace import in_namespace, read_sysctl
from emulation.proof import QueueUse, loss_checks, timeline_checks, trial_rate_check
from experiments import provenance
from experiments.bench import Bench
from experiments.health import Evidence, judge, machine_cpu
from experiments.load.fleet import FleetResult
from experiments.measure import Measured, Reading
from experiments.plan import guarantee_class
from experiments.provenance import MACHINE_SYSCTLS, SYSCTLS
from results.figures import figures
from results.ledger import until
from results.link import Counters, LinkCheck, LinkEvent, LinkProof, LossCounters, LossList, QueueCounters
from results.manifest import Capture, Cell, Manifest, Node
from results.schema import Outcome, resources_table
from results.store import LINK, MANIFEST, VERDICT, write_record, write_table
from results.verdict import Verdict


def record(bench: Bench, probed: Sequence[LinkCheck], measured: Measured) -> Verdict:
    """Write everything but the captures, which are there already, and return the verdict.

    Captures that the scenario does not keep are gone then: their packets and drops are in the manifest.
    """
    folder, result = bench.folder, measured.result
    # What came after the drain came over a link that was bare again.
    published, delivered = until(result.published, result.delivered, measured.window.drained_ns)
    resources = pa.concat_tables([measured.resources, _rates_set(bench, measured)])
    tables = {"published": published, "delivered": delivered, "resources": resources}
    for name, table in tables.items():
        write_table(folder / f"{name}.parquet", table)
    proof = link_proof(bench, probed, measured)
    write_record(folder / LINK, proof)
    stays = kept([capture.path.stat().st_size for capture in measured.captures], bench.settings.capture.keep_mb)
    write_record(folder / MANIFEST, _manifest(bench, measured, tables, captures_stay=stays))
    verdict = judge(
        Evidence(
            link_checks=proof.checks,
            offloads_on=measured.offloads_on,
            capture_drops={capture.port: capture.dropped for capture in measured.captures},
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
        ),
        bench.settings.checks,
        bench.spec.levels,
    )
    write_record(folder / VERDICT, verdict)
    if not stays:
        for capture in measured.captures:
            capture.path.unlink()
    return verdict


def kept(sizes: Iterable[int], keep_mb: float | None) -> bool:
    """Whether captures of these sizes (bytes) stay with their trial."""
    return keep_mb is None or sum(sizes) <= keep_mb * 1e6


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
    applied_at, start, end, last = measured.readings
    uses = _queue_uses(bench, measured)
    plan, profile = bench.link, bench.profile
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
            *loss_checks(plan.losses, last.losses),
            *timeline_checks(plan, measured.played, until_s=seen_s),
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
        counters=(_counters("window", start, end), _counters("trial", applied_at, last)),
    )


def _queue_uses(bench: Bench, measured: Measured) -> list[QueueUse]:
    _, start, end, _ = measured.readings
    uses = []
    for queue, before, after in zip(linkplan.queues(bench.link), start.queues, end.queues, strict=True):
        medium = linkplan.medium(queue, bench.link.first)
        rates = _rates(bench, measured, queue)
        uses.append(
            QueueUse(
                direction=queue.direction,
                medium=medium,
                rate=_mean(rates, start.t_ns, end.t_ns),
                seconds=(end.t_ns - start.t_ns) / 1e9,
                before=before,
                after=after,
                never_empty=len(rates) == 1 and _never_empty(measured, queue.name, rates[0][1]),
                extra_bytes=sum(start.t_ns <= t_ns < end.t_ns for t_ns, _ in rates[1:]) * FULL_FRAME,
            )
        )
    return uses


def _rates_set(bench: Bench, measured: Measured) -> pa.Table:
    """The rates that a timeline has set, as rows of the trial's resources."""
    rows = [
        (max(t_ns, measured.readings[0].t_ns), f"queue:{queue.name}", "rate_bit_per_s", rate)
        for queue in linkplan.queues(bench.link)
        if len(rates := _rates(bench, measured, queue)) > 1
        for t_ns, rate in rates
    ]
    return resources_table(rows)


def _rates(bench: Bench, measured: Measured, queue: Queue) -> list[tuple[int, float]]:
    """From when (ns) a queue had which rate (bit/s), the first from the beginning on; only changes."""
    found = [(0, linkplan.medium(queue, bench.link.first).rate or 0.0)]
    for step, one in zip(bench.link.steps, measured.played, strict=False):
        held = queue.direction in step.state.held
        rate = 0.0 if held else linkplan.medium(queue, step.state).rate or 0.0
        if rate != found[-1][1]:
            found.append((one.t_ns, rate))
    return found


def _mean(rates: Sequence[tuple[int, float]], start_ns: int, end_ns: int) -> float:
    """Mean of a rate between two moments."""
    ends = [t_ns for t_ns, _ in rates[1:]] + [end_ns]
    parts = [
        rate * max(min(until, end_ns) - max(since, start_ns), 0)
        for (since, rate), until in zip(rates, ends, strict=True)
    ]
    return sum(parts) / (end_ns - start_ns)


def _never_empty(measured: Measured, queue: str, rate: float) -> bool:
    """Whether every sample in the window found more waiting than the queue could send until the next one."""
    table, window = measured.resources, measured.window
    t_ns = table.column("t_ns").to_numpy()
    mask = (
        (table.column("subject").to_numpy(zero_copy_only=False) == f"queue:{queue}")
        & (table.column("metric").to_numpy(zero_copy_only=False) == "backlog_bytes")
        & (t_ns >= window.start_ns)
        & (t_ns < window.end_ns)
    )
    times = np.concatenate([[window.start_ns], t_ns[mask], [window.end_ns]])
    backlog = table.column("value").to_numpy()[mask]
    return len(backlog) > 0 and bool(backlog.min() >= rate / 8 * float(np.diff(times).max()) / 1e9)


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
                for old, new in zip(before.losses, after.losses, strict=True)
            ),
        }
    )


def _manifest(bench: Bench, measured: Measured, tables: dict[str, pa.Table], *, captures_stay: bool) -> Manifest:
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
        captures=tuple(_capture(bench, one, stays=captures_stay) for one in measured.captures),
        rows={name: len(table) for name, table in tables.items()},
        drained=measured.drained,
        figures=figures(tables["published"], tables["delivered"], measured.window, bench.workload.consumers),
        latency_of="sent",
        machine_cpu=machine_cpu(measured.resources, measured.window, cores=os.cpu_count() or 1),
        beside=spec.beside,
        notes=(*spec.notes, *measured.notes),
    )


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
