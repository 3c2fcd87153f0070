"""Whole trials over a line: how late it was is recorded and judged, and so are frames that no link carries."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from lab_runs import assert_sound, failed, machines, scenario_file, traces

from emulation.linkplan import LinkPlan
from emulation.namespace import in_namespace, run_tool
from experiments import bench, provenance, runner
from experiments import campaign as campaigns
from experiments import scenario as scenarios
from experiments import trial as trials
from experiments.bench import Phase
from results.campaign import read_campaign
from results.store import Trial
from results.verdict import Check, Health, HealthCheck, Limiter, Verdict

pytestmark = [pytest.mark.root]

WINDOW = {"warmup_s": 0.3, "window_s": 4, "drain_s": 3}
PER_SECOND = {
    "lateness_p50_s", "lateness_p99_s", "lateness_max_s",
    "released_frames", "refused_frames", "too_large_frames", "largest_bytes",
}  # fmt: skip


def lines_process() -> psutil.Process:
    """The process of the line that this process's trial has."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "emulation.line.process" in child.cmdline():
                return child
    raise AssertionError("no line")


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None] | None = None, **settings: object
) -> tuple[Trial, Verdict]:
    """One trial over a line.  meanwhile: what happens half a second after go, in a thread of its own."""

    def over_a_line(*given: Any) -> LinkPlan:
        return replace(bench.link_plan(*given), made_by="line")

    monkeypatch.setattr(trials, "link_plan", over_a_line)
    wanted: dict[str, Any] = {"network": "nistnet-80211", "window": WINDOW} | settings
    folder = campaigns.create(scenarios.load(scenario_file(tmp_path, **wanted)), tmp_path / "results")
    campaign = read_campaign(folder)
    spec = runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], provenance.gather())
    happening: list[threading.Thread] = []

    def tell(phase: Phase) -> None:
        if phase.name == "load" and meanwhile is not None and not happening:
            happening.append(threading.Timer(0.5, meanwhile))
            happening[0].start()

    try:
        return trials.run_trial(spec, tell)
    finally:
        for thread in happening:
            thread.join()


def check_of(verdict: Verdict, check: Check = Check.LINE_LATENESS) -> HealthCheck:
    return next(one for one in verdict.checks if one.check is check)


def until_quiet(run_once: Callable[[], tuple[Trial, Verdict]]) -> tuple[Trial, Verdict]:
    """A trial in which the machine let the line do its work: three are tried, as in a campaign."""
    for _ in range(3):
        trial, verdict = run_once()
        if check_of(verdict).health is Health.PASSED:
            break
    return trial, verdict


def test_a_trial_over_a_line_tells_how_late_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = traces(tmp_path)
    trial, verdict = until_quiet(lambda: run(tmp_path, monkeypatch))
    assert traces(tmp_path) == before
    assert_sound(verdict)
    check = check_of(verdict)
    assert check.health is Health.PASSED, check
    assert check.measured is not None
    assert 0 < check.measured <= 0.001
    assert "were read within" in check.detail
    rows = [row for row in trial.table("resources").to_pylist() if row["subject"] == "line"]
    metrics = {row["metric"] for row in rows}
    assert metrics == PER_SECOND | {"cpu_seconds", "rss_bytes"}
    window = trial.manifest().window
    of = {name: [row["value"] for row in rows if row["metric"] == name] for name in metrics}
    asked = [row["t_ns"] for row in rows if row["metric"] == "lateness_p99_s"]
    assert len(asked) >= (window.end_ns - window.start_ns) / 1e9, "at least once a second"
    assert max(asked) > window.drained_ns, "to the end"
    pairs = zip(of["lateness_p50_s"], of["lateness_p99_s"], of["lateness_max_s"], strict=True)
    assert all(0 <= half <= most <= worst for half, most, worst in pairs)
    assert of["released_frames"] == sorted(of["released_frames"])
    assert of["released_frames"][-1] > 100
    assert (of["refused_frames"][-1], of["too_large_frames"][-1]) == (0, 0)
    (use,) = [one for one in verdict.uses if one.of is Limiter.MACHINE]
    assert use.share is not None
    assert check_of(verdict, Check.SOFTIRQ_DROPS).measured == 0 or Check.SOFTIRQ_DROPS in failed(verdict)


def test_a_line_that_does_not_run_for_a_while_makes_its_trial_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starve() -> None:
        line = lines_process()
        line.suspend()
        time.sleep(0.3)
        line.resume()

    trial, verdict = run(tmp_path, monkeypatch, starve)
    against = failed(verdict)
    assert Check.LINE_LATENESS in against
    assert against == machines(against), "the machine alone can do that, so the trial is run again"
    check = check_of(verdict)
    assert check.measured is not None
    assert check.measured > 0.2
    worst = [row["value"] for row in trial.table("resources").to_pylist() if row["metric"] == "lateness_max_s"]
    assert sum(one > 0.2 for one in worst) == 1, "in the second in which it happened"


def test_a_frame_above_the_mtu_makes_its_trial_invalid_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ends of a cable are given a larger MTU, and the server sends a larger packet than a link carries."""

    def enlarge() -> None:
        (server,) = [one for one in psutil.Process().children(recursive=True) if "mininet:server" in one.cmdline()]
        run_tool(["ip", "link", "set", "wired", "mtu", "4000"], pid=lines_process().pid)
        run_tool(["ip", "link", "set", "server-eth", "mtu", "4000"], pid=server.pid)
        with in_namespace(server.pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            sender.sendto(bytes(3000), ("10.77.0.2", 9))

    _, verdict = run(tmp_path, monkeypatch, enlarge)
    check = check_of(verdict, Check.OFFLOADS_OFF)
    assert check.health is Health.FAILED, check
    assert check.measured == 3
    assert "server-eth: MTU 4000, wired: MTU 4000" in check.detail
    assert "1 frames came to the line" in check.detail
    assert "set every MTU to 1500" in check.detail
