"""Reducing one trial folder to a few hundred rows: what one Spark task does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from analysis.captures import capture_rows
from analysis.interruptions import absences, interruption_metrics
from analysis.journey.rows import journey_rows
from analysis.ledger import Ledger, account_metrics, latency_ecdf, latency_percentiles, read_ledger, window_metrics
from analysis.medium import medium_metrics
from analysis.packed import packed_rows
from analysis.rates import overhead_is_known, rate_steps
from analysis.recorded import read_captures
from analysis.rows import Rows
from analysis.series import ledger_series, queue_series, window_uses
from analysis.stationarity import window_trends
from results.manifest import Manifest, Window
from results.store import DamagedTrial, Trial
from results.verdict import Health

# What reading a folder that somebody damaged may raise; anything else is a mistake of ours and must be seen.
DAMAGE = (DamagedTrial, OSError, ValueError, ArithmeticError, LookupError, pa.ArrowException)

T = TypeVar("T")


def reduce_trial(path: Path, number: int) -> pa.RecordBatch:
    """Everything the report needs of the trial at `path`, in the shape of analysis.rows.SCHEMA.

    What cannot be read becomes rows of table `damage`, with the reason; the rest of the trial is still given.  A
    trial of which files stand elsewhere was reduced by whoever packed it.
    """
    rows = Rows(number)
    trial = Trial(path)
    try:
        if trial.elsewhere():
            return packed_rows(trial, number)
    except DAMAGE as error:
        rows.add("damage", "reduction", text=str(error))
        return rows.batch()
    try:
        manifest = trial.manifest()
    except DamagedTrial as error:
        rows.add("damage", "manifest", text=str(error))
        return rows.batch()
    _part("verdict", rows, lambda: _verdict(trial, manifest, rows))
    told = _part("ledger", rows, lambda: _ledger(trial, manifest, rows))
    if manifest.no_captures or (manifest.captures and not any(capture.kept for capture in manifest.captures)):
        rows.add("journey", "why", text=manifest.no_captures or "this trial's captures were not kept")
        return rows.batch()
    recorded = read_captures(trial, manifest, rows)
    _part("captures", rows, lambda: capture_rows(recorded, manifest, rows))
    if told:
        _part("journey", rows, lambda: journey_rows(trial, manifest, recorded, rows))
    return rows.batch()


def _part(name: str, rows: Rows, work: Callable[[], None]) -> bool:
    """Do one part of the work; False, and the reason as a row, when the folder does not have what it needs."""
    try:
        work()
    except DAMAGE as error:
        rows.add("damage", name, text=str(error) or type(error).__name__)
        return False
    return True


def _verdict(trial: Trial, manifest: Manifest, rows: Rows) -> None:
    verdict = trial.verdict()
    rows.add("trial", "state", text=verdict.state.value)
    rows.add("trial", "seed", value=float(manifest.seed), text=str(manifest.seed))
    rows.add("trial", "waived", value=float(sum(check.health is Health.WAIVED for check in verdict.checks)))
    rows.add("trial", "lab_kernel", value=float(manifest.kernel.chosen == "lab"))
    for note in manifest.notes:
        rows.add("note", "reason", text=note)
    for check in verdict.checks:
        if check.health is not Health.PASSED:
            rows.add("note", "reason", text=check.reason)
    for missing in sorted(verdict.missing):
        rows.add("note", "reason", text=f"{missing} unknown: this trial's verdict does not have it")


def _ledger(trial: Trial, manifest: Manifest, rows: Rows) -> None:
    window = manifest.window
    if window.end_ns <= window.start_ns:
        raise DamagedTrial(
            f"{trial.path / 'manifest.json'}: the window ends at {window.end_ns} ns, not after {window.start_ns}"
        )
    tables = {name: trial.table(name) for name in ("published", "delivered", "resources")}
    for name, table in tables.items():
        if table.num_rows != manifest.rows.get(name, table.num_rows):
            raise DamagedTrial(
                f"{trial.path / name}.parquet: {table.num_rows} rows, the manifest says {manifest.rows[name]}"
            )
    published, delivered = tables["published"], tables["delivered"]
    ledger, proof = read_ledger(published, delivered), trial.link()
    metrics = window_metrics(ledger, window) | account_metrics(published, delivered, manifest.workload.consumers)
    steps = rate_steps(tables["resources"], window, proof)
    uses = window_uses(tables["resources"], window, steps)
    medium = medium_metrics(proof, deliveries=metrics["deliveries"] or 0.0, steps=steps, uses=uses)
    queues = queue_series(tables["resources"], proof, window, steps)
    if not overhead_is_known(tables["resources"], manifest.profile):
        medium, queues = _without_use(medium), _without_use(queues)
    metrics |= medium
    metrics |= interruption_metrics(ledger, manifest.workload.consumers, profile=manifest.profile, window=window)
    metrics["window_s"] = window.seconds
    if manifest.workload.when_full == "refuse":
        metrics["retries"] = float(sum(one.retries for one in manifest.workload.producers))
    for name, value in metrics.items():
        if value is not None:
            rows.add("trial", name, value=value)
    for name, points in (ledger_series(ledger, window) | queues).items():
        for t, value in points:
            rows.add("second", name, t=t, value=value)
    for event in proof.events:
        rows.add("event", t=event.at_s, value=(event.t_ns - window.start_ns) / 1e9, text=event.label)
    for t_ns, label in absences(manifest.workload.consumers):
        at = (t_ns - window.start_ns) / 1e9
        rows.add("event", t=round(at, 1), value=at, text=label)
    _distribution(ledger, window, rows)
    for name, trend in window_trends(ledger, window).items():
        rows.add("trend", name, t=trend.p, value=trend.change)


def _without_use(found: dict[str, T]) -> dict[str, T]:
    """But for what depends on what frames cost, which was not recorded."""
    return {name: one for name, one in found.items() if "utilisation" not in name}


def _distribution(ledger: Ledger, window: Window, rows: Rows) -> None:
    for name, found in latency_percentiles(ledger, window).items():
        for metric, value in (("latency", found.value), ("low", found.low), ("high", found.high)):
            if value is not None:
                rows.add("percentile", metric, key=name, value=value)
    for share, latency in zip(*(np.asarray(a).tolist() for a in latency_ecdf(ledger, window)), strict=True):
        rows.add("ecdf", "latency_s", t=share, value=latency)
