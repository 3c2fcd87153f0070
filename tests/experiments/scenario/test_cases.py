"""Cases: combinations that are no full product."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError

BASE = """\
scenario: small
network: [wireline-100m, nistnet-80211]
workload: {body_bytes: 100}
"""


def load(folder: Path, text: str) -> scenarios.Scenario:
    path = folder / "scenario.yaml"
    path.write_text(BASE + text)
    return scenarios.load(path)


CASES = """\
cases:
  - {case: few, workload: {clients: {publishers: 1, subscribers: 50}}}
  - {case: many, workload: {clients: {publishers: 50, subscribers: 1}, body_bytes: 5120}}
"""


def test_cases_are_levels_of_one_factor_and_are_laid_over_the_rest(tmp_path: Path) -> None:
    scenario = load(tmp_path, CASES)
    assert scenario.factors == {"network": ("wireline-100m", "nistnet-80211"), "case": ("few", "many")}
    seen = {
        (cell.levels["case"], cell.settings.network): (
            cell.settings.workload.clients.publishers,
            cell.settings.workload.body_bytes,
        )
        for cell in scenario.cells
    }
    assert seen == {
        (case, network): values
        for case, values in (("few", (1, 100)), ("many", (50, 5120)))
        for network in ("wireline-100m", "nistnet-80211")
    }
    assert scenario.cells[0].name == "network=wireline-100m,case=few"


def test_a_part_can_be_chosen_by_case(tmp_path: Path) -> None:
    part = scenarios.only(load(tmp_path, CASES), ["case=many"])
    assert [cell.levels["case"] for cell in part.cells] == ["many", "many"]


def test_a_case_has_its_own_nodes_since_their_list_is_no_list_of_levels(tmp_path: Path) -> None:
    events = "nodes: [{at_s: 1, node: sta2, event: kill}]"
    scenario = load(tmp_path, CASES.replace("case: many,", f"case: many, stations: 2, {events},"))
    nodes = {cell.levels["case"]: [one.node for one in cell.settings.nodes] for cell in scenario.cells}
    assert nodes == {"few": [], "many": ["sta2"]}


# A waiver in the second case, one in an override, and an override that never holds.
LATER = """\
cases:
  - {case: a, workload: {clients: &one {publishers: 1, subscribers: 1}}}
  - {case: b, workload: {clients: *one}, checks: {waive: [{check: steal, when: {%s: lte}, because: a good reason}]}}
"""
OVERRIDE = """\
cases: [{case: a, workload: {clients: {publishers: 1, subscribers: 1}}}]
overrides:
  - when: {network: nistnet-80211}
    checks: {waive: [{check: server_cpu, when: {network: lte}, because: a good reason}]}
"""
NEVER = """\
cases: [{case: a, workload: {clients: {publishers: 1, subscribers: 1}}}]
overrides: [{when: {network: []}, stations: 2}]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: [{stations: 2}]", r":4: cases: .*a case is a mapping with its name, as in \{case: first"),
        ("cases: [one]", r":4: cases: 'one': a case is a mapping"),
        ("cases: [{case: 1.10}]", r":4: cases\.case: 1\.1: a case's name is one word"),
        ("cases: [{case: a/b}]", r"'a/b': a case's name"),
        ("cases: [{case: a, network: lte}]", r":4: cases\.network: network is a factor already"),
        ("cases: [{case: a, stations: [1, 2]}]", r":4: cases\.stations: a list cannot stand in a case"),
        (CASES.replace("few,", "many,"), r":4: cases: two levels are both called 'many'"),
        (CASES.replace("body_bytes", "body_byte"), r":6: cases\.workload\.body_byte: unknown key; did you mean"),
        (CASES.replace("5120", "5"), r":6: cases\.workload\.body_bytes: 5: .*24"),
        ("cases: []", r"needs at least one level"),
        *(
            (f"cases: [{{case: a, overrides: {said}}}]", r":4: cases\.overrides.*: say it at the top of the file")
            for said in ("[{when: {network: lte}, stations: 2}]", "[{stations: 2}]", "{stations: 2}", "[]")
        ),
        (LATER % "netwrok", r":6: cases\.checks\.waive.*netwrok: is not a factor of this scenario: network, case"),
        (LATER % "network", r":6: cases\.checks\.waive.*network: 'lte' is not one of its levels: wireline-100m, nist"),
        (OVERRIDE, r":7: overrides\.checks\.waive.*network: 'lte' is not one of its levels"),
        (NEVER, r":5: overrides\.when\.network: \[\]: it would never hold"),
        ("cases: {case: a, stations: 2}", r":4: cases: unknown key"),
        (
            "cases:\n  - {case: a, stack: no-such, workload: {clients: {publishers: 1, subscribers: 1}}}",
            r":5: cases\.stack: .*no-such",
        ),
    ],
)
def test_a_bad_case_is_refused_with_line_and_way_out(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path, text)


def test_a_case_does_the_same_as_writing_it_out(tmp_path: Path) -> None:
    cases = load(tmp_path, CASES)
    plain = yaml.safe_load(BASE)
    plain["workload"] |= {"clients": {"publishers": 50, "subscribers": 1}, "body_bytes": 5120}
    path = tmp_path / "plain.yaml"
    path.write_text(yaml.safe_dump(plain))
    many = [cell.settings for cell in cases.cells if cell.levels["case"] == "many"]
    assert many == [cell.settings for cell in scenarios.load(path).cells]
