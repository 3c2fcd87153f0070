"""Trials of one turn begin their loads together, and end together: none before all others are as far."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_runs import scenario_file
from origin import origin

from experiments.campaign import campaign as campaigns
from experiments.campaign import launch, runner
from experiments.campaign.launch import Outcome, Way
from experiments.campaign.together import Together
from experiments.scenario import scenario as scenarios
from experiments.trial.others import MEASURED, READY, WAITS
from experiments.workers.worker import Workers
from records.campaign import Planned, read_campaign

TRIALS = [Planned(cell=name, trial=1, seed=1) for name in "abc"]


@given(st.lists(st.tuples(st.sampled_from(TRIALS), st.sampled_from(["build", READY, "load", MEASURED, "over"]))))
def test_a_trial_goes_on_when_it_waits_and_nobody_is_to_come(story: list[tuple[Planned, str]]) -> None:
    together, last = Together(TRIALS), dict.fromkeys(TRIALS, "")
    come: dict[str, set[Planned]] = {wait: set() for wait in WAITS}
    for planned, what in story:
        last[planned] = what
        for wait in WAITS:
            if what in (wait, "over"):
                come[wait].add(planned)
        if what == "over":
            together.ended(planned)
        else:
            together.phase(planned, what)
        going = {one: together.begins(one) for one in TRIALS}
        assert going == {one: last[one] if come.get(last[one]) == {*TRIALS} else None for one in TRIALS}


# A trial's process: it waits for its own moment, says that it stands, and later that all is measured, and notes how
# often it heard of the machine before it was told to go on.
STANDS = """
import json, pathlib, sys, time
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
def phase(word):
    print(json.dumps({"event": "phase", "name": word}), flush=True)
sys.stdin.readline()
while not (folder / f"{name} may stand").exists():
    time.sleep(0.01)
def wait(word):
    phase(word)
    for line in sys.stdin:
        if '"begin"' in line and f'"{word}"' in line:
            break
        with (folder / f"{name} heard {word}").open("a") as heard:
            heard.write(".")
wait("ready")
phase("load")
while not (folder / f"{name} may end").exists():
    time.sleep(0.01)
wait("measured")
phase("stop")
print(json.dumps({"event": "finished", "state": "valid", "reasons": []}), flush=True)
"""
DIES = "import sys; sys.stdin.readline(); sys.exit(3)"


class Two:
    """Two processes in the place of trials of one turn, and what each has said so far."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
        monkeypatch.setattr(launch, "command", lambda *_, **__: self._words.pop(0))
        self.folder, self._programs = folder, programs
        self._words: list[list[str]] = []
        self.said: dict[str, list[str]] = {}
        scenario = scenarios.load(scenario_file(folder, trials=2))
        self._campaign_folder = campaigns.create(scenario, folder / "results")
        self._together = Together(read_campaign(self._campaign_folder).order)

    def run(self, number: int) -> Outcome:
        campaign = read_campaign(self._campaign_folder)
        planned = campaign.order[number]
        said = self.said[str(number)] = []

        def phase(name: str, delivered: int) -> None:
            said.append(name)

        spec = runner.spec(self._campaign_folder, campaign, campaign.cells[0], planned, origin())
        way = Way(
            kernel="host",
            planned=planned,
            log=self.folder / "log",
            phase=phase,
            limit_s=60,
            together=self._together,
        )
        self._words.append([sys.executable, "-c", self._programs[number], str(self.folder), str(number)])
        return launch.run_one(spec, way, Workers())

    def may_stand(self, number: int) -> None:
        (self.folder / f"{number} may stand").touch()

    def may_end(self, number: int) -> None:
        (self.folder / f"{number} may end").touch()

    def heard(self, number: int, waiting: str) -> int:
        path = self.folder / f"{number} heard {waiting}"
        return len(path.read_text()) if path.exists() else 0


def until_heard(two: Two, times: int, first: Future[Outcome], waiting: str = READY) -> None:
    """Wait until the first trial was told so often of the machine; it fails when the trial ends before."""
    while two.heard(0, waiting) < times:
        assert not first.done(), first.result()
        time.sleep(0.02)


def until_the_first_is_measured(two: Two, pool: ThreadPoolExecutor) -> tuple[Future[Outcome], Future[Outcome]]:
    """Run both; the first waits with its end, and the second may not come to its own yet."""
    for number in (0, 1):
        two.may_stand(number)
    two.may_end(0)
    first, second = pool.submit(two.run, 0), pool.submit(two.run, 1)
    until_heard(two, 3, first, MEASURED)
    return first, second


@pytest.mark.root
def test_a_trial_that_stands_waits_until_the_other_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = Two(tmp_path, monkeypatch, STANDS, STANDS)
    two.may_stand(0)
    two.may_end(1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(two.run, 0)
        until_heard(two, 3, first)  # of the machine, and not that it may begin
        assert two.said["0"] == [READY]
        second = pool.submit(two.run, 1)
        two.may_stand(1)
        two.may_end(0)
        assert [first.result().state, second.result().state] == ["valid", "valid"]
    assert two.said == {"0": [READY, "load", MEASURED, "stop"], "1": [READY, "load", MEASURED, "stop"]}


@pytest.mark.root
def test_a_trial_that_is_measured_waits_until_the_other_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two, began = Two(tmp_path, monkeypatch, STANDS, STANDS), time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        first, second = until_the_first_is_measured(two, pool)
        assert two.said["0"] == [READY, "load", MEASURED]
        assert MEASURED not in two.said["1"]
        moment = time.monotonic()
        time.sleep(0.5)
        waited_s = time.monotonic() - moment
        two.may_end(1)
        assert [first.result().state, second.result().state] == ["valid", "valid"]
    assert first.result().seconds <= time.monotonic() - began - waited_s  # what it waited is not its own time


@pytest.mark.root
def test_nobody_waits_with_its_end_for_a_trial_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = Two(tmp_path, monkeypatch, STANDS, STANDS.replace('wait("measured")', "sys.exit(3)"))
    with ThreadPoolExecutor(2) as pool:
        first, second = until_the_first_is_measured(two, pool)
        two.may_end(1)
        assert second.result().state == "failed"
        assert first.result().state == "valid"


@pytest.mark.root
def test_nobody_waits_for_a_trial_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = Two(tmp_path, monkeypatch, STANDS, DIES)
    two.may_stand(0)
    two.may_end(0)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(two.run, 0)
        until_heard(two, 1, first)
        assert pool.submit(two.run, 1).result().state == "failed"
        assert first.result().state == "valid"
