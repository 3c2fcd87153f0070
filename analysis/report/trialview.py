"""What the page of one trial shows, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.findings import Findings, Standing, TrialFinding, folder_of
from analysis.plots.distribution import distribution
from analysis.plots.journeybars import journey_sketch, trial_bars
from analysis.plots.overtime import measured, overtime
from analysis.plots.sketch import Sketch
from analysis.report import provenance, timeline
from analysis.report.flows import flow_rows
from analysis.report.journey import journey_table
from analysis.report.limits import limited_trial, unrecorded_checks, use_rows
from analysis.report.programs import program_rows
from analysis.report.provenance import Source
from analysis.report.shown import number
from analysis.report.view import drawing, title_of
from analysis.units import digits
from analysis.worded import is_programs, words_for
from records.verdict import Check, HealthCheck
from records.words import Words

_TONES = {Standing.VALID: "good", Standing.INCONCLUSIVE: "mixed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """All that a page is drawn from, but for the parts that move (analysis.report.trialparts).

    scenario: its name.  campaign: of its folder.  source: of the trial, whose cell has no other.  colour: of the cell.
    """

    scenario: str
    campaign: str
    source: Source
    colour: str

    @property
    def trial(self) -> TrialFinding:
        """The trial itself."""
        return self.source.cell.trials[0]


def subject_of(findings: Findings, source: Source, trial: TrialFinding, *, colour: str) -> Subject:
    """What the page of a trial is drawn from.  Tests for trends are left out: p is adjusted for all of the campaign."""
    cell = replace(source.cell, trials=(replace(trial, trend_tests=[]),), precision=None)
    return Subject(
        scenario=findings.campaign.scenario, campaign=findings.folder.name, source=replace(source, cell=cell),
        colour=colour,
    )  # fmt: skip


def trial_view(subject: Subject) -> dict[str, Any]:
    """Everything its template needs."""
    source, trial, colour = subject.source, subject.trial, subject.colour
    cell = source.cell
    checks, words = source.verdict.checks if source.verdict else (), words_for([cell])
    return {
        "scenario": subject.scenario,
        "campaign": subject.campaign,
        "cell": cell.name,
        "title": title_of(cell),
        "number": trial.number,
        "folder": folder_of(cell.name, trial.number),
        "seed": trial.seed,
        "tone": _TONES.get(trial.standing, "bad"),
        "verdict": _verdict(trial, checks),
        "checks": [_check(one) for one in checks],
        "limited": limited_trial(source.verdict),
        "uses": use_rows(source.verdict),
        "unrecorded": unrecorded_checks(source.verdict),
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


def _verdict(trial: TrialFinding, checks: Sequence[HealthCheck]) -> str:
    passed = sum(check.health == "passed" for check in checks)
    apart = [check for check in checks if check.health == "not applicable"]
    said = f"This trial is {trial.standing}: {passed} of {len(checks) - len(apart)} health checks passed"
    said += "".join(f", {_name(check)} {check.health}" for check in checks if check.health in ("failed", "unknown"))
    if all(check.check is not Check.PROGRAMS_SUCCEEDED for check in apart):
        said += f", {len(apart)} do not apply to programs" if apart else ""
    else:  # of a load of messages, which goes without saying of the check of programs
        said += "".join(f", {_name(one)} {one.health}" for one in apart if one.check is not Check.PROGRAMS_SUCCEEDED)
    waived = [check.check.value for check in checks if check.health == "waived"]
    said += f", waived: {', '.join(waived)}" if waived else ""
    return f"{said}." if trial.standing is Standing.VALID else f"{said}. It does not enter the cell's numbers."


def _name(check: HealthCheck) -> str:
    return check.check.value.replace("_", " ")


def _check(check: HealthCheck) -> dict[str, Any]:
    figures = [number(value, "–" if value is None else digits(value)) for value in (check.measured, check.limit)]
    return {
        "name": _name(check), "health": check.health.value, "figures": figures,
        "unit": check.unit, "detail": check.detail,
    }  # fmt: skip


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
