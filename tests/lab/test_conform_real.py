"""`lab conform` from end to end: what stacks keep, and each fault of the reference, found by the promise it breaks."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from lab_command import lab

pytestmark = [pytest.mark.root, pytest.mark.broker]

NOT_AS_ASKED = "the link was not what the story asks for"


def conform(folder: Path, *words: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit status, the findings by promise, and all that was printed.

    Once more where the machine alone has kept a promise from being tried: the command repeats no trial by itself.
    """
    for number in range(3):
        out = folder / f"conform-{number}.json"
        results = folder / f"results-{number}"
        done = lab("conform", *words, "--short", "--results", results, "--json", out, timeout=900)
        said = json.loads(out.read_text()) if out.exists() else {"promises": []}
        if not any((one["why"] or "").startswith(NOT_AS_ASKED) for one in said["promises"]):
            break
    return done.returncode, {one["promise"]: one for one in said["promises"]}, done.stdout + done.stderr


def answers(found: dict[str, dict[str, Any]], answer: str) -> set[str]:
    return {name for name, one in found.items() if one["answer"] == answer}


def test_the_reference_keeps_what_it_declares(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    status, found, said = conform(tmp_path, "reference", "--junit", str(junit))
    assert status == 0, said
    assert answers(found, "broken") == answers(found, "untried") == set()
    assert {"at least once", "once", "order", "alive", "no stall", "queue", "one receiver"} <= answers(found, "kept")
    assert {"requests", "own replies", "group", "flow", "flow order", "shared flow order", "whole flow"} <= answers(
        found, "kept"
    )
    suite = ET.parse(junit).getroot()  # noqa: S314 (our own)
    assert (suite.get("tests"), suite.get("failures")) == (str(len(found)), "0")


@pytest.mark.parametrize(
    ("faults", "breaks"),
    [
        (
            ["drop=10", "duplicate=9", "reorder=7", "double=7", "misreply=5", "omit=7", "swap=7", "split=7"],
            {
                "at least once",
                "once",
                "order",
                "one receiver",
                "own replies",
                "group",
                "flow",
                "flow order",
                "shared flow",
                "shared flow order",
                "whole flow",
            },
        ),
        (["stall=50:2.6"], {"no stall"}),
        (["crash=100"], {"alive"}),
    ],
    ids=["lost, doubled, out of order", "stalls", "dies"],
)
def test_every_fault_is_found_by_the_promise_that_it_breaks(
    tmp_path: Path, faults: list[str], breaks: set[str]
) -> None:
    words = [word for fault in faults for word in ("--fault", fault)]
    only = [word for name in sorted(breaks) for word in ("--only", name)]
    status, found, said = conform(tmp_path, "reference", *words, *only)
    assert status == 3, said
    assert answers(found, "broken") == breaks, said
    assert all(one["why"] for one in found.values())


@pytest.mark.parametrize(
    "words",
    [
        ["activemq"],
        ["activemq-openwire"],
        ["activemq-mqtt"],
        ["mosquitto", "--knob", "window=100"],
    ],
    ids=lambda words: words[0],
)
def test_a_broker_loses_nothing_over_an_impaired_link(tmp_path: Path, words: list[str]) -> None:
    status, found, said = conform(tmp_path, *words, "--only", "at least once", "--only", "order")
    assert status == 0, said
    assert answers(found, "kept") == {"at least once", "order"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such"], "no-such"),
        (["reference", "--only", "no-such"], "--only 'no-such': not one of the promises"),
        (["reference", "--fault", "lose=3"], "fault 'lose=3' is not one of"),
        (["mosquitto", "--fault", "drop=3"], "faults can be switched on in"),
        (["mosquitto", "--knob", "qos"], "--knob qos: not KNOB=VALUE"),
        (["mosquitto", "--knob", "qos=7"], "qos"),
        (["mosquitto", "--knob", "qos=["], "--knob qos=[: not KNOB=VALUE"),
        (["mosquitto", "--knob", "qos=01"], "--knob qos=01: not KNOB=VALUE with a number in decimal"),
        (["mosquitto", "--knob", "qos=yes"], "qos"),
        (["mosquitto", "--knob", "qos=2005-02-30"], "--knob qos=2005-02-30: not KNOB=VALUE"),
        (["mosquitto", "--knob", "qos=1", "--knob", "qos=2"], "--knob qos=2: qos is given twice"),
        (["reference", "--fault", "drop=9", "--fault", "drop=5"], "--fault drop=5: drop is given twice"),
        (["reference", "--junit", "nowhere/a.xml"], "--junit nowhere/a.xml: there is no folder nowhere"),
        (["mosquitto", "--only", "flow"], "promises none of flow"),
    ],
)
def test_a_wrong_command_ends_with_status_2_and_a_message(tmp_path: Path, words: list[str], message: str) -> None:
    status, found, said = conform(tmp_path, *words)
    assert (status, found) == (2, {}), said
    assert message in said
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == []
