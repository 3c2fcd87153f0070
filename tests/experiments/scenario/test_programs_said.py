"""What a scenario says of programs, and what it cannot say beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import ROOT

from experiments.campaign.diskneeds import expected
from experiments.scenario import placement
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario, ScenarioError
from experiments.scenario.segments import topology_plan
from experiments.scenario.settings import from_campaign
from records.commands import declared_in
from records.workload import Command

METRICS = {"rate": {"path": "r", "unit": "bit/s", "better": "higher"}}
SAID: dict[str, Any] = {
    "scenario": "programs",
    "network": "wireline-10m",
    "workload": {"pattern": "command", "client": {"command": "ping {server}"}, "metrics": METRICS},
}


def load(folder: Path, **changes: Any) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(SAID | changes, sort_keys=False))
    return scenarios.load(path)


def work(**changes: Any) -> dict[str, Any]:
    return SAID["workload"] | changes


def test_programs_need_no_stack_and_go_to_every_server(tmp_path: Path) -> None:
    settings = load(tmp_path, stations=2, topology={"kind": "star", "servers": 2}).settings
    assert (settings.stack, settings.driver().services()) == ("none", ())
    ways = placement.ways(settings, topology_plan(settings))
    assert {way for way in ways if way[0] == "sta1"} == {("sta1", "server1"), ("sta1", "server2")}


def test_a_campaign_keeps_what_it_was_asked(tmp_path: Path) -> None:
    cell = load(tmp_path).cells[0]
    assert from_campaign(cell.meaning["settings"]) == cell.settings
    assert isinstance(cell.settings.workload, Command)
    assert declared_in(cell.meaning["settings"]) == cell.settings.workload.metrics


def test_commands_are_levels_like_any_other(tmp_path: Path) -> None:
    found = load(tmp_path, workload=work(client={"command": ["ping {server}", "ping -s 1000 {server}"]}))
    assert [cell.settings.workload.client.command[-2:] for cell in found.cells] == [  # type: ignore[union-attr]
        ("ping", "{server}"),
        ("1000", "{server}"),
    ]


def test_a_link_at_its_rate_is_what_the_disk_has_to_take(tmp_path: Path) -> None:
    cell = load(tmp_path).cells[0]
    ten_s = 10e6 / 8 * 13  # warm-up, window and two seconds of drain, at each of four ports
    assert 4 * ten_s < expected(cell.settings, cell.profile, {}).captures < 5 * ten_s


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stack": "activemq"}, r"stack: 'activemq': pattern command runs programs of your own"),
        ({"connect": "bare"}, r"connect: 'bare': programs connect when they run"),
        ({"nodes": [{"node": "sta1", "event": "kill", "at_s": 1}]}, r"nodes: .* leave it out"),
        ({"topology": "peers", "stations": 2}, r"topology: peers has no server"),
        ({"workload": work(body_bytes=100)}, r"workload\.body_bytes: pattern command has none"),
        ({"workload": work(client={"command": "ping {sever}"})}, r"client\.command: .*\{sever\}.* is not one of"),
        ({"workload": work(client={"command": "ping 'a"})}, r"client\.command: .*close the quotes"),
        ({"workload": work(server={"command": "x"})}, r"workload\.server: .*one of ready_port and ready_s"),
        ({"workload": work(metrics={"Rate": METRICS["rate"]})}, r"metrics\.Rate.*of the form"),
        ({"workload": work(metrics={"duration_s": METRICS["rate"]})}, r"every trial has duration_s by itself"),
        ({"workload": work(metrics={"state": METRICS["rate"]})}, r"every trial has state by itself"),
        (
            {"trials": {"until": {"metrics": ["delivered_per_s"]}}},
            r"trials\.until\.metrics: delivered_per_s: trials are repeated for rate, duration_s only",
        ),
        (
            {"workload": work(metrics={"rate": {"path": "r", "unit": ["s", "B"]}})},
            r"workload\.metrics\.rate: unit, better and label are not those of other cells",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_said_beside_programs_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=rf"scenario\.yaml:.*{message}"):
        load(tmp_path, **changes)


@pytest.mark.parametrize("name", ["iperf3", "http-curl"])
def test_the_scenarios_of_programs_can_be_run(name: str) -> None:
    found = scenarios.load(ROOT / "experiments" / "scenarios" / f"{name}.yaml")
    assert all(isinstance(cell.settings.workload, Command) for cell in found.cells)
