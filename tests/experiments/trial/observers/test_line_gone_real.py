"""Campaigns over a line under the real command line, whose line, or whose runner, goes in the middle of a trial."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
from campaign_runs import WINDOW, assert_gone, assert_nothing_lives, begin, clients_of, until
from lab_runs import scenario_file, traces
from line_trials import lines_of

from emulation.kernel.namespace import run_tool

pytestmark = [pytest.mark.root]

ENDLESS = WINDOW | {"window_s": 3000}
_UNDER_LOAD_S = 3.0  # clients connect in less, or the trial is a little earlier in its course


def over_a_line(folder: Path, topology: str | dict[str, str] = "star") -> Path:
    return scenario_file(folder, medium="line", network="nistnet-80211", window=ENDLESS, topology=topology)


@pytest.mark.parametrize(
    ("what", "topology", "words"),
    [
        (
            "killed",
            {"kind": "chain", "link": "wireline-10m"},
            r"the line's process \(pid \d+\) ended, .* no packet crosses any of the links medium, link1 \(SIGKILL\)",
        ),
        ("stopped", "star", r"the line's process \(pid \d+\) has not answered for 5 s"),
        ("unplugged", "star", r"interface port-sta1 of the access point has gone: no packet crosses the link there"),
    ],
    ids=["killed", "stopped", "unplugged"],
)
def test_a_line_that_goes_fails_its_trial_at_once_and_leaves_nothing(
    tmp_path: Path, what: str, topology: str | dict[str, str], words: str
) -> None:
    before = traces(tmp_path)
    process, spaces = begin(over_a_line(tmp_path, topology), tmp_path / "results")
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
