"""How many trials go together falls by half where they spoil each other, and comes back by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeats_world import World

from experiments.campaign.width import CLEAN_TURNS, Width
from experiments.trial.context import TrialSpec
from records.verdict import Check, State

Turns = list[tuple[float, float]]


@given(most=st.integers(1, 16), turns=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1))))
def test_it_stays_between_one_and_what_is_asked_and_says_so_when_it_changes(most: int, turns: Turns) -> None:
    width = Width(most=most)
    for wide, bad in turns:
        before, together = width.now, 1 + round(wide * (width.now - 1))
        spoiled = round(bad * together)
        said = width.ended(together, spoiled)
        assert 1 <= width.now <= most
        assert bool(said) == (width.now != before)
        if together > 1 and 2 * spoiled >= together:
            assert width.now == together // 2
        else:
            assert before <= width.now <= before + 1


@given(most=st.integers(2, 16))
def test_clean_turns_bring_back_what_was_asked(most: int) -> None:
    width = Width(most=most)
    while width.now > 1:
        width.ended(width.now, width.now)
    for _ in range(CLEAN_TURNS * (most - 1)):
        assert width.now < most
        width.ended(width.now, 0)
    assert width.now == most


def test_narrower_turns_than_may_be_tell_nothing_and_a_spoiled_trial_begins_anew() -> None:
    width = Width(most=4)
    assert width.ended(4, 2) == "at most 2 trials at a time from here on, as 2 of 4 were spoiled beside each other"
    assert [width.ended(1, 0) for _ in range(5)] == [""] * 5
    assert [width.ended(2, 0), width.ended(2, 0)] == [
        "",
        "at most 3 trials at a time again, as the last 2 turns were clean",
    ]
    assert [width.ended(3, 0), width.ended(3, 1), width.ended(3, 0)] == ["", "", ""]
    assert width.ended(3, 0)
    assert width.now == 4
    assert width.ended(3, 3) == "one trial at a time from here on, as 3 of 3 were spoiled beside each other"


def test_a_trial_that_is_spoiled_alone_does_not_lower_the_width_but_the_clean_turns_begin_anew() -> None:
    width = Width(most=4)
    assert (width.ended(1, 1), width.now) == ("", 4)
    width.ended(2, 2)
    assert width.now == 1
    assert [width.ended(1, spoiled) for spoiled in (0, 1, 0)] == ["", "", ""]
    assert width.ended(1, 0) == "at most 2 trials at a time again, as the last 2 turns were clean"


def test_a_stall_while_the_last_trial_of_a_round_runs_by_itself_leaves_as_many_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalls = [Check.HEARTBEAT]

    def attempt(spec: TrialSpec) -> dict[str, object]:
        return {} if spec.beside or not stalls else {"state": State.INVALID, "failed": stalls.pop()}

    networks = ["nistnet-80211", "wireline-100m"]
    three = {"trials": 3, "when": {"network": networks}}
    world = World(tmp_path, monkeypatch, attempt, trials=2, network=networks, stations=[1, 2], parallel=three)
    assert [outcome.state for outcome in world.run().outcomes] == [State.VALID] * 8
    # Three and one of each round; the one of the first round is run twice.
    assert [len(spec.beside) for spec in world.specs] == [2, 2, 2, 0, 0, 2, 2, 2, 0]
    assert world.told.widths == []


def test_a_machine_that_stands_one_trial_at_a_time_gets_no_more_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(spec: TrialSpec) -> dict[str, object]:
        return {"state": State.INVALID, "failed": Check.LINE_LATENESS} if spec.beside else {}

    networks = ["nistnet-80211", "wireline-100m"]
    four = {"trials": 4, "when": {"network": networks}}
    world = World(tmp_path, monkeypatch, attempt, trials=5, network=networks, stations=[1, 2], parallel=four)
    assert [outcome.state for outcome in world.run().outcomes] == [State.VALID] * 20
    beside = [len(spec.beside) for spec in world.specs]
    # Four, two and two of the first round, then each alone; after two clean ones two are tried, and spoil each other.
    assert beside[:4] == [3] * 4
    assert beside.count(0) == 20
    assert len(beside) < 20 * 2, "without learning each trial would be spoiled beside others first, and some twice"
    assert world.told.widths[:2] == [
        "at most 2 trials at a time from here on, as 4 of 4 were spoiled beside each other",
        "one trial at a time from here on, as 2 of 2 were spoiled beside each other",
    ]
