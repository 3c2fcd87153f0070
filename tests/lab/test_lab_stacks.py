"""`lab stacks` and `lab doctor` say what each stack offers, what it needs, and what is wrong with a package."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from rich.console import Console
from stack_packages import LACKING, TOML, installed

from emulation.labkernel import Boot, Outcome
from emulation.plan.stages import Feature
from experiments.workers.kernels import Kernels
from lab import stacks as verb
from lab.doctor import examine
from stacks import folders


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed(tmp_path, monkeypatch):
        yield


@pytest.mark.usefixtures("other")
def test_a_stack_of_a_package_is_listed_with_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    verb.stacks(json=False)
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if line.startswith("other "))
    assert f"{LACKING} missing" in said
    for word in ("request_reply", "selector", "clients only"):
        assert word in row
    assert f"other lacks {LACKING}; this brings it: make setup" in said


@pytest.mark.usefixtures("other")
def test_as_json_it_is_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    verb.stacks(json=True)
    found = {one["stack"]: one for one in json.loads(capsys.readouterr().out)["stacks"]}
    assert found["other"]["versions"] == {"airwire-other": "1.0", LACKING: None}
    assert (found["other"]["about"], found["other"]["source"]) == ("Somebody else's", "package airwire-other")
    assert found["reference-peers"]["runs_on"] == "every station"
    assert "durable" in found["activemq"]["guarantees"]
    assert found["null"]["bring"] == ""


@pytest.mark.usefixtures("other")
def test_knobs_are_told_with_their_meaning_values_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    verb.stacks(json=True)
    stacks = json.loads(capsys.readouterr().out)["stacks"]
    found = {one["stack"]: {knob["name"]: knob for knob in one["knobs"]} for one in stacks}
    assert found["other"] == {}
    assert found["mosquitto"]["version"] == {
        "name": "version", "meaning": "the version of MQTT", "allowed": "'3.1.1', '5'", "default": "5",
    }  # fmt: skip
    assert (found["mosquitto"]["qos"]["default"], found["mosquitto"]["qos"]["allowed"]) == (None, "0, 1, 2")
    linger = found["zeromq"]["linger_s"]
    assert (linger["default"], linger["allowed"]) == (1.0, "number from 0 to 60")
    assert [knob for one in found.values() for knob in one.values() if not knob["meaning"]] == []


def test_those_that_are_asked_for_are_listed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    verb.stacks(chosen=["zeromq", "mosquitto"], json=True)
    assert [one["stack"] for one in json.loads(capsys.readouterr().out)["stacks"]] == ["mosquitto", "zeromq"]
    verb.stacks(chosen=["null"], json=False)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["stack", "null"]
    with pytest.raises(typer.Exit) as ended:
        verb.stacks(chosen=["null", "nul"], json=False)
    assert ended.value.exit_code == 1
    said = capsys.readouterr()
    assert "stack 'nul' is not one of activemq, activemq-mqtt, " in " ".join(said.err.split())
    assert said.out == ""


def test_defaults_are_written_as_a_scenario_has_them() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(verb.knob_table(verb.listed(folders.found())))
    rows = [line.split() for line in console.export_text().splitlines()]
    assert any(row[0:1] == ["transacted"] and "false" in row[3:5] for row in rows)
    assert any("'off'" in row and "'1.2'," in row for row in rows)
    assert not any("False" in row or "0.0" in row for row in rows)


def test_knobs_fit_a_terminal_of_100_columns() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(verb.knob_table(verb.listed(folders.found())))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 100
    window = next(line for line in lines if "server_queue" in line)
    assert window.split()[:3] == ["server_queue", "integer", "from"]
    assert "every scenario" in window


def test_what_a_package_needs_of_python_is_brought_by_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml = f'{TOML}[[python]]\nrequires = "no-such-module-of-airwire>=1,<2"\n'
    with installed(tmp_path, monkeypatch, toml=toml, driver="import no_such_module_of_airwire"):
        row = next(one for one in verb.listed(folders.found()) if one.stack == "other")
    assert row.bring == "make setup && .venv/bin/pip install 'no-such-module-of-airwire>=1,<2'"
    assert "it needs no-such-module-of-airwire>=1,<2" in row.problem


def test_a_package_that_does_not_work_is_told_and_the_rest_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, monkeypatch, driver="raise RuntimeError('[not] today')"):
        verb.stacks(json=False)
    said = capsys.readouterr()
    assert "stack 'other' of package airwire-other cannot be used: " in said.err
    assert "RuntimeError: [not] today" in said.err
    assert "activemq-openwire" in said.out


def test_the_table_fits_a_terminal_of_100_columns_and_cuts_no_word() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    rows = verb.listed(folders.found())
    console.print(verb.table(rows, width=100))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 100
    words = {word.strip(",") for word in text.split()}
    assert {row.stack for row in rows} <= words
    assert {word for row in rows for word in (*row.patterns, *row.guarantees)} <= words


@pytest.mark.usefixtures("other")
def test_doctor_names_what_a_stack_lacks_and_who_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = Kernels()
    kernels.__dict__.update({"host_features": dict.fromkeys(Feature, ""), "lab": Boot(Outcome.BOOTS, "")})
    examine(kernels)
    row = next(line for line in capsys.readouterr().out.splitlines() if LACKING in line)
    assert "not found, package airwire-other needs it" in row
    assert "lab/bootstrap.sh packages" in row
