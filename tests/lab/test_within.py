"""`--for`: which durations it takes, and the words that go on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab_command import lab

from experiments.campaign.piece import Budget, Piece
from lab.closing import Closing, expected_s
from lab.common import Status, gravest
from lab.within import Command, resuming, seconds_of, why
from records.campaign import Planned
from records.times import ReportTime, note_report, report_time

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "experiments" / "scenarios" / "wireless-vs-wireline.yaml"
NEXT = Planned(cell="network=lte", trial=2, seed=1)


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("40m", 2400), ("90s", 90), ("2h", 7200), ("1h30m", 5400), ("1h0m5s", 3605), ("90m", 5400)],
)
def test_a_duration_is_hours_minutes_seconds(duration: str, seconds: int) -> None:
    assert seconds_of(duration) == seconds


WRONG = ["40", "", "0m", "0h0s", "-5m", "1.5h", "30m1h", "5 m", "40min", "m", "٤m", "1m\n", "9999999h"]


@pytest.mark.parametrize("duration", WRONG)
def test_anything_else_is_none(duration: str) -> None:
    assert seconds_of(duration) is None


@pytest.mark.parametrize("words", [("run", SCENARIO), ("resume",), ("paper", "gaddah-kunz", "--quick")])
def test_a_wrong_duration_is_refused_with_the_forms_before_anything_is_made(
    words: tuple[str | Path, ...], tmp_path: Path
) -> None:
    ended = lab(*words, "--results", tmp_path, "--for", "40")
    message = "--for: '40' is not a duration above zero, such as 90s, 40m, 2h or 1h30m\n"
    assert (ended.returncode, ended.stderr) == (2, message)
    assert list(tmp_path.iterdir()) == []


def test_campaigns_that_are_only_judged_have_no_pieces(tmp_path: Path) -> None:
    ended = lab("paper", "gaddah-kunz", "--campaign", "x", "--for", "40m", "--results", tmp_path)
    assert ended.returncode == 2
    assert "--for say what to run; --campaign runs nothing" in ended.stderr


def piece(lasts_s: float, *, turns: int, turn_s: float) -> Piece:
    """Ten seconds after the command's start, a report of 20 s to follow."""
    now = 10.0
    mine = Piece(budget=Budget(begun_at=0, lasts_s=lasts_s, clock=lambda: now), closing_s=lambda _: 20)
    for _ in range(turns):
        assert mine.allows([NEXT], turn_s)
        now += turn_s
    assert not mine.allows([NEXT], turn_s)
    return mine


def test_the_words_go_on_with_the_time_that_was_given() -> None:
    again = resuming(Path("/results/a b"), kernel="lab", report=False, duration="40m")
    expected = "lab resume '/results/a b' --kernel lab --no-report --for 40m"
    assert again.text() == again.text(piece(2400, turns=3, turn_s=700)) == expected


def test_the_words_ask_for_more_when_no_trial_would_end_in_that_time() -> None:
    again = Command(words=("resume", "x"), duration="90s")
    assert again.text(piece(90, turns=0, turn_s=100)) == "lab resume x --for 3m"  # 1.1 times 10 + 100 + 20
    assert again.text(piece(90, turns=1, turn_s=52)) == "lab resume x --for 2m"  # 90.2 s, where 82 would just do


def test_why_a_piece_ended_is_told_in_numbers() -> None:
    assert why(piece(90, turns=1, turn_s=50), left=7) == (
        "the time is up: 7 to run, the next one (network=lte trial 2) may take 0:50, the report 0:20, "
        "and 0:30 of 1:30 are left"
    )
    assert why(piece(30, turns=0, turn_s=50), left=8) == (
        "the time is too short for a trial, so none was begun: 8 to run, the next one (network=lte trial 2) may take "
        "0:50, the report 0:20, and 0:20 of 0:30 are left"
    )


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ((Status.ALL_VALID, Status.TIME_IS_UP), Status.TIME_IS_UP),
        ((Status.TIME_IS_UP, Status.NOT_ALL_VALID), Status.TIME_IS_UP),
        ((Status.TIME_IS_UP, Status.FAILED), Status.FAILED),
        ((Status.INTERRUPTED, Status.TIME_IS_UP, Status.FAILED), Status.INTERRUPTED),
    ],
)
def test_unfinished_comes_before_verdicts_and_after_what_is_wrong(statuses: tuple[Status, ...], status: Status) -> None:
    assert gravest(*statuses) is status


def test_a_report_takes_longer_the_more_there_is_in_it() -> None:
    few = expected_s(2, 10**6, study_s=0, last=None)
    assert few < expected_s(20, 10**6, study_s=0, last=None) < expected_s(20, 2 * 10**9, study_s=0, last=None)
    assert few < expected_s(2, 10**6, study_s=10, last=None)


def test_a_report_that_took_longer_than_our_figures_makes_the_next_one_longer() -> None:
    slow = ReportTime(seconds=100, trials=20, capture_bytes=10**9, study=False)
    same = expected_s(20, 10**9, study_s=0, last=slow)
    assert same == pytest.approx(150)
    assert expected_s(40, 2 * 10**9, study_s=0, last=slow) > same
    assert expected_s(20, 10**9, study_s=10, last=slow) > same, "the study's page was not in it"
    fast = slow.model_copy(update={"seconds": 1.0})
    assert 20 < expected_s(20, 10**9, study_s=0, last=fast) < expected_s(20, 10**9, study_s=0, last=None)


def test_what_was_built_leaves_its_time_for_the_next_command_and_what_failed_does_not(tmp_path: Path) -> None:
    def ending(status: Status) -> Closing:
        return Closing(build=lambda _: status, later=lambda _: ())

    assert ending(Status.FAILED).run(tmp_path) is Status.FAILED
    assert report_time(tmp_path) is None
    assert ending(Status.NOT_ALL_VALID).run(tmp_path) is Status.NOT_ALL_VALID
    assert report_time(tmp_path) is not None


def test_without_a_trial_there_is_nothing_to_build(tmp_path: Path) -> None:
    closing = Closing(build=lambda _: Status.ALL_VALID, later=lambda _: ())
    assert closing.takes_s(tmp_path) == 0
    assert closing.takes_s(tmp_path, more=1) > 0
    note_report(tmp_path, ReportTime(seconds=1000, trials=1, capture_bytes=0, study=False))
    assert closing.takes_s(tmp_path, more=1) > 1000


@pytest.mark.parametrize("target", ["experiment", "resume", "paper-gaddah-kunz"])
def test_make_hands_the_time_on(target: str) -> None:
    said = subprocess.run(
        ["make", "-n", target, "FOR=1h30m"], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    ).stdout
    assert "--for 1h30m" in said
    plain = subprocess.run(["make", "-n", target], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    assert "--for" not in plain.stdout
