"""Reducing one trial folder to a few hundred rows: what one Spark task does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from analysis.backlog import backlog_metrics, backlog_trend
from analysis.captures import capture_rows
from analysis.interruptions import COME_BACK, LEAVE, absences, having_streams, interruption_metrics
from analysis.journey.rows import journey_rows, stamped_rows
from analysis.ledger import account_metrics, latency_ecdf, latency_percentiles
from analysis.looked import Looked, all_sent
from analysis.measure import Measure, Measured, measured
from analysis.medium import medium_metrics
from analysis.metrics import BROKEN, MODULES
from analysis.packed import packed_rows
from analysis.partial import DAMAGE, MEASURES, PARTIAL, part
from analysis.rates import overhead_is_known, rate_steps
from analysis.recorded import Recorded, read_captures, reading
from analysis.rows import Rows
from analysis.series import Series, ledger_series, queue_series, window_uses
from analysis.stationarity import window_trends
from records.commands import DURATION, figures
from records.counting import read_tables
from records.latency import AT_LEAST, latencies, responses, sent_in_window
from records.link import LinkProof
from records.manifest import Manifest
from records.store import DamagedTrial, Trial
from records.verdict import Health
from records.waits import Figure, Lengths, read_sent
from records.window_metrics import read_ledger, window_metrics
from records.workload import Command, PubSub

T = TypeVar("T")


def reduce_trial(path: Path, number: int, looked: Looked | None = None) -> pa.RecordBatch:
    """Everything the report needs of the trial at `path`, in the shape of analysis.rows.SCHEMA.

    looked: what other tasks have found in its captures, None where nobody has looked.

    Records or a ledger that cannot be read become rows of table `damage`, with the reason; a capture or a part of the
    analysis that fails becomes one of table `partial`; the rest of the trial is given all the same.  A trial of
    which files stand elsewhere was reduced by whoever packed it.
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
    part("verdict", rows, lambda mine: _verdict(trial, manifest, mine), table="damage")
    programs = isinstance(manifest.workload.asked, Command)
    load = _programs if programs else _ledger
    told = part("ledger", rows, lambda mine: load(trial, manifest, mine), table="damage")
    stamped = "stamps" in manifest.rows  # what a journey is told from then, with captures or without
    if stamped and told:
        part("journey", rows, lambda mine: stamped_rows(trial, manifest, mine))
    if manifest.no_captures or (manifest.captures and not any(capture.kept for capture in manifest.captures)):
        if not stamped:
            rows.add("journey", "why", text=manifest.no_captures or "this trial's captures were not kept")
        return rows.batch()
    read = reading(trial) if looked is None else looked.read
    recorded, broken = read_captures(trial, manifest, rows, read=read)
    # Shares and means over some of the packets would be the trial's for a reader: of a damaged capture only flows and
    # seconds are told.
    without = ("trial",) if broken else ()
    part("captures", rows, lambda mine: _captures(recorded, manifest, looked, mine), without=without)
    if stamped:
        return rows.batch()
    if broken:
        rows.add("journey", "why", text=f"{', '.join(broken)} cannot be read to its end")
    elif programs:
        rows.add("journey", "why", text="programs send no messages that could be followed")
    elif told:
        on_links, broken = read_captures(trial, manifest, rows, read=read, links=True)
        followed = recorded if broken else recorded + on_links
        part("journey", rows, lambda mine: journey_rows(trial, manifest, followed, mine, looked))
    return rows.batch()


def _verdict(trial: Trial, manifest: Manifest, rows: Rows) -> None:
    verdict = trial.verdict()
    rows.add("trial", "state", text=verdict.state.value)
    rows.add("trial", "seed", value=float(manifest.seed), text=str(manifest.seed))
    rows.add("trial", "waived", value=float(sum(check.health is Health.WAIVED for check in verdict.checks)))
    rows.add("trial", "lab_kernel", value=float(manifest.kernel.chosen == "lab"))
    for note in manifest.notes:
        rows.add("note", "reason", text=note)
    for check in verdict.checks:
        if check.health not in (Health.PASSED, Health.NOT_APPLICABLE):
            rows.add("note", "reason", text=check.reason)
    for missing in sorted(verdict.missing):
        rows.add("note", "reason", text=f"{missing} unknown: this trial's verdict does not have it")


