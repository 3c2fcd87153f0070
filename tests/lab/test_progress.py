"""The board behind both displays, on a clock that tests turn."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from rich.console import Console

from experiments.campaign import campaign as campaigns
from experiments.campaign.launch import Outcome
from experiments.campaign.piece import Budget
from experiments.scenario import scenario as scenarios
from lab.progress import Board, LiveTable, PlainLines, minutes
from records.campaign import Campaign, read_campaign
from records.stopping import Rule, judge
from records.verdict import State


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    path = tmp_path / "scenario.yaml"
    content = {
        "scenario": "small",
        "network": ["nistnet-80211", "wireline-100m"],
        "trials": 2,
        "window": {"warmup_s": 1, "window_s": 10, "drain_s": 1},
        "workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100},
    }
    path.write_text(yaml.safe_dump(content))
    return read_campaign(campaigns.create(scenarios.load(path), tmp_path / "results"))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_left_is_first_what_the_scenario_says_and_then_what_trials_took(campaign: Campaign) -> None:
    clock = Clock()
    board = Board(campaign, list(campaign.order), clock=clock)
    assert board.left_s() == pytest.approx(4 * 19)
    first = campaign.order[0]
    board.started(first)
    clock.now += 9
    assert board.left_s() == pytest.approx(4 * 19 - 9)
    board.ended(Outcome(planned=first, state=State.VALID, reasons=(), seconds=30))
    assert board.left_s() == pytest.approx(3 * 30)


def test_the_rate_is_that_of_the_last_interval_and_ends_with_the_load(campaign: Campaign) -> None:
    clock = Clock()
    board, first = Board(campaign, list(campaign.order), clock=clock), campaign.order[0]
    board.started(first)
    board.phase(first, "load", 0)
    clock.now += 2
    board.phase(first, "load", 100)
    assert board.running[first].rate == pytest.approx(50)
    board.phase(first, "drain", 0)
    assert board.running[first].rate == 0


def test_a_resumed_campaign_counts_what_was_done_before(campaign: Campaign) -> None:
    first, *rest = campaign.order
    board = Board(campaign, rest)
    assert board.cells[first.cell].done == 1
    assert board.total == 3


def test_the_table_shows_cells_verdicts_phase_and_time_left(campaign: Campaign) -> None:
    board = LiveTable(campaign, list(campaign.order), clock=Clock())
    first, second = campaign.order[:2]
    board.started(first)
    board.ended(Outcome(planned=first, state=State.VALID, reasons=(), seconds=20))
    board.started(second)
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(board.draw())
    shown = console.export_text()
    assert "network=nistnet-80211" in shown
    assert "1/2" in shown
    assert "●" in shown
    assert "build" in shown
    assert "1 of 4 trials, 1:00 left" in shown


def test_plain_lines_say_what_did_not_pass(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    board, first = PlainLines(campaign, list(campaign.order)), campaign.order[0]
    board.started(first)
    board.ended(Outcome(planned=first, state=State.INVALID, reasons=("heartbeat: 2 s",), seconds=20))
    said = capsys.readouterr().out
    assert said.startswith(f"[1/4] {first.cell} trial 1: invalid in 20 s, 1:00 left\n")
    assert "    heartbeat: 2 s\n" in said


def test_a_piece_says_how_much_of_its_time_is_left(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    clock, first = Clock(), campaign.order[0]
    budget = Budget(begun_at=clock.now - 10, lasts_s=100, clock=clock)
    board = PlainLines(campaign, list(campaign.order), budget=budget, clock=clock)
    board.started(first)
    clock.now += 20
    board.ended(Outcome(planned=first, state=State.VALID, reasons=(), seconds=20))
    assert capsys.readouterr().out.endswith("valid in 20 s, 1:00 left, 1:10 of this piece\n")


RULE = Rule(least=1, most=2, half_width=0.05, metrics=("delivered_per_s",))


def test_a_settled_cell_leaves_the_count_and_says_why(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    board, cell = PlainLines(campaign, list(campaign.order), clock=Clock()), campaign.cells[0].name
    found = judge(RULE, [{"delivered_per_s": 5.0}] * 2, run=2)
    board.settled(cell, found, 1)
    assert (board.total, board.cells[cell].planned) == (3, 1)
    assert capsys.readouterr().out == f"{cell}: precise enough after 2 trials (within ±5 %)\n"


def test_a_cell_that_was_settled_before_counts_what_was_run(campaign: Campaign) -> None:
    first, second = (cell.name for cell in campaign.cells)
    found = {first: judge(RULE, [{}, {}], run=2), second: judge(RULE, [], run=0)}
    board = LiveTable(campaign, [one for one in campaign.order if one.cell == second], precisions=found)
    assert (board.cells[first].done, board.cells[first].planned) == (2, 2)
    assert (board.cells[second].done, board.cells[second].planned) == (0, 2)
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(board.draw())
    assert "inconclusive" in console.export_text()


def test_trials_side_by_side_take_their_share_of_the_time(campaign: Campaign) -> None:
    board, first = Board(campaign, list(campaign.order), clock=Clock()), campaign.order[0]
    board.started(first)
    board.ended(Outcome(planned=first, state=State.VALID, reasons=(), seconds=30, beside=1))
    assert board.left_s() == pytest.approx(3 * 15)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3725, "1:02:05")])
def test_minutes(seconds: float, text: str) -> None:
    assert minutes(seconds) == text
