"""Published studies, each a folder: scenario, published numbers, claims.  What is run of a study is chosen here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from experiments.scenario import cases, misfits, nodes
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario, ScenarioCell
from experiments.scenario.settings import Settings, WindowSettings
from records import yaml_lines
from records.errors import WrongInput

HERE = Path(__file__).parent
RECORD = "paper.yaml"
MATRIX = "matrix.yaml"  # a study's cases; where they are named like `set1-03`, that is row 3 of its first table
_NUMBERED = re.compile(r"set(\d+)-(\d+)")
# So that 50 cases on 2 networks take less than an hour: what is still filling then is not steady.
QUICK = WindowSettings(warmup_s=4, window_s=10, drain_s=3)


class UnknownPaper(WrongInput):
    """There is no such study, set or case; the message says which there are."""


def studies() -> dict[str, Path]:
    """Every study's folder, by its name in commands: the folder's, with - for _."""
    found: dict[str, Path] = {}
    for path in sorted(HERE.glob(f"*/{RECORD}")):
        name = path.parent.name.replace("_", "-")
        if name in found:
            raise UnknownPaper(f"{path.parent} and {found[name]}: both are the study {name!r}; rename one of them")
        found[name] = path.parent
    return found


def title(folder: Path) -> str:
    """A study's title; of a record that cannot be read, why."""
    try:
        record = yaml_lines.read(folder / RECORD)[0]
    except yaml_lines.YamlError as error:
        return str(error)
    found = record.get("title") if isinstance(record, dict) else None
    return str(found or f"{folder / RECORD}:1: title: is missing")


def folder_of(name: str) -> Path:
    """A study's folder, from its name in commands."""
    known = studies()
    if name.replace("_", "-") not in known:
        raise UnknownPaper(f"{name!r} is no study that can be run: {', '.join(known)}")
    return known[name.replace("_", "-")]


def whole(folder: Path) -> Scenario:
    """All cases of a study.  UnknownPaper when its scenario has none, ScenarioError when it cannot be run."""
    scenario = scenarios.load(folder / MATRIX)
    if cases.NAME not in scenario.factors:
        raise UnknownPaper(f"{folder / MATRIX}: a study's scenario has `cases`, one for each that was published")
    return scenario


def unrun(
    folder: Path, scenario: Scenario, *, networks: Mapping[str, str], published: Iterable[str]
) -> tuple[str, ...]:
    """The published cases that the study's scenario does not have.

    networks: the study's word to the link profile.  UnknownPaper when the scenario runs on other links, or has none of
    the cases.
    """
    run_on = sorted({cell.settings.network for cell in scenario.cells})
    lines = yaml_lines.read(folder / RECORD)[1]
    for word, profile in networks.items():
        if profile not in run_on:
            where = f"{folder / RECORD}:{lines.get(('networks', word), 1)}: networks.{word}"
            raise UnknownPaper(f"{where}: {profile!r} is no network of {MATRIX}: {', '.join(run_on)}")
    known = scenario.factors[cases.NAME]
    missing = tuple(case for case in published if case not in known)
    if not set(published) - set(missing):
        raise UnknownPaper(f"{folder / MATRIX}: none of its cases was published: {', '.join(known[:5])}, ...; "
                           f"published.csv has {', '.join(missing[:5])}, ...")  # fmt: skip
    return missing


def chosen(
    scenario: Scenario, *, number: int | None, tests: Collection[int], only: Collection[str] = (), quick: bool
) -> Scenario:
    """The cases of a study, or those of set `number`; only the tests (rows of the published tables) given, if any.

    only: `factor=level`, as for any scenario.  UnknownPaper when there is no such set or test.
    """
    if number is None and not tests:
        found = scenarios.only(scenario, only)
        return _quick(found) if quick else found
    rows = {case: row for case in scenario.factors[cases.NAME] if (row := _row(case))}
    if not rows:
        raise UnknownPaper(
            "--set and --tests are for cases that are named by their row, as in set1-03; here choose with --only case="
            f"{' or --only case='.join(scenario.factors[cases.NAME][:3])}"
        )
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


def _row(case: str) -> _Row | None:
    """None for a case that is not named by its row."""
    found = _NUMBERED.fullmatch(case)
    return _Row(int(found[1]), int(found[2])) if found else None


def _quick(scenario: Scenario) -> Scenario:
    short = {"trials": 1, "window": QUICK.model_dump(mode="json")}
    return replace(
        scenario,
        cells=tuple(replace(cell, settings=_shortened(cell, short)) for cell in scenario.cells),
    )


def _shortened(cell: ScenarioCell, short: dict[str, Any]) -> Settings:
    plain = cell.settings.model_dump(mode="json") | short
    try:
        settings = Settings.model_validate(plain)
        told = [problem for _, problem in nodes.problems(settings)]
    except ValidationError as error:
        told = [problem for _, problem in misfits.told(error, plain)]
    if told:
        raise UnknownPaper(
            f"--quick: {cell.name} does not fit into a window of {QUICK.window_s:g} s ({told[0]}): leave --quick "
            "out, or choose other cases with --only"
        )
    return settings
