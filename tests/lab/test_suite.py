"""The suite of tests itself: every test is run, and none twice but what a stall of the machine can have failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression
from groups import MARKS, RESULTS
from run import ALL, FAST, ROOT, once_more


def test_a_test_with_whatever_marks_is_in_one_part() -> None:
    words = [options[options.index("-m") + 1] for parts in ALL.values() for options in parts.values()]
    taken = [Expression.compile(one) for one in words]
    for count in range(len(MARKS) + 1):
        for marks in combinations(MARKS, count):
            assert sum(one.evaluate(lambda name, marks=marks, **_: name in marks) for one in taken) == 1, marks


def result(test: str, outcome: str = "failed") -> str:
    return json.dumps([test, 1.0, outcome])


def test_what_failed_is_run_once_more() -> None:
    results = [result("one", "passed"), result("two"), result("two"), result("three", "passed")]
    assert once_more([0, 1, 5], results) == ["two"]
    assert once_more([0, 0], [result("one", "passed")]) == []


@pytest.mark.parametrize(
    ("statuses", "results"),
    [
        ([1], [result(str(number)) for number in range(6)]),
        ([1, 2], [result("one")]),
        ([1, 3], [result("one")]),
    ],
    ids=["too many", "not collected", "pytest itself"],
)
def test_what_no_stall_explains_is_not(statuses: list[int], results: list[str]) -> None:
    assert once_more(statuses, results) == []


HANGS = """
import ctypes
import pathlib

import pytest

tried = pathlib.Path(__file__).with_name("tried")

def test_hangs_where_no_signal_is_heard():
    if not tried.exists():
        tried.touch()
        ctypes.PyDLL(None).sleep(600)  # which keeps the interpreter's lock

@pytest.mark.parametrize("number", range(5))
def test_runs(number): pass
"""


def test_a_test_that_hangs_where_no_signal_is_heard_fails_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    results = tmp_path / "results"
    command = [sys.executable, "-m", "pytest", *FAST["pure"]["pure"], "-o", "faulthandler_timeout=2"]
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment |= {RESULTS: str(results), "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'tests/support'}"}
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "conftest", tmp_path],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    assert "in test_hangs_where_no_signal_is_heard" in done.stdout + done.stderr
    outcomes = [json.loads(line) for line in results.read_text().splitlines()]
    assert len({test for test, _, outcome in outcomes if outcome == "passed"}) == 6
    (failed,) = {test for test, _, outcome in outcomes if outcome == "failed"}
    assert failed.endswith("::test_hangs_where_no_signal_is_heard")
