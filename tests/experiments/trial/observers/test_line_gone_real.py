"""Campaigns over a line under the real command line, whose line, or whose runner, goes in the middle of a trial."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from campaign_runs import WINDOW, assert_gone, assert_nothing_lives, begin, clients_of, until
from lab_runs import scenario_file, traces

from emulation.kernel.namespace import run_tool

pytestmark = [pytest.mark.root]

ENDLESS = WINDOW | {"window_s": 3000}
_UNDER_LOAD_S = 3.0  # clients connect in less, or the trial is a little earlier in its course


def lines_of(pid: int) -> list[psutil.Process]:
    """Processes of lines below a process."""
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "emulation.line.process" in one.cmdline():
                found.append(one)
    return found


def over_a_line(folder: Path) -> Path:
    return scenario_file(folder, medium="line", network="nistnet-80211", window=ENDLESS)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("killed", r"the line's process \(pid \d+\) ended, and without it no packet crosses the link \(SIGKILL\)"),
        ("stopped", r"the line's process \(pid \d+\) has not answered for 5 s"),
        ("unplugged", r"interface port-sta1 of the access point has gone: no packet crosses the link there"),
    ],
)
def test_a_line_that_goes_fails_its_trial_at_once_and_leaves_nothing(tmp_path: Path, what: str, words: str) -> None:
    before = traces(tmp_path)
    process, spaces = begin(over_a_line(tmp_path), tmp_path / "results")
    until(lambda: bool(clients_of(process.pid) and lines_of(process.pid)))
    time.sleep(_UNDER_LOAD_S)
    (line,) = lines_of(process.pid)
    if what == "unplugged":
        run_tool(["ip", "link", "del", "port-sta1"], pid=line.pid)
    else:
        os.kill(line.pid, signal.SIGKILL if what == "killed" else signal.SIGSTOP)
    said, complaints = process.communicate(timeout=600)  # it does not wait for the window's end
    assert process.returncode == 1, said + complaints
    assert len(re.findall(words, said)) == 1, said + complaints
    assert "Traceback" not in said + complaints
    assert not list((tmp_path / "results").glob("*/2*/*/trial-*"))
    assert_gone(spaces, before, tmp_path)


def test_a_killed_runner_takes_its_line_along(tmp_path: Path) -> None:
    before = traces(tmp_path)
    process, spaces = begin(over_a_line(tmp_path), tmp_path / "results")
    until(lambda: bool(lines_of(process.pid)))
    lines = lines_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until(lambda: not any(one.is_running() for one in lines))
    assert_nothing_lives(spaces, before, tmp_path)
