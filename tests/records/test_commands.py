"""Commands of the user's own: their words, and what is read from what they print."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from records.commands import (
    ClientCommand,
    Printed,
    PrintedError,
    ProgramRun,
    ServerCommand,
    figures,
    fill,
    printed,
)

VALUES = {"server": "10.0.0.1", "seed": "7", "station": "sta1", "duration": "4"}
RATE = Printed(path="end.rates.0.bps", unit="bit/s", better="higher")


def test_placeholders_become_their_values_within_words() -> None:
    assert fill(("curl", "http://{server}/{station}-{seed}"), VALUES) == ("curl", "http://10.0.0.1/sta1-7")


def test_a_brace_written_twice_is_a_brace() -> None:
    assert fill(('{{"s": %{{time_total}}}}',), VALUES) == ('{"s": %{time_total}}',)


def test_a_value_with_braces_is_not_filled_again() -> None:
    assert fill(("{server}",), {"server": "{seed}", "seed": "7"}) == ("{seed}",)


@pytest.mark.parametrize("word", ["{sever}", "{}", "a{", "}", "%{time_total}"])
def test_an_unknown_placeholder_is_refused_with_those_that_are(word: str) -> None:
    with pytest.raises(ValidationError, match=r"\{server\}, \{seed\}, \{station\}, \{duration\}.*written twice"):
        ClientCommand(command=("curl", word))


@pytest.mark.parametrize("words", [(), ("",), ("{server}",), ("./mine",), ("a\0b",)])
def test_a_command_that_no_program_can_be_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        ClientCommand(command=words)


def test_a_command_is_split_as_a_shell_splits_it_and_nothing_else_is_done_to_it() -> None:
    made = ClientCommand.model_validate({"command": """curl -w 'a b' "c $HOME" *;x"""})
    assert made.command == ("curl", "-w", "a b", "c $HOME", "*;x")
    assert ClientCommand.model_validate_json(made.model_dump_json()) == made


def test_quotes_that_stay_open_are_told() -> None:
    with pytest.raises(ValidationError, match="no closing quotation: close the quotes"):
        ClientCommand.model_validate({"command": "curl 'x"})


@pytest.mark.parametrize("more", [{}, {"ready_port": 80, "ready_s": 1.0}, {"ready_port": 0}, {"ready_s": 0}])
def test_a_server_says_by_one_criterion_when_it_is_ready(more: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ServerCommand.model_validate({"command": ["true"], **more})


def test_a_metric_is_read_from_a_document_over_many_lines() -> None:
    assert printed(json.dumps({"end": {"rates": [{"bps": 5}]}}, indent=2), {"rate": RATE}) == {"rate": 5.0}


def test_of_several_lines_the_last_with_the_metric_holds() -> None:
    said = 'starting {\n{"t": 1}\n{"t": 2.5}\n{"other": 3}\n{"t": '
    assert printed(said, {"time": Printed(path="t", unit="s")}) == {"time": 2.5}


@pytest.mark.parametrize("said", ["", "done\n", "{not json}"])
def test_no_json_is_told(said: str) -> None:
    with pytest.raises(PrintedError, match="'rate': the client printed no JSON"):
        printed(said, {"rate": RATE})


@pytest.mark.parametrize("said", ["{}", "3", '{"end": {"rates": []}}', '{"end": {"rates": {"x": 1}}}'])
def test_a_metric_that_is_not_there_is_told(said: str) -> None:
    with pytest.raises(PrintedError, match=r"no JSON .* has 'end.rates.0.bps'"):
        printed(said, {"rate": RATE})


@pytest.mark.parametrize("value", ['"5"', "true", "[5]", "NaN", "Infinity", "1" + "0" * 400])
def test_a_value_that_is_no_finite_number_is_told(value: str) -> None:
    with pytest.raises(PrintedError, match=r"'time': 't' is .*, not a finite number"):
        printed(f'{{"t": {value}}}', {"time": Printed(path="t", unit="s")})


@pytest.mark.parametrize(("value", "unit"), [(-1, "s"), (1.5, "share")])
def test_a_value_that_its_unit_cannot_have_is_told(value: float, unit: str) -> None:
    with pytest.raises(PrintedError, match=rf"'t' is {value}, and has to be .*; correct path or unit"):
        printed(json.dumps({"t": value}), {"time": Printed.model_validate({"path": "t", "unit": unit})})


def run(**changes: Any) -> ProgramRun:
    usual: dict[str, Any] = {
        "station": "sta1", "server": "server", "command": ("x",), "started_after_s": 0.01, "status": 0,
        "duration_s": 1.0, "timed_out": False, "metrics": {"rate": 3.0},
    }  # fmt: skip
    return ProgramRun.model_validate(usual | changes)


def test_a_trials_figures_are_means_over_the_stations_that_have_them() -> None:
    runs = [run(), run(duration_s=3.0, metrics={"rate": 5.0}), run(status=1, metrics={}), run(timed_out=True)]
    assert figures(runs) == {"rate": 11 / 3, "duration_s": 1.5, "failed_programs": 2.0}
