"""Scenarios that are based on others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from experiments import papers
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError

BELOW = """\
scenario: below
network: [wireline-100m, nistnet-80211]
stations: 2
stack: reference
workload:
  clients: {publishers: 1, subscribers: 1}
  body_bytes: [100, 5120]
checks:
  waive:
    - {check: server_cpu, when: {network: wireline-100m}, because: a wire is as fast as the processor}
parallel: {trials: 2, when: {network: nistnet-80211}}
"""
ABOVE = """\
based_on: below.yaml
scenario: above
network: [nistnet-80211]
workload: {body_bytes: 2048, ack: dups_ok}
checks: {waive: []}
parallel: 1
"""


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / "above.yaml"


def refusal(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    return str(caught.value)


def test_a_scenario_says_what_differs_from_the_one_below(tmp_path: Path) -> None:
    above = scenarios.load(written(tmp_path, below=BELOW, above=ABOVE))
    (cell,) = above.cells
    assert (above.name, cell.levels) == ("above", {"network": "nistnet-80211"})
    assert (cell.settings.stations, cell.settings.stack) == (2, "reference")
    work = cell.settings.workload
    assert (work.body_bytes, work.ack.value, work.clients.publishers) == (2048, "dups_ok", 1)
    assert cell.settings.checks.waive == ()
    assert (cell.settings.parallel.trials, cell.settings.parallel.when) == (1, {})


def test_a_scenario_may_be_a_pipe_which_is_read_once() -> None:
    reader, writer = os.pipe()
    try:
        os.write(writer, BELOW.encode())
        os.close(writer)
        found = scenarios.load(Path(f"/dev/fd/{reader}"))
    finally:
        os.close(reader)
    assert (found.name, found.source) == ("below", BELOW.encode())


def test_its_copy_is_a_scenario_that_says_the_same(tmp_path: Path) -> None:
    scenario = scenarios.load(written(tmp_path, below=BELOW, above=ABOVE))
    copy = tmp_path / "copy.yaml"
    copy.write_bytes(scenario.source)
    assert scenarios.load(copy).digest == scenario.digest


def test_a_profile_is_looked_for_beside_the_file_that_names_it(tmp_path: Path) -> None:
    profile = {"name": "mine", "description": "for tests", "source": "made for tests", "medium": "duplex"}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(profile))
    below = BELOW.partition("checks:")[0].replace("[wireline-100m, nistnet-80211]", "mine.yaml")
    (tmp_path / "below.yaml").write_text(below)
    (tmp_path / "deeper").mkdir()
    above = tmp_path / "deeper" / "above.yaml"
    above.write_text("based_on: ../below.yaml\nscenario: above\n")
    assert scenarios.load(above).cells[0].profile.name == "mine"


def test_a_change_below_is_another_digest(tmp_path: Path) -> None:
    before = scenarios.load(written(tmp_path, below=BELOW, above=ABOVE)).digest
    assert scenarios.load(written(tmp_path, below=BELOW.replace("stations: 2", "stations: 3"))).digest != before


def test_a_problem_is_told_where_it_stands(tmp_path: Path) -> None:
    above = written(tmp_path, below=BELOW.replace("stations: 2", "stations: 0"), above=ABOVE + "seed: -1\n")
    told = refusal(above).splitlines()
    assert any(line.startswith(f"{tmp_path / 'below.yaml'}:3: stations: 0") for line in told)
    assert any(line.startswith(f"{above}:7: seed: -1") for line in told)


def test_what_is_replaced_is_not_complained_of_where_it_stood(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, below=BELOW, above=ABOVE.replace("2048", "5"))).startswith(
        f"{tmp_path / 'above.yaml'}:4: workload.body_bytes: 5"
    )


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("gone.yaml", "above.yaml:1: based_on: there is no file"),
        ("7", "above.yaml:1: based_on: 7 is no file; as in based_on: matrix.yaml"),
        ("[below.yaml]", "above.yaml:1: based_on: ['below.yaml'] is no file"),
        ("above.yaml", "above.yaml:1: based_on: above.yaml is based on this one in turn"),
    ],
)
def test_a_base_that_cannot_be_is_refused(base: str, problem: str, tmp_path: Path) -> None:
    assert problem in refusal(written(tmp_path, below=BELOW, above=ABOVE.replace("below.yaml", base)))


def test_two_that_are_based_on_each_other_are_refused(tmp_path: Path) -> None:
    above = written(tmp_path, below="based_on: above.yaml\n" + BELOW, above=ABOVE)
    assert "below.yaml:1: based_on: above.yaml is based on this one in turn" in refusal(above)


def test_a_base_that_is_no_scenario_is_refused(tmp_path: Path) -> None:
    assert "below.yaml: a scenario is a mapping" in refusal(written(tmp_path, below="- 1\n", above=ABOVE))


def test_cases_of_the_study_run_on_links_of_today_with_three_congestion_controls() -> None:
    folder = papers.folder_of("gaddah-kunz")
    modern = scenarios.load(folder / "modern.yaml")
    matrix = scenarios.load(folder / papers.MATRIX)
    assert modern.factors["network"] == ("80211n-poor", "lte", "geo-satellite")
    assert set(modern.factors["congestion_control"]) == {"reno", "cubic", "bbr"}
    assert set(modern.factors["case"]) < set(matrix.factors["case"])
    workloads = {cell.levels["case"]: cell.settings.workload for cell in matrix.cells}
    assert all(cell.settings.workload == workloads[cell.levels["case"]] for cell in modern.cells)
    assert not any(cell.settings.sysctls for cell in modern.cells)


def test_a_mix_of_sizes_takes_the_place_of_another(tmp_path: Path) -> None:
    below = BELOW.replace("body_bytes: [100, 5120]", "body_bytes: {100: 50 %, 5120: 50 %}")
    above = ABOVE.replace("body_bytes: 2048", "body_bytes: {200: 30 %, 100: 70 %}")
    (cell,) = scenarios.load(written(tmp_path, below=below, above=above)).cells
    assert cell.settings.workload.body_bytes == {200: 0.3, 100: 0.7}
