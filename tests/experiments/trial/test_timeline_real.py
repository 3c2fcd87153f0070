"""A link that changes while it is in use: every change is made, recorded and judged."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import yaml
from collections_seen import Collection, noting, seen
from lab_runs import failed, lab, scenario_file
from trial_runs import sent_and_handled

from experiments.campaign import campaign as campaigns
from experiments.load.nursery import PROCESS
from records.proven import ProvenState, proven_states
from records.store import Trial, trials
from records.verdict import Check

pytestmark = [pytest.mark.root]

PROFILE = {
    "name": "restless",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "2 Mbit/s",
    "loss": 0.01,
    "timeline": [
        {"at": "300 ms", "outage": "500 ms"},
        {"at": "1.1 s", "change": {"rate": "500 kbit/s", "loss": 0.0}},
        {"at": "1.5 s", "change": {"rate": "2 Mbit/s", "loss": 0.01}},
        {"at": "60 s", "change": {"rate": "1 Mbit/s"}},
    ],
}


@dataclass(frozen=True, slots=True)
class Run:
    """A campaign of two trials; said: what the command said; collections: of all processes of its trials."""

    trials: list[Trial]
    proven: list[ProvenState]
    said: str
    collections: list[Collection]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("timeline")
    (folder / "link.yaml").write_text(yaml.safe_dump(PROFILE, sort_keys=False))
    scenario, results = scenario_file(folder, network="link.yaml", trials=2), folder / "results"
    done = lab("run", scenario, "--no-report", results=results, env=noting(folder / "collections"))
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (campaign,) = campaigns.folders(results)
    return Run(trials(campaign), proven_states(campaign), done.stdout + done.stderr, seen(folder / "collections"))


def test_a_window_that_cuts_the_timeline_is_told_before_the_trials(run: Run) -> None:
    told = "its timeline goes on for 60 s, and the window shows the first 2 s: 1 of its 4 events come later"
    assert told in run.said


def test_each_later_state_is_proven_by_one_trial_for_both(run: Run) -> None:
    slow = "rate 500 kbit/s, loss 0.0, at 1.1 s"
    states = ["outage begins, at 0.3 s", slow]
    for trial in run.trials:
        later = trial.link().later
        assert later is not None
        assert [one.state for one in later] == states
    # On a noisy machine a state may not hold in the first trial, and a trial may be repeated.
    by = {one.change: one for one in run.proven}
    assert len(by) == len(run.proven), "a state was proven twice"
    assert set(by) <= set(states)
    assert set(by) == set(states) or failed(run.trials[-1].verdict()) & {
        Check.LINK_RATE, Check.LINK_LOSS, Check.LINK_DELAY,
    }  # fmt: skip
    if slow in by:
        assert {(one.direction, one.source, one.asked) for one in by[slow].checks if one.quantity == "rate"} == {
            (way, "probe", 5e5) for way in ("uplink", "downlink")
        }
    last = run.trials[-1].link()
    for one in (one for one in last.later or () if one.state in by):
        assert one.proven_by == by[one.state].trial
        own = [check for check in last.checks if check.state == one.state]
        assert bool(own) == (one.proven_by == "only/trial-002")


def test_nobody_collects_garbage_from_go_to_the_end_of_the_drain(run: Run) -> None:
    """But for the sampler, which looks at what it has made since its last sample."""
    ours = ("experiments.trial.trial_process", PROCESS, "stacks.reference")
    for module in ours:
        assert any(one.of(module) for one in run.collections), "it does so while it starts, or this test shows nothing"
    for trial in run.trials:
        window = trial.manifest().window
        found = [
            one
            for one in run.collections
            if one.ended_ns > window.go_ns and one.began_ns < window.drained_ns and any(map(one.of, ours))
        ]
        assert {one.generation for one in found} == {0}
        assert {one.of("experiments.trial.trial_process") for one in found} == {True}


def test_a_timeline_is_played_recorded_and_judged(run: Run) -> None:
    trial = run.trials[0]
    proof, window = trial.link(), trial.manifest().window
    assert [event.label for event in proof.events] == [
        "outage begins",
        "outage ends",
        "rate 500 kbit/s, loss 0.0",
        "rate 2 Mbit/s, loss 0.01",
    ]
    for event in proof.events:
        assert event.t_ns >= window.start_ns + event.at_s * 1e9
    (change,) = [check for check in proof.checks if check.quantity == "change"]
    assert change.detail == "the latest of 4 changes; 4 were due"
    losses = [check.holds for check in proof.checks if check.quantity == "loss"]
    assert losses
    assert all(losses)
    bypass = {check.direction: check for check in proof.checks if check.quantity == "bypass"}
    assert set(bypass) == {"uplink", "downlink"}
    assert all(check.holds for check in bypass.values()), bypass
    whole = next(one for one in proof.counters if one.during == "trial")
    assert whole.dark
    assert sum(whole.dark.values()) > 0, "messages are sent into the outage, in both directions together"
    # Nothing crosses the dark link: what is handled in it had been sent before it began.
    begins, ends = (event.t_ns for event in proof.events[:2])
    assert sent_and_handled(trial, begins, ends) == []
    assert any(row["t_recv_ns"] > ends for row in trial.table("delivered").to_pylist())
    rates = [
        row["value"]
        for row in trial.table("resources").to_pylist()
        if (row["subject"], row["metric"]) == ("queue:air", "rate_bit_per_s")
    ]
    assert rates == [2e6, 5e5, 2e6]
