"""Campaigns under the real command line, to be interrupted in the middle of a trial."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from lab_runs import (
    ROOT,
    Spaces,
    called,
    command,
    living_in,
    process_namespaces,
    traces,
)

from experiments.load.nursery import PROCESS

# A trial must still be under way when it is interrupted: the test may have to wait seconds for a processor.
WINDOW = {"warmup_s": 0.3, "window_s": 6, "drain_s": 3}


def begin(
    scenario: Path, results: Path, *, finished: int = 0, together: int = 1
) -> tuple[subprocess.Popen[str], Spaces]:
    """Start a campaign and wait until so many trials are finished and the next ones are recording packets.

    together: how many of these.  Returns it with the namespaces of processes that its trials live in.
    """
    process = subprocess.Popen(
        command("run", scenario, "--no-report", results=results),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    deadline = time.monotonic() + 600
    try:
        while (
            len(list(results.glob("*/2*/*/trial-*"))) != finished
            or len({path.parent for path in results.glob("*/2*/*/.partial-*/*.pcap")}) < together
        ):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        spaces = process_namespaces(process.pid)
        assert len(spaces) >= together
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process, spaces


def clients_of(pid: int) -> list[psutil.Process]:
    """The load's clients below a process; they begin to connect when packets are recorded already."""
    return [one for nursery in called(PROCESS, pid) for one in nursery.children()]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_nothing_lives(spaces: Spaces, before: dict[str, object], folder: Path) -> None:
    """The kernel ends a dead process's namespace in its own time: wait for that, not for a command of ours."""
    assert spaces
    deadline = time.monotonic() + 120
    while (living_in(spaces) or traces(folder) != before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert living_in(spaces) == []
    assert traces(folder) == before


def assert_gone(spaces: Spaces, before: dict[str, object], folder: Path) -> None:
    """Nothing lives, and no unfinished folder is left."""
    assert_nothing_lives(spaces, before, folder)
    assert not list(folder.glob("results/*/2*/*/.partial-*"))
