"""Rows of the views that come of trials' reductions: what the report's findings say, wide and typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from analysis.details import without
from analysis.findings import CellFinding, Standing, TrialFinding, gather
from analysis.journey.parts import KEYS, LATENCY
from analysis.packed import numbered
from analysis.partial import is_of_the_machine, must_see, said
from analysis.reductions.published import rows_published
from analysis.reductions.reduce import rows_of_one
from analysis.rows import SCHEMA, Rows
from analysis.sql.brought import Brought, brought
from analysis.sql.views import METRIC_NAMES, PARTS, VIEWS
from analysis.sql.work import Work
from records.campaign import Campaign
from records.manifest import Manifest
from records.store import DamagedTrial, Trial

Row = Mapping[str, object]
_TELLING = ("trials", "cells")  # they say of which trials nothing could be read; of others rows would be missing
_SERIES = frozenset(VIEWS["seconds"].schema.names)


def rows(work: Work, code: str) -> Iterator[Row]:
    """Rows of a view, by column.  code: digest of the modules that reduce (analysis.reductions.code)."""
    with brought(work) as here:
        cell = _found(here, code)
        if cell is None:
            return
        if work.view == "cells":
            yield _cell(work, cell)
            return
        for trial in cell.trials:
            for row in _OF_TRIAL[work.view](work, cell, trial):
                yield {**work.which, **row}


def _found(here: Brought, code: str) -> CellFinding | None:
    """The findings of the work's cell, of its trials alone; None where none of them had to be run."""
    work = here.work
    finished = [Trial(Path(path)) for path in work.trials]
    batches = [batch for number, trial in enumerate(finished) for batch in _reduction(here, trial, number, code)]
    campaign = Campaign.model_validate_json(work.plan)
    found = gather(campaign, Path(work.folder), finished, pa.Table.from_batches(batches, SCHEMA))
    return next((cell for cell in found.cells if cell.name == work.cell), None)


def _reduction(here: Brought, trial: Trial, number: int, code: str) -> Iterator[pa.RecordBatch]:
    try:
        if here.copy is None:
            must_see(trial.path)
            found = rows_of_one(trial.path, code)
        else:
            name = trial.path.relative_to(here.copy.folder).as_posix()
            if name in here.faults:
                raise here.faults[name]
            found = rows_published(here.copy, name, code)
        # Of all trials of a cell details would be too much at once, and its row says none.
        yield numbered(without(found) if here.work.view == "cells" else found, number)
    except Exception as error:  # whatever is wrong with one trial, the others have their rows
        if here.work.view not in _TELLING and is_of_the_machine(error):
            raise
        damage = Rows(number)
        damage.add("damage", "reduction", text=said(error))
        yield damage.batch()


def _manifest(trial: TrialFinding) -> Manifest | None:
    with suppress(DamagedTrial):
        return Trial(trial.path).manifest() if trial.path is not None else None
    return None


def _trial(work: Work, cell: CellFinding, trial: TrialFinding) -> Iterator[Row]:
    manifest = _manifest(trial)
    of_trial = {} if manifest is None else {
        "scenario": manifest.scenario, "stack": manifest.stack, "kernel": manifest.kernel.chosen,
        "medium": manifest.medium or "tc", "started_at": manifest.window.started_at,
        "window_s": manifest.window.seconds, "clock_offset_ns": manifest.clock_offset_ns,
        "guarantee_class": manifest.guarantee_class, "pattern": manifest.workload.asked.pattern.value,
    }  # fmt: skip
    ours = {name: value for name, value in trial.metrics.items() if name in METRIC_NAMES}
    others = {name: value for name, value in trial.metrics.items() if name not in METRIC_NAMES}
    yield {
        "scenario": Campaign.model_validate_json(work.plan).scenario, **of_trial, **ours,
        "levels": list(cell.levels.items()), "state": trial.standing.value, "reasons": trial.reasons,
        "seed": trial.seed, "latency_of": trial.latency_of if trial.path is not None else None,
        "lower_bounds": sorted(trial.at_least & set(trial.metrics)), "other_metrics": list(others.items()),
        "window_s": of_trial.get("window_s"),
    }  # fmt: skip


def _cell(work: Work, cell: CellFinding) -> Row:
    found = {name: _estimate(cell, name) for name in METRIC_NAMES}
    others = {name: _estimate(cell, name) for name in cell.declared}
    return {
        "campaign": Path(work.folder).name, "cell": cell.name,
        "scenario": Campaign.model_validate_json(work.plan).scenario, "levels": list(cell.levels.items()),
        "guarantee_class": cell.guarantee or None, "pattern": cell.pattern.value if cell.pattern else None,
        "trials": len(cell.trials), **{one.value: cell.count(one) for one in Standing}, **found,
        "other_metrics": [(name, one) for name, one in others.items() if one is not None],
    }  # fmt: skip


def _estimate(cell: CellFinding, metric: str) -> Row | None:
    found = cell.estimate(metric)
    if found is None:
        return None
    return {"mean": found.mean, "low": found.low, "high": found.high, "n": found.n, "lower_bound": found.at_least}


def _flows(_work: Work, _cell: CellFinding, trial: TrialFinding) -> Iterator[Row]:
    whole = {one.name for one in VIEWS["flows"].columns if pa.types.is_integer(one.type)}
    for flow, figures in trial.flows.items():
        counted = {name: int(value) if name in whole else value for name, value in figures.items()}
        yield {"flow": flow, "direction": trial.directions.get(flow), **counted}


def _seconds(_work: Work, _cell: CellFinding, trial: TrialFinding) -> Iterator[Row]:
    at: dict[float, dict[str, float]] = {}
    for series, points in trial.seconds.items():
        for t, value in points:
            at.setdefault(t, {})[series] = value
    for t in sorted(at):
        others = [(name, value) for name, value in at[t].items() if name not in _SERIES]
        yield {"t_s": t, **at[t], "other_series": others}


def _journeys(_work: Work, _cell: CellFinding, trial: TrialFinding) -> Iterator[Row]:
    told = {
        "attributed_share": trial.metrics.get("journey_share"), "why": trial.journey_why or None,
        "latency_of": trial.latency_of,
    }  # fmt: skip
    for key in (key for key in KEYS if key in trial.journey):
        parts = trial.journey[key]
        links = [(name, value) for name, value in parts.items() if name not in (LATENCY, *PARTS)]
        yield {"of": key, **{f"{name}_s": value for name, value in parts.items()}, "links_s": links, **told}
    if not trial.journey:
        yield told


def _percentiles(_work: Work, _cell: CellFinding, trial: TrialFinding) -> Iterator[Row]:
    for name, found in trial.percentiles.items():
        yield {
            "percentile": name, "latency_s": found.get("latency"), "low_s": found.get("low"),
            "high_s": found.get("high"), "lower_bound": name in trial.at_least, "latency_of": trial.latency_of,
        }  # fmt: skip


def _events(_work: Work, _cell: CellFinding, trial: TrialFinding) -> Iterator[Row]:
    for event in trial.events:
        yield {"asked_s": event.asked_s, "in_force_s": event.real_s, "label": event.label}


_OF_TRIAL = {
    "trials": _trial, "flows": _flows, "seconds": _seconds, "journeys": _journeys, "percentiles": _percentiles,
    "events": _events,
}  # fmt: skip
OF_REDUCTIONS = frozenset({"cells", *_OF_TRIAL})
