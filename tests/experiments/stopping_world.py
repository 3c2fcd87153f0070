"""Finished trials with invented figures: what a runner reads back of them."""

from __future__ import annotations

from pathlib import Path

from invented import manifest

from results.campaign import Planned
from results.manifest import Cell
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
    record = manifest(
        cell=Cell(name=planned.cell, levels={}),
        trial=planned.trial,
        seed=planned.seed,
        figures=figures or {},
        machine_cpu=machine_cpu,
        beside=beside,
        notes=notes,
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
