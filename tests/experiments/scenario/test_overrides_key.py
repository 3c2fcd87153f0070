"""Overrides: what holds for some cells only."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError

BASE = """\
scenario: small
network: [wireline-100m, nistnet-80211]
workload: {clients: {publishers: 1, subscribers: 1}, body_bytes: [100, 200]}
window: {warmup_s: 1, window_s: 10}
"""
OVERRIDES = """\
overrides:
  - when: {network: wireline-100m}
    window: {window_s: 4}
  - when: {network: wireline-100m, body_bytes: [200, 100]}
    window: {warmup_s: 2}
  - when: {body_bytes: 200}
    stations: 2
"""


def load(folder: Path, text: str) -> scenarios.Scenario:
    path = folder / "scenario.yaml"
    path.write_text(BASE + text)
    return scenarios.load(path)


def test_overrides_are_laid_over_the_cells_that_they_name_one_after_the_other(tmp_path: Path) -> None:
    scenario = load(tmp_path, OVERRIDES)
    assert scenario.factors == {"network": ("wireline-100m", "nistnet-80211"), "body_bytes": ("100", "200")}
    seen = {
        tuple(cell.levels.values()): (cell.settings.window.warmup_s, cell.settings.window.window_s,
                                      cell.settings.stations)
        for cell in scenario.cells
    }  # fmt: skip
    assert seen == {
        ("wireline-100m", "100"): (2, 4, 1),
        ("wireline-100m", "200"): (2, 4, 2),
        ("nistnet-80211", "100"): (1, 10, 1),
        ("nistnet-80211", "200"): (1, 10, 2),
    }


def test_only_the_cells_that_are_named_become_others(tmp_path: Path) -> None:
    plain, changed = load(tmp_path, ""), load(tmp_path, OVERRIDES)
    assert plain.digest != changed.digest
    same = [one == other for one, other in zip(plain.cells, changed.cells, strict=True)]
    assert same == [False, False, True, False]


def test_an_override_is_laid_over_a_case_too(tmp_path: Path) -> None:
    text = "cases: [{case: a, window: {drain_s: 7}}, {case: b}]\noverrides: [{when: {case: a}, window: {window_s: 5}}]"
    found = {cell.levels["case"]: cell.settings.window for cell in load(tmp_path, text).cells}
    assert (found["a"].window_s, found["a"].drain_s, found["b"].window_s) == (5, 7, 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overrides: {when: {network: lte}}", r":5: overrides: .*a list is meant, as in \[\{when"),
        ("overrides: [{window: {window_s: 5}}]", r":5: overrides: .*a mapping is meant of `when`"),
        ("overrides: [{when: {network: wireline-100m}}]", r":5: overrides: .*a mapping is meant of `when`"),
        ("overrides: [{when: {}, stations: 2}]", r":5: overrides: .*a mapping is meant of `when`"),
        ("overrides: [{when: {network: lte}, stations: 2}]", r":5: overrides\.when\.network: 'lte' is not one of its"),
        ("overrides: [{when: {stack: null}, stations: 2}]", r":5: overrides\.when\.stack: is not a factor"),
        ("overrides: [{when: {network: wireline-100m}, seed: 2}]", r"overrides\.seed: holds for the whole campaign"),
        ("overrides: [{when: {network: wireline-100m}, network: lte}]", r"overrides\.network: network is a factor"),
        ("overrides: [{when: {network: wireline-100m}, stations: [1, 2]}]", r"overrides\.stations: a list cannot"),
        (OVERRIDES.replace("window_s", "window"), r":7: overrides\.window\.window: unknown key; did you mean"),
        (OVERRIDES.replace("warmup_s: 2", "warmup_s: -2"), r":9: overrides\.window\.warmup_s: -2"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path, text)
