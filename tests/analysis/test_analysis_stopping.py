"""What the report makes of a campaign with a stopping rule, from rows as the Spark job gives them."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from analysis.estimates import of_values
from analysis.findings import Findings, Standing, gather
from analysis.headlines import verdict_line
from analysis.report.summary import summarise
from analysis.report.tables import write_tables
from analysis.rows import Rows
from records.campaign import Campaign, Cell, Planned
from records.precision import half_width
from records.stopping import End, Rule
from records.store import Trial, note_failed, trial_name

RULE = Rule(least=2, most=4, half_width=0.05, metrics=("delivered_per_s",))
WORLD = {"steady": [5.0, 5.0], "noisy": [1.0, 2.0, 3.0, 4.0], "begun": [7.0]}


def campaign(rule: Rule | None) -> Campaign:
    return Campaign(
        scenario="small",
        digest="0" * 64,
        created="2026-01-01T00:00:00+00:00",
        seed=1,
        factors={"network": tuple(WORLD)},
        baseline=None,
        cells=tuple(Cell(name=name, levels={"network": name}, settings={}) for name in WORLD),
        order=tuple(Planned(cell=cell, trial=trial, seed=trial) for trial in range(1, 5) for cell in WORLD),
        stopping=rule,
    )


def findings(rule: Rule | None, folder: Path = Path("campaign")) -> Findings:
    finished, batches = [], []
    for cell, values in WORLD.items():
        for trial, value in enumerate(values, 1):
            rows = Rows(len(finished))
            rows.add("trial", "state", text="valid")
            rows.add("trial", "delivered_per_s", value=value)
            finished.append(Trial(folder / cell / trial_name(trial)))
            batches.append(rows.batch())
    return gather(campaign(rule), folder, finished, pa.Table.from_batches(batches))


def test_trials_that_the_rule_spared_are_not_missing() -> None:
    found = {cell.name: cell for cell in findings(RULE).cells}
    assert [len(found[name].trials) for name in WORLD] == [2, 4, 2]
    assert [found[name].count(Standing.MISSING) for name in WORLD] == [0, 0, 1]
    ends = [cell.precision and cell.precision.end for cell in found.values()]
    assert ends == [End.PRECISE, End.INCONCLUSIVE, End.GOING_ON]


def test_a_trial_that_failed_is_not_called_not_run_and_its_reason_is_told(tmp_path: Path) -> None:
    cell = next(reversed(WORLD))
    log = Path(cell, ".failed-trial-002", "broker.log")
    note_failed(tmp_path / cell / "trial-002", f"its broker did not start\n{tmp_path / log}:\n  no room")
    why = f"to be run again: its broker did not start\n{log}:\n  no room"
    for rule in (None, RULE):
        trial = findings(rule, tmp_path).cells[-1].trials[1]
        assert (trial.standing, trial.reasons) == (Standing.FAILED, [why])
        assert "1 failed" in verdict_line(findings(rule, tmp_path))


def test_a_trial_that_failed_beyond_the_rules_least_is_told_too(tmp_path: Path) -> None:
    note_failed(tmp_path / "begun" / trial_name(RULE.least + 1), "its broker did not start")
    told = [trial.standing for trial in findings(RULE, tmp_path).cells[-1].trials]
    assert told == [Standing.VALID, Standing.MISSING, Standing.FAILED]


def test_a_fixed_number_of_trials_has_no_such_words() -> None:
    found = findings(None)
    assert [cell.precision for cell in found.cells] == [None] * 3
    assert "cells" not in verdict_line(found)
    assert [cell.stopping for cell in summarise(found).cells] == [""] * 3


def test_the_report_says_how_each_cell_ended() -> None:
    found = findings(RULE)
    assert verdict_line(found).endswith(
        "Of 3 cells, 1 precise enough, 1 inconclusive in a metric when the cap of trials was reached, "
        "1 not yet precise."
    )
    assert [cell.stopping for cell in summarise(found).cells] == [
        "precise enough after 2 trials (within ±5 %)",
        "cap of 4 trials reached (4 valid), inconclusive (asked ±5 %): delivered_per_s ±82.2 %",
        "not yet precise after 1 trial (asked ±5 %): 1 of at least 2 valid trials",
    ]


def test_the_rule_and_the_estimate_mean_the_same_interval_where_the_rule_is_met() -> None:
    """The rule's interval is symmetric, the report's is not; at the width that rules ask for both are one."""
    values = [97.0, 99.0, 101.0, 102.5]
    found = of_values("delivered_per_s", values)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    half = half_width(values)
    assert half / found.mean < RULE.half_width
    assert (found.mean - found.low, found.high - found.mean) == (pytest.approx(half, rel=0.04),) * 2
    cell = findings(RULE).cells[1]
    assert cell.precision is not None
    assert cell.precision.metrics[0].share == pytest.approx(half_width(WORLD["noisy"]) / 2.5)


def test_the_precision_of_every_metric_is_in_a_table(tmp_path: Path) -> None:
    write_tables(tmp_path, findings(RULE))
    rows = list(csv.DictReader((tmp_path / "stopping.csv").open()))
    assert [(row["cell"], row["end"], row["n"]) for row in rows] == [
        ("steady", "precise", "2"),
        ("noisy", "inconclusive", "4"),
        ("begun", "not yet precise", "1"),
    ]
