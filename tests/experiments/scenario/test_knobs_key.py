"""What a scenario may set of its stacks, and what it is told when it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from records.messaging import Guarantee
from stacks.mosquitto.driver import Mosquitto

KNOBS = {"qos": 1, "window": 20, "server_window": 20, "server_queue": 1000}


def load(tmp_path: Path, **settings: object) -> scenarios.Scenario:
    path = tmp_path / "scenario.yaml"
    workload = {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100}
    basis = {"scenario": "small", "network": "nistnet-80211", "stack": "mosquitto", "workload": workload}
    path.write_text(yaml.safe_dump(basis | settings, sort_keys=False))
    return scenarios.load(path)


def refusal(tmp_path: Path, **settings: object) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, **settings)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_a_knob_is_a_factor_and_reaches_the_driver_and_its_service(tmp_path: Path) -> None:
    loaded = load(tmp_path, knobs={"mosquitto": KNOBS | {"server_window": [5, 10]}})
    assert loaded.factors == {"server_window": ("5", "10")}
    first, second = (cell.settings.driver().services()[0].variables for cell in loaded.cells)
    assert (first["mosquitto_server_window"], second["mosquitto_server_window"]) == (5, 10)


def test_knobs_of_a_stack_that_a_cell_does_not_use_change_nothing_of_it(tmp_path: Path) -> None:
    loaded = load(tmp_path, stack=["activemq", "mosquitto"], knobs={"mosquitto": KNOBS})
    assert [cell.settings.driver().name for cell in loaded.cells] == ["activemq", "mosquitto"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"knobs": {"mosquitto": KNOBS | {"quos": 1}}},
            "knobs.mosquitto.quos: is none of tls, qos, window, keep_alive_s, version, server_window, server_queue",
        ),
        ({"knobs": {"mosquitto": KNOBS | {"qos": 3}}}, "knobs.mosquitto.qos: has to be 0, 1 or 2 (it says 3)"),
        (
            {"knobs": {"mosquitto": KNOBS | {"window": 0}}},
            "knobs.mosquitto.window: has to be 1 or more (it says 0)",
        ),
        ({"knobs": {"mosquito": KNOBS}}, "knobs.mosquito: stack 'mosquito' is not one of activemq,"),
        (
            {"knobs": {"mosquitto": KNOBS | {"tls": True}}},
            "knobs.mosquitto.tls: has to be 'off', '1.2' or '1.3' (it says True)",
        ),
        ({"knobs": {"zeromq": {"tls": 1.3}}}, "knobs.zeromq.tls: is none of send_high_water, "),
        ({"stack": "null", "knobs": {"null": {"tls": 1.3}}}, "knobs.null.tls: stack 'null' has no knobs"),
        (
            {"knobs": {"mosquitto": {"window": 20, "qos": 1}}},
            (
                "stack: 'mosquitto' needs knobs that every scenario says itself, such as "
                "knobs: {mosquitto: {server_queue: 100000, server_window: 20}}"
            ),
        ),
        (
            {"knobs": {"mosquitto": KNOBS | {"version": "3.1.1", "qos": 2, "window": 100}}},
            "knobs.mosquitto: window 100 above server_window 20: with MQTT 3.1.1 and QoS 2 the broker loses messages",
        ),
        ({"knobs": {"mosquitto": KNOBS | {"qos": 0}}}, "stack 'mosquitto' does not offer ack_auto"),
    ],
    ids=[
        "unknown",
        "value",
        "range",
        "stack",
        "tls",
        "no tls",
        "neither",
        "unsaid",
        "together",
        "guarantee",
    ],
)
def test_what_cannot_be_set_is_told_with_what_can(tmp_path: Path, settings: dict[str, object], told: str) -> None:
    said = refusal(tmp_path, **settings)
    assert said.startswith("scenario.yaml:")
    assert told in said


@pytest.mark.parametrize("knobs", [{}, {"mosquitto": {"qos": 1}}])
def test_a_pattern_that_the_stack_does_not_offer_is_told_before_knobs_that_are_missing(
    tmp_path: Path, knobs: dict[str, object]
) -> None:
    work = {"pattern": "stream", "clients": {"flows": 1}, "body_bytes": 100}
    said = refusal(tmp_path, stack=["reference", "mosquitto"], stations=2, workload=work, knobs=knobs)
    wanted = r"scenario\.yaml:\d+: workload\.pattern: stack 'mosquitto' does not offer stream; stacks that offer all .*"
    assert re.fullmatch(wanted, said)


def test_with_qos_0_nothing_is_acknowledged(tmp_path: Path) -> None:
    workload = {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100, "ack": "none"}
    loaded = load(tmp_path, workload=workload, knobs={"mosquitto": KNOBS | {"qos": 0}})
    assert loaded.settings.driver().guarantees == {Guarantee.ACK_NONE, Guarantee.ORDERED}


def test_a_value_of_none_of_several_kinds_is_one_problem(tmp_path: Path) -> None:
    (said,) = refusal(tmp_path, knobs={"mosquitto": KNOBS | {"qos": [{"a": 1}]}}).splitlines()
    assert said.endswith(": knobs.mosquitto.qos: has to be true or false, an integer, a number or text (in quotes)")


def test_a_driver_without_knobs_is_as_it_usually_is() -> None:
    assert Mosquitto().services()[0].variables["mosquitto_server_window"] == 20