def _ledger(trial: Trial, manifest: Manifest, rows: Rows) -> None:
    window, consumers, them = manifest.window, manifest.workload.consumers, manifest.workload.audiences
    tables = read_tables(trial, manifest)
    published, delivered = tables["published"], tables["delivered"]
    ledger, proof = read_ledger(published, delivered, them), trial.link()
    sent = read_sent(published, delivered, them, manifest.stopped)
    metrics = window_metrics(ledger, window) | account_metrics(published, delivered, them)
    metrics |= _of_the_link(tables["resources"], proof, manifest, rows, deliveries=metrics["deliveries"] or 0.0)
    waiting = having_streams(consumers, ledger) if manifest.workload.asked.undivided else consumers
    metrics |= interruption_metrics(ledger, waiting, link=proof.all_interruptions, window=window)
    metrics |= backlog_metrics(sent, window)
    _add(metrics, rows)
    found = Measured(manifest=manifest, proof=proof, tables=tables, ledger=ledger, sent=sent)
    for name, module in MODULES.items():
        part(f"{MEASURES}{name}", rows, partial(_measured, module, found))
    for name, why in BROKEN.items():
        rows.add(PARTIAL, f"{MEASURES}{name}", text=why)
    rows.add("trial", "latency_of", text="sent")
    timed = latencies(sent, window)
    if manifest.workload.asked.replies:
        timed |= responses(sent, window)
    for name, figure in timed.items():
        _figure(rows, name, figure)
    _add_series(ledger_series(ledger, window), rows)
    for change in manifest.node_events:
        rows.add("event", t=change.at_s, value=(change.t_ns - window.start_ns) / 1e9, text=str(change))
    asked = _asked(manifest)
    for t_ns, label in absences(consumers):
        at = (t_ns - window.start_ns) / 1e9
        rows.add("event", t=asked.get(label, at), value=at, text=label)
    _distribution(sent_in_window(sent.deliveries, window), rows)
    for name, trend in (window_trends(ledger, window) | backlog_trend(sent, window)).items():
        rows.add("trend", name, t=trend.p, value=trend.change)


def _captures(recorded: Recorded, manifest: Manifest, looked: Looked | None, rows: Rows) -> None:
    capture_rows(all_sent(recorded, manifest, looked), manifest, rows)


def _asked(manifest: Manifest) -> dict[str, float]:
    """When subscribers were asked to leave, and to come back, in seconds after the window's start."""
    work = manifest.workload.asked
    away = work.away if isinstance(work, PubSub) else None
    return {} if away is None else {LEAVE: away.at_s, COME_BACK: away.at_s + away.lasts_s}


def _programs(trial: Trial, manifest: Manifest, rows: Rows) -> None:
    """What programs printed, how long they took, and the link that they went over."""
    tables, proof = read_tables(trial, manifest), trial.link()
    found = figures(manifest.programs)
    lasted = Figure(found.pop(DURATION), at_least=any(run.timed_out for run in manifest.programs))
    _add(_of_the_link(tables["resources"], proof, manifest, rows, deliveries=0.0) | found, rows)
    _figure(rows, DURATION, lasted)
    rows.add("trial", "latency_of", text="sent")


def _of_the_link(
    resources: pa.Table, proof: LinkProof, manifest: Manifest, rows: Rows, *, deliveries: float
) -> dict[str, float | None]:
    """Metrics of the medium and the window; adds the link's seconds and its events."""
    window = manifest.window
    steps = rate_steps(resources, window, proof)
    uses = window_uses(resources, window, steps)
    medium = medium_metrics(proof, deliveries=deliveries, steps=steps, uses=uses)
    queues = queue_series(resources, proof, window, steps)
    if not overhead_is_known(resources, proof):
        medium, queues = _without_use(medium), _without_use(queues)
    _add_series(queues, rows)
    for event in proof.all_events:
        rows.add("event", t=event.at_s, value=(event.t_ns - window.start_ns) / 1e9, text=event.label)
    return medium | {"window_s": window.seconds}


def _add(metrics: Mapping[str, float | None], rows: Rows) -> None:
    for name, value in metrics.items():
        if value is not None:
            rows.add("trial", name, value=value)


def _add_series(found: Series, rows: Rows) -> None:
    for name, points in found.items():
        for t, value in points:
            rows.add("second", name, t=t, value=value)


def _measured(module: Measure, found: Measured, rows: Rows) -> None:
    for name, figure in measured(module, found).items():
        _figure(rows, name, figure)


def _figure(rows: Rows, name: str, figure: Figure) -> None:
    rows.add("trial", name, value=figure.value, text=AT_LEAST if figure.at_least else None)


def _without_use(found: dict[str, T]) -> dict[str, T]:
    """But for what depends on what frames cost, which was not recorded."""
    return {name: one for name, one in found.items() if "utilisation" not in name}


def _distribution(lengths: Lengths, rows: Rows) -> None:
    for name, (value, found) in latency_percentiles(lengths).items():
        rows.add("percentile", "latency", key=name, value=value.value, text=AT_LEAST if value.at_least else None)
        for metric, end in (("low", found.low), ("high", found.high)):
            if end is not None:
                rows.add("percentile", metric, key=name, value=end)
    for share, latency in zip(*(np.asarray(a).tolist() for a in latency_ecdf(lengths)), strict=True):
        rows.add("ecdf", "latency_s", t=share, value=latency)
