"""What the page of one trial shows, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.findings import CellFinding, Findings, Standing, TrialFinding, folder_of
from analysis.names import trial_page
from analysis.plots.distribution import distribution
from analysis.plots.journeybars import journey_sketch, trial_bars
from analysis.plots.overtime import measured, overtime
from analysis.plots.sketch import Sketch
from analysis.report import provenance, timeline
from analysis.report.flows import flow_rows
from analysis.report.journey import journey_table
from analysis.report.limits import limited_trial, unrecorded_checks, use_rows
from analysis.report.places import untimed
from analysis.report.programs import program_rows
from analysis.report.provenance import Source
from analysis.report.shown import Shown, amount, number
from analysis.report.view import drawing, title_of, with_links
from analysis.report.why import is_rerun, run_again
from analysis.units import digits
from analysis.worded import is_programs, metrics_for, words_for
from records.verdict import HealthCheck
from records.words import Words

_MOST_LINKS, _AROUND = 24, 5  # trials of the cell that a page leads to; of more, so many before and after its own
_TONES = {Standing.VALID: "good", Standing.INCONCLUSIVE: "mixed"}


def trial_view(findings: Findings, source: Source, *, colour: str, means: dict[str, Shown]) -> dict[str, Any]:
    """Everything its template needs.  colour: of the trial's cell.  means: the cell's, by metric."""
    cell = source.cell
    trial = next(one for one in cell.trials if one.number == source.number)
    checks, words = source.verdict.checks if source.verdict else (), words_for([cell])
    return {
        "scenario": findings.campaign.scenario,
        "campaign": findings.folder.name,
        "cell": cell.name,
        "title": title_of(cell),
        "number": trial.number,
        "folder": folder_of(cell.name, trial.number),
        "seed": trial.seed,
        "neighbours": _neighbours(cell, trial),
        "tone": _TONES.get(trial.standing, "bad"),
        "verdict": _verdict(trial, checks),
        "checks": [_check(one) for one in checks],
        "limited": limited_trial(source.verdict),
        "uses": use_rows(source.verdict),
        "unrecorded": unrecorded_checks(source.verdict),
        "rerun": run_again(trial.reasons),
        "notes": [*_notes(trial, checks, words), *filter(None, [untimed(with_links([source]))])],
        "figures": [
            (
                metric.label,
                metric.about,
                amount(metric, trial.metrics[name], at_least=name in trial.at_least),
                means[name],
            )
            for name, metric in metrics_for([cell]).items()
            if name in trial.metrics
        ],
        "drawings": [drawing(one) for one in _drawings(trial, colour, words)],
        "bars": [drawing(one) for one in _bars(trial, colour)],
        "journey": None if is_programs(cell) else journey_table([trial]),
        "programs": program_rows(cell, source.manifest),
        "events": timeline.events_of(trial) if trial.events else None,
        "flows": flow_rows([trial]),
        "links": (links := provenance.link_rows([source])),
        "several_links": len({row["profile"] for row in links}) > 1,
        "losses": provenance.loss_lines([source]),
        "captures": provenance.capture_lines([source]),
        "elsewhere": provenance.elsewhere_lines([source]),
        "packets": [(file, kind, number(count)) for (file, kind), count in trial.packets.items()],
        "facts": [("Seed", str(trial.seed)), *provenance.facts([source])],
    }


def _neighbours(cell: CellFinding, trial: TrialFinding) -> list[list[tuple[str, int]]]:
    """Page and number of the trials of the cell that have one; no page for this trial itself.

    Of many only the first, the last and those around this one: runs, between which some are left out.
    """
    there = [other for other in cell.trials if other.path is not None]
    here = next(place for place, other in enumerate(there) if other is trial)
    count = len(there)
    near = range(max(here - _AROUND, 0), min(here + _AROUND + 1, count))
    runs: list[list[tuple[str, int]]] = []
    last = -2
    for place in range(count) if count <= _MOST_LINKS else sorted({0, *near, count - 1}):
        if place > last + 1:
            runs.append([])
        page = "" if place == here else trial_page(cell.name, there[place].number)
        runs[-1].append((page, there[place].number))
        last = place
    return runs


def _verdict(trial: TrialFinding, checks: Sequence[HealthCheck]) -> str:
    passed = sum(check.health == "passed" for check in checks)
    left = sum(check.health == "not applicable" for check in checks)
    said = f"This trial is {trial.standing}: {passed} of {len(checks) - left} health checks passed"
    said += "".join(f", {_name(check)} {check.health}" for check in checks if check.health in ("failed", "unknown"))
    said += f", {left} do not apply to programs" if left > 1 else ""  # one does not to messages: that of programs
    waived = [check.check.value for check in checks if check.health == "waived"]
    said += f", waived by name: {', '.join(waived)}" if waived else ""
    return f"{said}." if trial.standing is Standing.VALID else f"{said}. It does not enter the cell's numbers."


def _name(check: HealthCheck) -> str:
    return check.check.value.replace("_", " ")


def _check(check: HealthCheck) -> dict[str, Any]:
    figures = [number(value, "–" if value is None else digits(value)) for value in (check.measured, check.limit)]
    return {
        "name": _name(check), "health": check.health.value, "figures": figures,
        "unit": check.unit, "detail": check.detail,
    }  # fmt: skip


def _notes(trial: TrialFinding, checks: Sequence[HealthCheck], words: Words) -> list[str]:
    """What is said of the trial beside its health checks, which have a table of their own."""
    said = {check.reason for check in checks}
    mine = [reason for reason in trial.reasons if reason not in said and not is_rerun(reason)]
    return [*mine, *(one.text(words) for one in trial.trends)]


def _drawings(trial: TrialFinding, colour: str, words: Words) -> list[Sketch]:
    found = []
    if measured(trial):
        found.append(overtime([trial], title="Over time", note="", colour=colour, words=words))
    if trial.ecdf:
        found.append(distribution(trial, colour=colour, words=words))
    return found


def _bars(trial: TrialFinding, colour: str) -> list[Sketch]:
    if not trial.journey:
        return []
    return [journey_sketch([trial_bars(trial, colour)])]
