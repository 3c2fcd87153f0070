"""The test suite: phases one after another, whose parts run at the same time (tests/groups.py has the marks).

`python tests/run.py [--fast] [options of pytest]`; --fast: without root, broker, Spark, lab kernel and browser.
A test that fails beside others is run once more by itself, since a stall of the machine fails any, and said.
Prints the slowest tests, what uses the processors most, and how long all of it took; exit status 0 when every test
passed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from groups import GROUPS, NEEDS, RESULTS, SPARK

ROOT = Path(__file__).resolve().parents[1]
_CORES = os.cpu_count() or 1
# Many tests wait for a broker, a deployment or a window, so there are more processes than cores.
_MORE_THAN_CORES = 2
_SLOWEST = 20
# More failures than these are no stall of the machine.
_MOST_AGAIN = 5
_PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_SOME_NEED = " or ".join(NEEDS)


def _processes(count: int) -> list[str]:
    """Run groups (tests/groups.py) in so many processes."""
    return ["-n", str(count), "--dist", "loadscope", "--no-loadscope-reorder"]


def _naming(*marks: str) -> list[str]:
    """The modules that name one of these marks: to collect all others takes a process some seconds."""
    modules = ((path, path.read_text()) for path in (ROOT / "tests").rglob("test_*.py"))
    return sorted(
        str(path.relative_to(ROOT)) for path, text in modules if any(f"mark.{mark}" in text for mark in marks)
    )


# Who uses the Spark session needs not name its mark.
_NEEDING = sorted({*_naming(*NEEDS), *(f"tests/{module}" for module in GROUPS[SPARK])})


# A process that no signal takes out of a test ends with it, and xdist goes on with another: these tests leave nothing.
_ENDS_WITH_A_TEST_THAT_HANGS = ("-o", "faulthandler_exit_on_timeout=true")
# Phase, part, options of pytest.  Every test is in one part.  What the first part of a phase says is shown at once.
_PURE = ["-m", f"not ({_SOME_NEED}) and not link and not alone", *_ENDS_WITH_A_TEST_THAT_HANGS]
_PURE += _processes(_CORES + 1)  # some wait
FAST = {"pure": {"pure": _PURE}}
ALL = {
    "side by side": {
        "all": [
            *("-m", f"({_SOME_NEED}) and not link and not alone"),
            *_processes(_CORES + _MORE_THAN_CORES),
            *_NEEDING,
        ],
        "pure": _PURE,
    },
    "links": {
        "on this kernel": ["-m", "link and not alone and not labkernel", *_processes(_CORES + 1), *_naming("link")],
        "in the lab kernel": ["-m", "link and not alone and labkernel", "-p", "no:xdist", *_naming("link")],
    },
    "alone": {"all": ["-m", "alone", "-p", "no:xdist", *_naming("alone")]},
}
# A part that leaves every processor to the others as soon as these want it, and the phase after which it goes on.
_IDLE, _GOES_ON_AFTER = "pure", "side by side"
# In a session of its own, which goes behind all others, most of all from that phase on; it ends with this process.
APART = ["setpriv", "--pdeathsig", "TERM", "chrt", "--idle", "0"]
_BEHIND, LAST = 5, 19  # a third of the share of another session, and a seventieth

_Running = dict[str, subprocess.Popen[bytes]]


def main(words: list[str]) -> int:
    """Run the suite; the exit status."""
    fast = "--fast" in words
    rest = [word for word in words if word != "--fast"]
    took: dict[str, float] = {}
    statuses: list[int] = []
    # Thousands of processes import the project, so its byte code has to be kept.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `lab` does
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = folder / "results"
        results.touch()
        environment[RESULTS] = str(results)
        with _ending(folder) as running:
            for phase, parts in (FAST if fast else ALL).items():
                began = time.monotonic()
                print(f"== {phase}", flush=True)
                if behind := running.get(_IDLE):
                    goes_behind(behind.pid, LAST)
                _start(running, parts, rest, environment, folder)
                wanted = [part for part in running if (phase, part) != (_GOES_ON_AFTER, _IDLE)]
                statuses += [_finished(running, part, folder) for part in wanted]
                took[phase] = time.monotonic() - began
        again = once_more(statuses, results.read_text().splitlines())
        if again:
            began = time.monotonic()
            print(f"== once more, by themselves: {len(again)}", flush=True)
            with _ending(folder) as running:
                _start(running, {"again": [*again, "-p", "no:xdist"]}, rest, environment, folder)
                # A part that has lost its tests stays one.
                statuses = [one for one in statuses if one != pytest.ExitCode.TESTS_FAILED]
                statuses.append(_finished(running, "again", folder))
            took["once more"] = time.monotonic() - began
            for test in again:
                print(f"== failed at first: {test}")
        _tell(results, took)
    passed = _PASSED if rest else (pytest.ExitCode.OK,)  # a part without a test is a part that has lost them
    return next((status for status in statuses if status not in passed), min(statuses))


def once_more(statuses: Sequence[int], results: Sequence[str]) -> list[str]:
    """The tests to run once more: those that failed, when they are few, and nothing else is wrong.

    results: lines of the file that groups.RESULTS names.
    """
    if not set(statuses) <= {*_PASSED, pytest.ExitCode.TESTS_FAILED}:
        return []
    failed = dict.fromkeys(test for test, _, outcome, _ in map(json.loads, results) if outcome == "failed")
    return list(failed) if len(failed) <= _MOST_AGAIN else []


def _start(
    running: _Running, parts: Mapping[str, Sequence[str]], rest: Sequence[str], environment: Mapping[str, str],
    folder: Path,
) -> None:  # fmt: skip
    """Start parts at the same time.  What the first one says is shown; what others say goes to files in `folder`."""
    for place, (name, options) in enumerate(parts.items()):
        apart = bool(place) and name == _IDLE
        command = [*(APART if apart else []), sys.executable, "-m", "pytest", *options, *rest]
        with (folder / name).open("wb") as said:
            running[name] = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=said if place else None,
                stderr=subprocess.STDOUT if place else None, start_new_session=apart,
            )  # fmt: skip
        if apart:
            goes_behind(running[name].pid, _BEHIND)


def goes_behind(pid: int, nice: int) -> None:
    """Have this process's session get less than others, where the kernel shares by sessions (sched(7))."""
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def _finished(running: _Running, name: str, folder: Path) -> int:
    """Wait for a part and show what it has said, unless it was shown at once; its exit status."""
    status = running[name].wait()
    del running[name]
    _show(name, folder)
    return status


