"""Published studies, each a folder: scenarios, published numbers, claims.  What is run of a study is chosen here."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from experiments import cases
from experiments import scenario as scenarios
from experiments.scenario import Scenario
from experiments.settings import Settings, WindowSettings

HERE = Path(__file__).parent
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
) -> tuple[Scenario, ...]:
    """The scenarios of a study, or the one of set `number`; only the tests given, all when none is.

    only: `factor=level`, as for any scenario.

    UnknownPaper when there is no such set or test, ScenarioError when a scenario cannot be run.
    """
    sets = {int(path.stem.removeprefix("set-")): path for path in sorted(folder.glob("set-*.yaml"))}
    if number is not None and number not in sets:
        raise UnknownPaper(f"--set {number}: there are the sets {', '.join(map(str, sets))}")
    wanted = {key: scenarios.load(path) for key, path in sets.items() if number in (None, key)}
    missing = set(tests) - {test for one in wanted.values() for test in _tests(one)}
    if missing:
        raise UnknownPaper(f"--tests {', '.join(map(str, sorted(missing)))}: no set that was chosen has such a test")
    parts = (_only(one, tests) for one in wanted.values())
    found = (scenarios.only(one, only) for one in parts if one is not None)
    return tuple(_quick(one) if quick else one for one in found)


def _tests(scenario: Scenario) -> Iterator[int]:
    """The row of each case in its published table: what its name ends in."""
    return (int(case.rpartition("-")[2]) for case in scenario.factors[cases.NAME])


def _only(scenario: Scenario, tests: Collection[int]) -> Scenario | None:
    names = dict(zip(_tests(scenario), scenario.factors[cases.NAME], strict=True))
    words = [f"{cases.NAME}={names[test]}" for test in tests if test in names]
    if tests and not words:
        return None
    return scenarios.only(scenario, words)


def _quick(scenario: Scenario) -> Scenario:
    short = {"trials": 1, "window": QUICK.model_dump(mode="json")}
    return replace(
        scenario,
        cells=tuple(
            replace(cell, settings=Settings.model_validate(cell.settings.model_dump(mode="json") | short))
            for cell in scenario.cells
        ),
    )
