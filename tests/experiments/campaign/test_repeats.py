"""What the runner does with trials that the machine or their neighbours spoiled, with the trial's process replaced."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from repeats_world import HOST, World, failing
from stopping_world import finish

from analysis.report.why import run_again
from experiments.campaign import campaign as campaigns
from experiments.campaign.loads import Loads
from experiments.campaign.piece import Budget, Piece
from experiments.campaign.runner import GaveUp
from experiments.scenario.limits import LIMITS
from experiments.trial.context import TrialSpec
from experiments.workers.place import Place
from records.campaign import read_campaign
from records.store import Trial, set_aside
from records.times import trial_times
from records.verdict import Check, State

BY_MACHINE = [check for check in Check if LIMITS[check].machine_alone]


def test_what_the_machine_alone_can_make_fail_is_declared() -> None:
    assert set(BY_MACHINE) == {
        Check.LINK_RATE,
        Check.LINK_LOSS,
        Check.LINK_DELAY,
        Check.LINK_TIMELINE,
        Check.LINE_LATENESS,
        Check.CAPTURE_DROPS,
        Check.SEND_LATENESS,
        Check.HEARTBEAT,
        Check.FOREIGN_LOAD,
        Check.STEAL,
        Check.CPU_QUOTA,
        Check.SOFTIRQ_DROPS,
    }


@pytest.mark.parametrize("check", BY_MACHINE)
def test_a_trial_that_the_machine_can_have_spoiled_is_set_aside_and_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: Check
) -> None:
    world = World(tmp_path, monkeypatch, failing(check, None))
    (outcome,) = world.run().outcomes
    assert outcome.state is State.VALID
    (said,) = world.told.repeats
    assert "the machine alone can have spoiled it" in said
    assert f"{check} failed" in said
    cell = world.folder / "only"
    assert Trial(cell / ".set-aside-trial-001-1").verdict().state is State.INVALID
    (note,) = Trial(cell / "trial-001").manifest().notes
    assert f"{check} failed" in note
    assert ".set-aside-trial-001-1" in note


def test_what_is_noted_of_earlier_runs_is_one_line_in_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, failing(Check.STEAL, (Check.STEAL, Check.HEARTBEAT), None))
    world.run()
    notes = Trial(world.folder / "only" / "trial-001").manifest().notes
    line = run_again([*notes, "run with --mix"])
    assert line is not None
    assert line.short == "Run again twice: steal, heartbeat"
    assert line.full == notes


@pytest.mark.parametrize(
    "attempts",
    [
        [Check.HEARTBEAT] * 3,
        [Check.HEARTBEAT, Check.LINK_RATE, Check.CAPTURE_DROPS],
        [tuple(BY_MACHINE)] * 3,
    ],
)
def test_after_two_repeats_the_result_stands_and_is_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: list[Check | tuple[Check, ...]]
) -> None:
    world = World(tmp_path, monkeypatch, failing(*attempts))
    (outcome,) = world.run().outcomes
    assert outcome.state is State.INVALID
    assert len(world.told.repeats) == 2
    assert [len(spec.notes) for spec in world.specs] == [0, 1, 2]
    assert sorted(path.name for path in (world.folder / "only").iterdir()) == [
        ".set-aside-trial-001-1",
        ".set-aside-trial-001-2",
        "trial-001",
    ]


@pytest.mark.parametrize("asked", [0, 1])
def test_a_scenario_says_how_often_a_spoiled_trial_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: int
) -> None:
    world = World(tmp_path, monkeypatch, failing(*[Check.HEARTBEAT] * 2), repeat_spoiled=asked)
    (outcome,) = world.run().outcomes
    assert (outcome.state, len(world.told.repeats)) == (State.INVALID, asked)


def test_a_spoiled_trial_whose_time_is_up_is_missing_for_the_next_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def attempt(spec: TrialSpec) -> dict[str, object]:
        nonlocal now
        now = 50.0
        return failing(Check.HEARTBEAT)(spec)

    world = World(tmp_path, monkeypatch, attempt)
    piece = Piece(budget=Budget(begun_at=0, lasts_s=60, clock=lambda: now), closing_s=lambda _: 20)
    assert world.run(piece=piece).outcomes == []
    assert piece.shortage is not None
    assert (piece.begun, piece.shortage.planned.trial, piece.shortage.left_s) == (1, 1, 10)
    assert [one.trial for one in campaigns.missing(world.folder, read_campaign(world.folder))] == [1]

    world._attempt = failing(None)
    (outcome,) = world.run().outcomes
    assert outcome.state is State.VALID
    assert ".set-aside-trial-001-1" in Trial(world.folder / "only" / "trial-001").manifest().notes[0]
    assert [one.seconds for one in trial_times(world.folder)] == [1, 1]


def test_repeats_of_an_earlier_command_and_an_earlier_version_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, failing(Check.HEARTBEAT))
    (planned,) = read_campaign(world.folder).order
    for why in ("the machine stalled, so it is run again (heartbeat failed)", ""):
        earlier = set_aside(finish(world.folder, planned, state=State.INVALID, failed=Check.HEARTBEAT), why)
    (earlier / "set-aside.txt").unlink()  # the first versions wrote none
    (outcome,) = world.run().outcomes
    assert (outcome.state, world.told.repeats) == (State.INVALID, [])


STACKS_OWN = [check for check in Check if check not in BY_MACHINE]


@pytest.mark.parametrize("failed", [*STACKS_OWN, *((Check.HEARTBEAT, check) for check in STACKS_OWN)], ids=str)
def test_a_trial_that_something_else_speaks_against_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: Check | tuple[Check, ...]
) -> None:
    world = World(tmp_path, monkeypatch, failing(failed))
    (outcome,) = world.run().outcomes
    assert outcome.state is State.INVALID
    assert world.told.repeats == []


def test_a_trial_with_an_unknown_check_alone_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, lambda _: {"state": State.INCONCLUSIVE})
    (outcome,) = world.run().outcomes
    assert (outcome.state, world.told.repeats) == (State.INCONCLUSIVE, [])


PAIR = {"network": ["nistnet-80211", "wireline-100m"], "parallel": {"trials": 2, "when": {"stack": "reference"}}}
BOTH = PAIR | {"stack": ["reference"]}


@pytest.mark.parametrize(
    ("spoiled", "why"),
    [
        ({"machine_cpu": 0.61}, "61% of the processor was in use, 60% are allowed"),
        ({"machine_cpu": None}, "no processor samples"),
        ({"state": State.INVALID, "failed": Check.GENERATOR_CPU}, "generator_cpu failed"),
        ({"state": State.INVALID, "failed": Check.HEARTBEAT}, "heartbeat failed"),
        ("killed", "it failed beside 1 other trial, so it is run again alone (killed)"),
    ],
)
def test_what_was_spoiled_beside_another_is_run_again_alone_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiled: dict[str, object] | str, why: str
) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object] | str:
        return spoiled if spec.beside and "nistnet" in spec.cell else {}

    world = World(tmp_path, monkeypatch, attempt, **BOTH)
    assert [outcome.state for outcome in world.run().outcomes] == [State.VALID] * 2
    assert [len(spec.beside) for spec in world.specs] == [1, 1, 0]
    (said,) = world.told.repeats
    assert why in said
    again = world.specs[-1]
    assert "nistnet" in again.cell
    assert why in again.notes[0]
    assert Trial(world.folder / again.cell / "trial-001").manifest().beside == ()


def test_a_cell_that_needs_too_much_processor_runs_alone_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, lambda _: {"machine_cpu": 0.7}, trials=2, **BOTH)
    world.run()
    assert [len(spec.beside) for spec in world.specs] == [1, 1, 0, 0, 0, 0]
    assert all(one.state is State.VALID for one in world.told.outcomes), "alone, the processor is the stack's to use"


def test_trials_that_crowd_each_other_run_again_beside_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object]:
        return {"machine_cpu": 0.17 * (1 + len(spec.beside))}

    four = {"trials": 4, "when": {"network": PAIR["network"]}}
    settings = PAIR | {"stations": [1, 2], "parallel": four}
    world = World(tmp_path, monkeypatch, attempt, trials=2, **settings)
    outcomes = world.run().outcomes
    assert [outcome.state for outcome in outcomes] == [State.VALID] * 8
    # Four take 68 %, 17 % each, so that three have room; the one that is left has nobody of its round beside it.
    assert [len(spec.beside) for spec in world.specs] == [3] * 4 + ([2] * 3 + [0]) * 2
    assert len(world.told.repeats) == 4
    assert all(
        "crowded beside 3 other trials, so it is run again beside fewer (68%" in one for one in world.told.repeats
    )


def test_what_the_machine_spoiled_beside_several_runs_again_beside_others_and_then_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object]:
        spoiled = spec.beside and "nistnet" in spec.cell
        return {"state": State.INVALID, "failed": Check.HEARTBEAT} if spoiled else {}

    four = {"trials": 4, "when": {"network": PAIR["network"]}}
    world = World(tmp_path, monkeypatch, attempt, trials=1, **PAIR | {"stations": [1, 2], "parallel": four})
    assert [outcome.state for outcome in world.run().outcomes] == [State.VALID] * 4
    assert [len(spec.beside) for spec in world.specs] == [3] * 4 + [1] * 2 + [0] * 2
    said = [one.split("(")[0] for one in world.told.repeats]
    assert [("beside others" in one, "again alone" in one) for one in said] == [(True, False)] * 2 + [(False, True)] * 2


def test_a_trial_that_is_crowded_beside_fewer_too_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    four = {"trials": 4, "when": {"network": PAIR["network"]}}
    settings = PAIR | {"stations": [1, 2], "parallel": four}
    world = World(
        tmp_path, monkeypatch, lambda spec: {"machine_cpu": 0.7 if spec.beside else 0.5}, trials=1, **settings
    )
    assert [outcome.state for outcome in world.run().outcomes] == [State.VALID] * 4
    assert [len(spec.beside) for spec in world.specs] == [3] * 4 + [2] * 3 + [0] * 4


def test_what_was_seen_of_processors_is_known_when_a_campaign_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, lambda spec: {"machine_cpu": 0.2 * (1 + len(spec.beside))}, trials=2, **BOTH)
    world.run()
    loads = Loads.seen(world.folder)
    assert [loads.of(spec.cell) for spec in world.specs] == [0.2] * 4
    assert loads.of("of another") == pytest.approx(0.2)
    assert Loads().of("of any") == 0


def test_a_cell_that_others_crowded_out_may_share_again_when_alone_it_leaves_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = {"network=nistnet-80211,stack=reference": 0.1, "network=wireline-100m,stack=reference": 0.5}

    def attempt(spec: TrialSpec) -> dict[str, object]:
        return {"machine_cpu": busy[spec.cell] + 0.5 * (spec.trial == 1) * bool(spec.beside)}

    world = World(tmp_path, monkeypatch, attempt, trials=2, **BOTH)
    campaign_run = world.run()
    assert campaign_run.crowded == {"network=wireline-100m,stack=reference"}


@pytest.mark.parametrize(("place", "beside"), [(HOST, [3, 3, 3, 3]), (Place("lab"), [1, 1, 1, 1])])
def test_no_more_lab_kernels_run_side_by_side_than_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Place, beside: list[int]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    four = {"trials": 4, "when": {"network": PAIR["network"]}}
    world = World(tmp_path, monkeypatch, lambda _: {}, trials=1, **PAIR | {"stations": [1, 2], "parallel": four})
    world.run(place)
    assert [len(spec.beside) for spec in world.specs] == beside


@pytest.mark.parametrize(
    ("place", "beside"), [(HOST, [1, 1, 1, 1]), (Place("host", "line"), [1, 1, 0, 0])], ids=["tc", "line"]
)
def test_a_link_that_nearly_fills_the_line_has_it_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Place, beside: list[int]
) -> None:
    two = {"trials": 2, "when": {"stack": "reference"}}
    settings = {"stack": ["reference"], "network": PAIR["network"], "congestion_control": ["cubic", "reno"]}
    world = World(tmp_path, monkeypatch, lambda _: {}, trials=1, stations=2, parallel=two, **settings)
    world.run(place)
    by_network = sorted((("wireline" in spec.cell), len(spec.beside)) for spec in world.specs)
    assert [count for _, count in by_network] == beside
    assert {spec.medium for spec in world.specs} == {place.medium}


def test_without_names_a_cell_is_tried_alone_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object]:
        return {"machine_cpu": 0.5 if "wireline" in spec.cell else 0.2}

    world = World(tmp_path, monkeypatch, attempt, trials=2, parallel=2, stations=[1, 2], network=PAIR["network"])
    world.run()
    assert [len(spec.beside) for spec in world.specs[:4]] == [0] * 4
    second = {spec.cell: len(spec.beside) for spec in world.specs[4:]}
    assert all(beside == ("nistnet" in cell) for cell, beside in second.items())


def test_trials_that_fail_side_by_side_and_alone_end_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, lambda _: "no broker", trials=3, **BOTH)
    with pytest.raises(GaveUp, match="3 trials in a row failed, the last one so: no broker"):
        world.run()


def test_an_error_of_our_own_ends_the_campaign_and_no_thread_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object]:
        raise OSError("no space left")

    world = World(tmp_path, monkeypatch, attempt, **BOTH)
    before = threading.active_count()
    with pytest.raises(OSError, match="no space left"):
        world.run()
    assert threading.active_count() == before


def test_a_precise_cell_gets_no_more_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object]:
        noise = 0.5 * (spec.trial % 2) * ("nistnet" in spec.cell)
        return {"figures": {"delivered_per_s": 1 + noise}}

    rule = {"least": 2, "most": 5, "until": {"metrics": ["delivered_per_s"]}}
    world = World(tmp_path, monkeypatch, attempt, trials=rule, network=PAIR["network"])
    campaign_run = world.run()
    assert sum("wireline" in one.planned.cell for one in campaign_run.outcomes) == 2
    assert sum("nistnet" in one.planned.cell for one in campaign_run.outcomes) == 5
    assert world.told.settlements == [
        "network=wireline-100m: precise, 3 spared",
        "network=nistnet-80211: inconclusive, 0 spared",
    ]
    assert campaigns.missing(world.folder, campaign_run.campaign) == []
