"""The suite of tests itself: every test is run, and none twice but what a stall of the machine can have failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import psutil
import pytest
from _pytest.mark.expression import Expression
from groups import MARKS, RESULTS
from lab_kernels import gone
from run import ALL, APART, FAST, LAST, ROOT, goes_behind, once_more


def test_a_test_with_whatever_marks_is_in_one_part() -> None:
    words = [options[options.index("-m") + 1] for parts in ALL.values() for options in parts.values()]
    taken = [Expression.compile(one) for one in words]
    for count in range(len(MARKS) + 1):
        for marks in combinations(MARKS, count):
            assert sum(one.evaluate(lambda name, marks=marks, **_: name in marks) for one in taken) == 1, marks


def result(test: str, outcome: str = "failed") -> str:
    return json.dumps([test, 1.0, outcome, 0.5])


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


_OF_ITS_SESSION = Path("/proc/self/autogroup")


@pytest.mark.skipif(not _OF_ITS_SESSION.exists(), reason="this kernel makes no groups of sessions")
def test_what_goes_behind_all_others_is_its_session_alone() -> None:
    mine = _OF_ITS_SESSION.read_text()
    with subprocess.Popen([*APART, "sleep", "60"], start_new_session=True) as one:
        goes_behind(one.pid, LAST)
        assert Path(f"/proc/{one.pid}/autogroup").read_text().endswith(" nice 19\n")
        one.terminate()
    assert _OF_ITS_SESSION.read_text() == mine
    goes_behind(one.pid, LAST)  # which has ended


def test_what_runs_apart_ends_with_whoever_has_started_it() -> None:
    starts = f"import subprocess; print(subprocess.Popen({[*APART, 'sleep', '60']}, start_new_session=True).pid)"
    apart = int(subprocess.run([sys.executable, "-c", starts], stdout=subprocess.PIPE, check=True, text=True).stdout)
    assert gone([psutil.Process(apart)] if psutil.pid_exists(apart) else [])


ENDS = {"hangs": "ctypes.PyDLL(None).sleep(600)  # which keeps the interpreter's lock", "crashes": "os.abort()"}
ENDING = """
import ctypes, os, pathlib

tried = pathlib.Path(__file__).with_name("tried")

def test_before(): pass

def test_is_the_end_of_its_process():
    if not tried.exists():
        tried.touch()
        {how}

def test_after(): pass
"""


@pytest.mark.parametrize("how", ENDS)
def test_a_test_that_ends_its_process_fails_and_all_others_run(tmp_path: Path, how: str) -> None:
    for number in range(9):
        (tmp_path / f"test_{number}.py").write_text("def test_runs(): pass\n")
    (tmp_path / "test_4.py").write_text(ENDING.format(how=ENDS[how]))
    results = tmp_path / "results"
    # Long enough for a test that only runs, however long it gets no processor.
    command = [sys.executable, "-m", "pytest", *FAST["pure"]["pure"], "-o", "faulthandler_timeout=15"]
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment |= {RESULTS: str(results), "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'tests/support'}"}
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "conftest", tmp_path],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    assert "in test_is_the_end_of_its_process" in done.stdout + done.stderr, "where it was is shown"
    outcomes = [json.loads(line) for line in results.read_text().splitlines()]
    (failed,) = (test for test, _, outcome, _ in outcomes if outcome == "failed")
    assert failed.endswith("::test_is_the_end_of_its_process")
    assert len({test for test, _, outcome, _ in outcomes if outcome == "passed"} - {failed}) == 8 + 2
