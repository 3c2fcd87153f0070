"""Whole trials over a line in this process, and what may happen meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import warm
from lab_runs import assert_sound, called, scenario_file
from origin import origin
from service_ends import ending_with_us

from analysis.trial import reduce_trial
from experiments.campaign import campaign as campaigns
from experiments.campaign import runner
from experiments.scenario import scenario as scenarios
from experiments.trial import trial as trials
from experiments.trial.context import Phase
from records.campaign import read_campaign
from records.store import Trial
from records.verdict import Check, Health, HealthCheck, Verdict

WINDOW = {"warmup_s": 0.3, "window_s": 4, "drain_s": 3}


def lines_of(pid: int) -> list[psutil.Process]:
    """Processes of lines below a process."""
    return called("emulation.line.process", pid)


def lines_process() -> psutil.Process:
    """The process of the line that this process's trial has."""
    (found,) = lines_of(os.getpid())
    return found


@contextmanager
def lines_seen() -> Iterator[set[int]]:
    """Numbers of all processes of lines that are below this one at some time of the context."""
    found: set[int] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            found.update(one.pid for one in lines_of(os.getpid()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def run(tmp_path: Path, meanwhile: Callable[[], None] | None = None) -> tuple[Trial, Verdict]:
    """One trial over a line.  meanwhile: what happens half a second after go, in a thread of its own."""
    scenario = scenarios.load(scenario_file(tmp_path, network="nistnet-80211", window=WINDOW))
    folder = campaigns.create(scenario, tmp_path / "results")
    campaign = read_campaign(folder)
    spec = runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], origin(), medium="line")
    happening: list[threading.Thread] = []

    def tell(phase: Phase) -> None:
        if phase.name == "load" and meanwhile is not None and not happening:
            happening.append(threading.Timer(0.5, meanwhile))
            happening[0].start()

    try:
        with ending_with_us(folder), warm.nurseries():
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


def assert_complete(trial: Trial, verdict: Verdict) -> None:
    """Whatever the machine did, the trial has every record, and every message of it is accounted for."""
    assert_sound(verdict)
    link = trial.link()
    assert {"rate", "delay", "losses", "loss", "bypass"} <= {one.quantity for one in link.checks}
    assert len(trial.table("delivered")) > 20
    assert not [one for one in reduce_trial(trial.path, 0).to_pylist() if one["table"] == "damage"]
