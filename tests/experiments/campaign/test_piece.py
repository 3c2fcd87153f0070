"""Whether a trial may still begin: budgets on a clock that tests turn, and what trials are expected to take."""

from __future__ import annotations

import pytest

from experiments.campaign.durations import MARGIN, OVERHEAD_S, Durations
from experiments.campaign.piece import Budget, Piece
from experiments.workers.place import Place
from records.campaign import Planned
from records.times import TrialTime


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


FIRST, SECOND = (Planned(cell="short", trial=trial, seed=trial) for trial in (1, 2))
LONG = Planned(cell="long", trial=1, seed=1)


def budget(clock: Clock, lasts_s: float = 60) -> Budget:
    return Budget(begun_at=clock.now, lasts_s=lasts_s, clock=clock)


def test_time_counts_from_the_command_s_start() -> None:
    clock = Clock()
    mine = budget(clock)
    clock.now += 45
    assert (mine.used_s(), mine.left_s()) == (45, 15)
    assert mine.fits(15)
    assert not mine.fits(15.1)
    clock.now += 20
    assert mine.left_s() == -5
    assert not mine.fits(0)


def test_a_trial_begins_only_if_it_and_what_follows_end_in_time() -> None:
    clock = Clock()
    piece = Piece(budget=budget(clock), closing_s=lambda more: 10 + more)
    clock.now += 5
    assert piece.allows([FIRST], 44)
    clock.now += 20
    assert not piece.allows([SECOND], 24.5)
    short = piece.shortage
    assert short is not None
    assert (short.planned, short.turn_s, short.closing_s, short.left_s) == (SECOND, 24.5, 11, 35)
    assert short.wanted_s == 5 + 24.5 + 11
    assert piece.begun == 1


def test_trials_side_by_side_are_all_in_the_report() -> None:
    piece = Piece(budget=budget(Clock()), closing_s=lambda more: 10 * more)
    assert not piece.allows([FIRST, LONG], 41)
    assert piece.begun == 0
    assert piece.allows([FIRST, LONG], 40)
    assert piece.begun == 2


def test_the_words_count_on_what_has_taken_longer_since_the_turn_did_not_fit() -> None:
    takes = {"s": 10.0}
    piece = Piece(budget=budget(Clock()), closing_s=lambda more: takes["s"] * more)
    assert not piece.allows([FIRST, LONG], 55)
    assert piece.shortage is not None
    assert (piece.shortage.closing_s, piece.shortage.wanted_s) == (20, 75)
    takes["s"] = 40.0  # the report was built, and took longer than it was expected to
    piece.reckon()
    assert (piece.shortage.closing_s, piece.shortage.wanted_s) == (80, 135)


def durations(*seen: TrialTime) -> Durations:
    return Durations(own_s={"short": 10, "long": 100}, places={"short": Place(), "long": Place()}, seen=list(seen))


def took(seconds: float, overhead_s: float, *, cell: str = "short", kernel: str = "host") -> TrialTime:
    return TrialTime.model_validate(
        {"cell": cell, "trial": 1, "kernel": kernel, "seconds": seconds, "overhead_s": overhead_s}
    )


def test_before_any_trial_a_cell_takes_its_own_times_and_the_usual_overhead() -> None:
    assert durations().trial_s("long") == pytest.approx(MARGIN * (100 + OVERHEAD_S["host"]))


def test_a_cell_takes_what_its_longest_trial_took() -> None:
    assert durations(took(15, 8), took(22, 15), took(14, 7)).trial_s("short") == pytest.approx(MARGIN * 22)


def test_a_cell_that_has_not_run_takes_the_largest_overhead_of_the_others() -> None:
    assert durations(took(15, 8), took(22, 15)).trial_s("long") == pytest.approx(MARGIN * (100 + 15))


def test_what_the_other_kernel_took_says_nothing() -> None:
    assert durations(took(900, 800, kernel="lab")).trial_s("short") == durations().trial_s("short")


def test_a_turn_takes_as_long_as_its_longest_trial() -> None:
    known = durations(took(15, 8))
    assert known.turn_s([FIRST, LONG]) == known.trial_s("long") > known.trial_s("short")


def test_a_trial_s_overhead_is_what_was_not_load() -> None:
    known = durations()
    assert known.ended(FIRST, 20, load_s=12.5) == took(20, 7.5)
    assert known.trial_s("short") == pytest.approx(MARGIN * 20)


def test_a_failed_trial_never_makes_one_expected_to_be_shorter() -> None:
    known = durations()
    usual = known.trial_s("short")
    known.failed(FIRST, 2)
    assert known.trial_s("short") == usual
    known.failed(FIRST, 500)
    assert known.trial_s("short") == pytest.approx(MARGIN * 500)
    assert known.trial_s("long") == pytest.approx(MARGIN * 100), "a hanging trial's time is no overhead of others"