def _show(name: str, folder: Path) -> None:
    if text := (folder / name).read_text(errors="replace"):
        print(f"== {name}", text, sep="\n", flush=True)


@contextmanager
def _ending(folder: Path) -> Iterator[_Running]:
    """Parts that run, by name; those still in it are ended on the way out, and what they have said is shown."""
    running: _Running = {}
    try:
        yield running
    finally:
        for name, process in running.items():
            if process.poll() is None:
                process.terminate()
                process.wait()
                _show(name, folder)


def _tell(results: Path, took: dict[str, float]) -> None:
    spent, used, used_by_module = Counter[str](), Counter[str](), Counter[str]()
    for line in results.read_text().splitlines():
        test, seconds, _, processors = json.loads(line)
        spent[test] += seconds
        used[test] += processors
        used_by_module[test.partition("::")[0]] += processors
    print(f"== the {_SLOWEST} slowest of {len(spent)} tests, and what they have used of processors")
    for test, seconds in spent.most_common(_SLOWEST):
        print(f"{seconds:7.1f} s {used[test]:7.1f} s  {test}")
    print(f"== the {_SLOWEST} modules that have used most, of {_minutes(used.total())}")
    for module, seconds in used_by_module.most_common(_SLOWEST):
        print(f"{seconds:7.1f} s  {module}")
    parts = ", ".join(f"{name} {_minutes(seconds)}" for name, seconds in took.items())
    print(f"== {_minutes(sum(took.values()))} in all: {parts}")


def _minutes(seconds: float) -> str:
    return f"{round(seconds) // 60} min {round(seconds) % 60:02} s"


def _ended(number: int, _: object) -> None:
    sys.exit(f"ended by {signal.Signals(number).name}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _ended)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted")
