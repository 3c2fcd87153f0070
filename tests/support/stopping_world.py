"""Finished trials with invented figures: what a runner reads back of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from invented import manifest

from records.campaign import Planned
from records.link import LinkProof
from records.manifest import Cell
from records.schema import TABLES
from records.store import Trial, TrialWriter, write_record, write_table
from records.verdict import Check, Health, HealthCheck, State, Verdict

LINK = LinkProof(
    profile="nistnet-80211", medium="shared", rate_uplink=1e6, rate_downlink=1e6, checks=(), loss_lists=(), counters=()
)


def finish(
    folder: Path,
    planned: Planned,
    *,
    figures: dict[str, float] | None = None,
    state: State = State.VALID,
    failed: Check | tuple[Check, ...] = Check.LINK_RATE,
    machine_cpu: float | None = 0.1,
    beside: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    **more: Any,
) -> Trial:
    """Put a trial's manifest and verdict in place.  failed: what has failed, or of an inconclusive one is unknown.

    more: what else the manifest says.
    """
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
        rows=dict.fromkeys(TABLES, 0),
        latency_of="sent",
        **more,
    )
    write_record(path / "manifest.json", record)
    for name, schema in TABLES.items():
        write_table(path / f"{name}.parquet", schema.empty_table())
    write_record(path / "link.json", LINK)
    write_record(path / "verdict.json", verdict(state, failed if isinstance(failed, tuple) else (failed,)))
    path.rename(writer.final)
    return Trial(writer.final)


def verdict(state: State, spoilt: tuple[Check, ...]) -> Verdict:
    """A verdict of this state: everything passed, or all but the checks that are spoilt."""
    health = {State.INVALID: Health.FAILED, State.INCONCLUSIVE: Health.UNKNOWN, State.VALID: Health.PASSED}[state]
    return Verdict(
        checks=tuple(
            HealthCheck(check=check, health=health if check in spoilt else Health.PASSED, measured=2.5)
            for check in Check
        )
    )
