"""Trials of one turn begin their loads together: none before all stand, and no later than the last of those that do."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_runs import scenario_file

from experiments.campaign import campaign as campaigns
from experiments.campaign import launch, runner
from experiments.campaign.launch import Outcome, Way
from experiments.campaign.together import Together
from experiments.scenario import scenario as scenarios
from experiments.trial import provenance
from experiments.trial.others import READY
from experiments.workers.worker import Workers
from records.campaign import Planned, read_campaign

TRIALS = [Planned(cell=name, trial=1, seed=1) for name in "abc"]


@given(st.lists(st.tuples(st.sampled_from(TRIALS), st.sampled_from(["build", READY, "load", "over"]))))
def test_a_trial_begins_when_it_waits_and_nobody_is_to_come(story: list[tuple[Planned, str]]) -> None:
    together, last = Together(TRIALS), dict.fromkeys(TRIALS, "")
    come = set[Planned]()
    for planned, what in story:
        last[planned] = what
        if what in (READY, "over"):
            come.add(planned)
        if what == "over":
            together.ended(planned)
        else:
            together.phase(planned, what)
        assert {one for one in TRIALS if together.begins(one)} == {
            one for one in TRIALS if last[one] == READY and come == {*TRIALS}
        }


# A trial's process: it waits for its own moment, says that it stands, and notes how often it heard of the machine
# before it was told to begin.
STANDS = """
import json, pathlib, sys, time
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
def phase(word):
    print(json.dumps({"event": "phase", "name": word}), flush=True)
sys.stdin.readline()
while not (folder / f"{name} may stand").exists():
    time.sleep(0.01)
phase("ready")
for line in sys.stdin:
    if '"begin"' in line:
        break
    with (folder / f"{name} heard").open("a") as heard:
        heard.write(".")
phase("load")
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

        spec = runner.spec(self._campaign_folder, campaign, campaign.cells[0], planned, provenance.gather())
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

    def heard(self, number: int) -> int:
        path = self.folder / f"{number} heard"
        return len(path.read_text()) if path.exists() else 0


def until_heard(two: Two, times: int, first: Future[Outcome]) -> None:
    """Wait until the first trial was told so often of the machine; it fails when the trial ends before."""
    while two.heard(0) < times:
        assert not first.done(), first.result()
        time.sleep(0.02)


@pytest.mark.root
def test_a_trial_that_stands_waits_until_the_other_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = Two(tmp_path, monkeypatch, STANDS, STANDS)
    two.may_stand(0)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(two.run, 0)
        until_heard(two, 3, first)  # of the machine, and not that it may begin
        assert two.said["0"] == [READY]
        second = pool.submit(two.run, 1)
        two.may_stand(1)
        assert [first.result().state, second.result().state] == ["valid", "valid"]
    assert two.said == {"0": [READY, "load"], "1": [READY, "load"]}


@pytest.mark.root
def test_nobody_waits_for_a_trial_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = Two(tmp_path, monkeypatch, STANDS, DIES)
    two.may_stand(0)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(two.run, 0)
        until_heard(two, 1, first)
        assert pool.submit(two.run, 1).result().state == "failed"
        assert first.result().state == "valid"
