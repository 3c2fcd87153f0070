"""Which promises a stack is held to, and what is made of them when there is nothing to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.campaign import campaign as campaigns
from experiments.conformance.promises import OF_RESTARTS, PROMISES
from experiments.conformance.proving import findings, not_promised, of_restarts, write_scenario
from experiments.conformance.stories import ALL, SHORT, STORIES, WHOLE, Course
from records.messaging import Guarantee
from records.workload import Pattern
from stacks import registry
from stacks.driver import Stack

KNOBS = {
    "mosquitto": {"qos": 1, "window": 100, "server_window": 1000, "server_queue": 100_000},
    "activemq-mqtt": {"qos": 1, "window": 100},
    "zeromq": {"send_high_water": 1000, "receive_high_water": 1000},
}  # fmt: skip
NAMES = ("activemq", "activemq-openwire", "activemq-mqtt", "mosquitto", "reference", "zeromq")


def stack(name: str) -> Stack:
    return registry.get(name, KNOBS.get(name, {}))


def test_every_promise_has_a_story_and_every_story_a_promise() -> None:
    assert {one.story for one in PROMISES} == set(STORIES)
    assert {one.story for one in OF_RESTARTS} == ALL.keys() - STORIES.keys()
    names = [*(one.name for one in PROMISES), *(one.name for one in OF_RESTARTS)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("course", [SHORT, WHOLE], ids=["short", "whole"])
@pytest.mark.parametrize("name", NAMES)
def test_what_a_stack_promises_becomes_a_scenario_that_can_be_read(tmp_path: Path, name: str, course: Course) -> None:
    knobs = KNOBS.get(name, {})
    scenario = write_scenario(tmp_path / "conform.yaml", stack(name), course, knobs=knobs, faults={})
    assert scenario is not None
    told = {one.story for one in PROMISES if not not_promised(stack(name), one)}
    assert {cell.levels["case"] for cell in scenario.cells} == told
    assert ("requests" if name == "zeromq" else "topic") in told
    assert ("unacknowledged" in told) == (name == "zeromq"), "the others have something to acknowledge"


def test_each_story_has_the_faults_that_can_happen_to_its_messages(tmp_path: Path) -> None:
    every = dict.fromkeys(("drop", "duplicate", "reorder", "double", "misreply", "cross", "omit", "swap", "split"), 7)
    scenario = write_scenario(tmp_path / "conform.yaml", stack("reference"), SHORT, knobs={}, faults=every)
    assert scenario is not None
    has = {cell.levels["case"]: set(cell.settings.faults) for cell in scenario.cells}
    assert {name for name, faults in has.items() if "split" in faults} == {"shared-flows"}
    assert {name for name, faults in has.items() if "swap" in faults} == {"flow", "shared-flows"}
    assert {name for name, faults in has.items() if "double" in faults} == {"queue", "killed-receiver"}
    assert set().union(*has.values()) == every.keys()


def test_what_is_not_declared_is_not_promised_and_says_why() -> None:
    why = {one.name: not_promised(stack("mosquitto"), one) for one in PROMISES}
    assert why["at least once"] == ""
    assert why["flow"] == "the stack has no stream"
    assert Guarantee.SELECTOR not in stack("mosquitto").guarantees
    assert why["selection"] == "the stack does not declare selector"
    assert Pattern.STREAM in stack("reference").patterns
    assert not_promised(stack("reference"), PROMISES[0]) == ""


def test_nothing_is_tried_when_none_of_the_wanted_is_promised(tmp_path: Path) -> None:
    flow = [one for one in PROMISES if one.name == "flow"]
    path = tmp_path / "conform.yaml"
    knobs = KNOBS["mosquitto"]
    assert write_scenario(path, stack("mosquitto"), SHORT, knobs=knobs, faults={}, promises=flow) is None
    assert not path.exists()


def test_a_promise_whose_trial_failed_is_untried(tmp_path: Path) -> None:
    reference = stack("reference")
    wanted = [one for one in PROMISES if one.story in {"queue", "durable"}]
    scenario = write_scenario(tmp_path / "c.yaml", reference, SHORT, knobs={}, faults={}, promises=wanted)
    assert scenario is not None
    folder = campaigns.create(scenario, tmp_path / "results")
    found = {one.promise: one for one in findings(folder, reference, wanted)}
    promised = {one.name for one in wanted if not not_promised(reference, one)}
    assert promised
    assert {name for name, one in found.items() if one.answer == "untried"} == promised
    assert all(found[name].why == "its trial failed: see trials.log" for name in promised)


def test_servers_are_killed_once_for_all_that_is_promised_and_never_for_nothing() -> None:
    calls = []

    def tried() -> str:
        calls.append(1)
        return "killing servers takes root"

    assert [one.answer for one in of_restarts(stack("reference"), OF_RESTARTS, tried)] == ["not promised"] * 2
    assert calls == []
    found = of_restarts(stack("activemq"), OF_RESTARTS, tried)
    assert [(one.answer, one.why) for one in found] == [("untried", "killing servers takes root")] * 2
    assert calls == [1]
