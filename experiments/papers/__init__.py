"""Published studies, each a folder: scenario, published numbers, claims.  What is run of a study is chosen here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from experiments import cases
from experiments import scenario as scenarios
from experiments.scenario import Scenario
from experiments.settings import Settings, WindowSettings

HERE = Path(__file__).parent
MATRIX = "matrix.yaml"  # a study's cases: `set1-03` is row 3 of its first table
# So that 50 cases on 2 networks take less than an hour: what is still filling then is not steady.
QUICK = WindowSettings(warmup_s=4, window_s=10, drain_s=3)


class UnknownPaper(ValueError):
    """There is no such study, set or case; the message says which there are."""


def folder_of(name: str) -> Path:
    """A study's folder, from its name in commands."""
    known = {path.parent.name.replace("_", "-"): path.parent for path in sorted(HERE.glob("*/paper.yaml"))}
    if name not in known:
        raise UnknownPaper(f"{name!r} is no study that can be run: {', '.join(known)}")
    return known[name]


def chosen(
    folder: Path, *, number: int | None, tests: Collection[int], only: Collection[str] = (), quick: bool
) -> Scenario:
    """The cases of a study, or those of set `number`; only the tests (rows of the published tables) given, if any.

    only: `factor=level`, as for any scenario.

    UnknownPaper when there is no such set or test, ScenarioError when the scenario cannot be run.
    """
    scenario = scenarios.load(folder / MATRIX)
    rows = {case: _row(case) for case in scenario.factors[cases.NAME]}
    sets = sorted({row.number for row in rows.values()})
    if number is not None and number not in sets:
        raise UnknownPaper(f"--set {number}: there are the sets {', '.join(map(str, sets))}")
    rows = {case: row for case, row in rows.items() if number in (None, row.number)}
    if missing := set(tests) - {row.test for row in rows.values()}:
        raise UnknownPaper(f"--tests {', '.join(map(str, sorted(missing)))}: no set that was chosen has such a test")
    wanted = [f"{cases.NAME}={case}" for case, row in rows.items() if not tests or row.test in tests]
    found = scenarios.only(scenarios.only(scenario, wanted), only)
    return _quick(found) if quick else found


class _Row(NamedTuple):
    """Where a case stands in the published tables: set, and test in it."""

    number: int
    test: int


def _row(case: str) -> _Row:
    table, _, test = case.rpartition("-")
    return _Row(int(table.removeprefix("set")), int(test))


def _quick(scenario: Scenario) -> Scenario:
    short = {"trials": 1, "window": QUICK.model_dump(mode="json")}
    return replace(
        scenario,
        cells=tuple(
            replace(cell, settings=Settings.model_validate(cell.settings.model_dump(mode="json") | short))
            for cell in scenario.cells
        ),
    )
