"""The test suite: first what may run side by side, then what needs the machine to itself.

`python tests/run.py [--fast] [options of pytest]`; --fast: without root, broker, Spark, lab kernel and browser.
Prints the slowest tests and how long all of it took; exit status 0 when every test passed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import NEEDS, TIMES

ROOT = Path(__file__).resolve().parents[1]
# Many tests wait for a broker, a deployment or a window, so there are more processes than cores.
_MORE_THAN_CORES = 2
_SLOWEST = 20
_PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def main(words: list[str]) -> int:
    """Run the suite; the exit status."""
    fast = "--fast" in words
    rest = [word for word in words if word != "--fast"]
    workers = str((os.cpu_count() or 1) + _MORE_THAN_CORES)
    unneeded = "".join(f" and not {need}" for need in NEEDS) if fast else ""
    side_by_side = ["-m", f"not alone{unneeded}", "-n", workers, "--dist", "loadscope", "--no-loadscope-reorder"]
    phases = {"side by side": side_by_side}
    if not fast:
        phases["one after another"] = ["-m", "alone", "-p", "no:xdist"]
    took: dict[str, float] = {}
    statuses = []
    # Thousands of processes import the project, so its byte code has to be kept.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `lab` does
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times"
        times.touch()
        for name, options in phases.items():
            began = time.monotonic()
            print(f"== {name}", flush=True)
            command = [sys.executable, "-m", "pytest", *options, *rest]
            done = subprocess.run(command, cwd=ROOT, env=environment | {TIMES: str(times)}, check=False)
            statuses.append(done.returncode)
            took[name] = time.monotonic() - began
        _tell(times, took)
    return next((status for status in statuses if status not in _PASSED), min(statuses))


def _tell(times: Path, took: dict[str, float]) -> None:
    spent: Counter[str] = Counter()
    for line in times.read_text().splitlines():
        test, seconds = json.loads(line)
        spent[test] += seconds
    print(f"== the {_SLOWEST} slowest of {len(spent)} tests")
    for test, seconds in spent.most_common(_SLOWEST):
        print(f"{seconds:7.1f} s  {test}")
    parts = ", ".join(f"{name} {_minutes(seconds)}" for name, seconds in took.items())
    print(f"== {_minutes(sum(took.values()))} in all: {parts}")


def _minutes(seconds: float) -> str:
    return f"{round(seconds) // 60} min {round(seconds) % 60:02} s"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted")
