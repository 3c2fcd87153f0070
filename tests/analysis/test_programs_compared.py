"""Cells whose load is programs: what they print is what is shown, compared and said, in words without messages."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.answer import answer
from analysis.compare import compare, comparisons, matches
from analysis.findings import CellFinding, Standing, TrialFinding
from analysis.headlines import headlines, leading
from analysis.metrics import COMPARED, KEY
from analysis.plots.section import drawn
from analysis.report.tables import write_tables
from analysis.worded import chosen, metrics_for
from records.commands import Printed, declared_in
from records.comparing import Compared
from records.workload import Pattern

RATE = Printed(path="end.bps", unit="bit/s", better="higher", label="Rate")
BUSY = Printed(path="busy", unit="share")
METRICS = {"rate": 9e6, "busy": 0.9, "duration_s": 3.0, "failed_programs": 0.0, "air_utilisation": 0.95}


def cell(name: str, factor: float, pattern: Pattern = Pattern.COMMAND, **metrics: float) -> CellFinding:
    trials = tuple(
        TrialFinding(
            name, seed, seed, standing=Standing.VALID,
            metrics={one: value * factor * (1 + seed / 100) for one, value in (metrics or METRICS).items()},
        )
        for seed in range(3)
    )  # fmt: skip
    declared = {"rate": RATE, "busy": BUSY} if pattern is Pattern.COMMAND else {}
    return CellFinding(name=name, levels={"network": name}, trials=trials, pattern=pattern, declared=declared)


def campaign(*cells: CellFinding) -> Any:
    names = tuple(one.name for one in cells)
    told = SimpleNamespace(compared=Compared("network", names[0]), factors={"network": names}, stopping=None)
    return SimpleNamespace(campaign=told, cells=cells, trials=tuple(trial for one in cells for trial in one.trials))


@pytest.fixture(scope="module")
def programs() -> Any:
    return campaign(cell("wire", 1.0), cell("air", 0.4))


def test_declared_metrics_come_first_in_what_is_compared(programs: Any) -> None:
    (match,) = matches(programs)
    found = {one.metric: one for one in comparisons(match, match.others[0])}
    assert list(found) == ["rate", "busy", "duration_s", "failed_programs", "air_utilisation"]
    assert (found["rate"].tone, found["duration_s"].tone, found["busy"].tone) == ("worse", "better", "even")


def test_a_declared_share_has_an_interval_of_shares(programs: Any) -> None:
    high = campaign(cell("wire", 1.0, busy=0.97, rate=1.0)).cells[0].estimate("busy")
    assert high.high <= 1 < high.mean + 2 * (high.mean - high.low)


def test_the_answer_and_the_sentences_are_of_what_programs_print(programs: Any) -> None:
    assert [metric.label for metric in answer(programs).metrics] == ["Rate", "Busy"]
    assert headlines(programs)[0].startswith("air against wire: rate is 2.50 times lower")
    assert "rate 2.50 times lower" in leading(programs)[0]
    assert not any("msg" in text or "message" in text for text in (*headlines(programs), *leading(programs)))


def test_plots_and_tables_have_them(programs: Any, tmp_path: Path) -> None:
    names = {plot.name for section in drawn(programs) for plot in section.plots}
    assert names == {"cells-rate", "cells-busy", "cells-duration-s", "cells-air-utilisation"}
    write_tables(tmp_path, programs)
    rows = list(csv.DictReader((tmp_path / "cells.csv").open()))
    assert {(row["metric"], row["unit"]) for row in rows} >= {("rate", "bit/s"), ("busy", "share"), ("duration_s", "s")}
    trials = list(csv.DictReader((tmp_path / "trials.csv").open()))
    assert [float(row["rate"]) for row in trials[:3]] == [9e6, 9.09e6, 9.18e6]


def test_cells_of_messages_are_shown_as_ever_and_beside_programs_both_are() -> None:
    of_messages = cell("wire", 1.0, Pattern.PUBSUB, delivered_per_s=5.0)
    assert chosen(KEY, [of_messages]) == KEY
    assert metrics_for([of_messages]).keys() == metrics_for([]).keys()
    both = chosen(COMPARED, [of_messages, cell("air", 1.0)])
    assert both[:3] == ("rate", "busy", "duration_s")
    assert set(COMPARED) < set(both)


@pytest.mark.parametrize(
    "settings", [{}, {"workload": None}, {"workload": {"pattern": "command", "metrics": {"X": 1}}}]
)
def test_settings_that_declare_nothing_readable_have_no_metrics(settings: dict[str, Any]) -> None:
    assert declared_in(settings) == {}


def test_what_only_some_programs_print_is_compared_where_it_is_printed() -> None:
    silent = replace(cell("air", 0.4, duration_s=3.0), declared={})
    found = campaign(cell("wire", 1.0), silent)
    one = compare(found.cells[0], silent, "rate")
    assert (one.tone, one.ratio.undefined) == ("even", "it has none")
    neither = compare(replace(silent, name="one"), silent, "rate")
    assert neither.tone == "even"
    assert answer(found) is not None
