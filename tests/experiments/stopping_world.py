"""Finished trials with invented figures: what a runner reads back of them."""

from __future__ import annotations

from pathlib import Path

from results.campaign import Planned
from results.manifest import Cell, Git, Kernel, Machine, Manifest, Window, Workload
from results.store import Trial, TrialWriter, write_record
from results.verdict import Check, Health, HealthCheck, State, Verdict


def finish(
    folder: Path,
    planned: Planned,
    *,
    figures: dict[str, float] | None = None,
    state: State = State.VALID,
    failed: Check = Check.LINK_RATE,
    machine_cpu: float | None = 0.1,
    beside: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Trial:
    """Put a trial's manifest and verdict in place; of an invalid one the check `failed` has failed."""
    writer = TrialWriter(folder, planned.cell, planned.trial)
    path = writer.open()
    record = _manifest(planned).model_copy(
        update={"figures": figures or {}, "machine_cpu": machine_cpu, "beside": beside, "notes": notes}
    )
    write_record(path / "manifest.json", record)
    write_record(path / "verdict.json", verdict(failed if state is State.INVALID else None))
    path.rename(writer.final)
    return Trial(writer.final)


def verdict(failed: Check | None) -> Verdict:
    """Everything passed, or all but one check."""
    return Verdict(
        checks=tuple(
            HealthCheck(check=check, health=Health.FAILED if check is failed else Health.PASSED, measured=2.5)
            for check in Check
        )
    )


def _manifest(planned: Planned) -> Manifest:
    return Manifest(
        scenario="small",
        scenario_digest="0" * 64,
        campaign="20260101-000000-00000000",
        cell=Cell(name=planned.cell, levels={}),
        trial=planned.trial,
        seed=planned.seed,
        stack="reference",
        guarantee_class="nondurable, nonpersistent, ack auto",
        workload=Workload(
            topics=(), producers=(), consumers=(), body_bytes=100, loop="closed", ack="auto", persistent=False
        ),
        nodes=(),
        profile={},
        window=Window(go_ns=0, start_ns=1, end_ns=10**9, drained_ns=2 * 10**9, started_at="2026-01-01T00:00:00Z"),
        clock_offset_ns=0,
        git=Git(revision="0" * 40, dirty=False),
        kernel=Kernel(release="6.1", chosen="host"),
        machine=Machine(cpu_model="one", cores=2, memory_bytes=2**30, load_1m_before=0.0),
        versions={},
        sysctls={},
        kernel_state={},
        captures=(),
        rows={},
    )
