"""The scenarios of a study run the rows that were published."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest

from experiments import papers
from experiments.papers import UnknownPaper
from experiments.scenario import scenario as scenarios
from records.comparing import Compared
from records.workload import PubSub

FOLDER = papers.folder_of("gaddah-kunz")
NAMES = {"scenario", "question"}


def rows(number: int) -> list[dict[str, str]]:
    """The rows of a published table, without what it does not say of them."""
    lines = [line for line in (FOLDER / "cases.csv").read_text().splitlines() if not line.startswith("#")]
    mine = [row for row in csv.DictReader(lines) if row["case"].startswith(f"set{number}-")]
    return [{name: text for name, text in row.items() if text} for row in mine]


def as_row(settings: scenarios.Settings) -> dict[str, str]:
    """What a cell runs, in the words of the published tables."""
    work = settings.workload
    return {
        **{name: str(getattr(work.clients, name)) for name in ("publishers", "subscribers", "topics")},
        "body_bytes": str(work.body_bytes),
        "body_type": work.body_type.value,
        "subscription": work.guarantee.subscription,
        "delivery": work.guarantee.delivery.value,
        "ack": work.ack.value,
        "selector": "yes" if work.selector else "no",
    }


@cache
def matrix() -> dict[str, PubSub]:
    return {one.levels["case"]: one.settings.workload for one in scenarios.load(FOLDER / papers.MATRIX).cells}


def studys(cell: scenarios.Cell) -> PubSub:
    """The workload of the study's case that a cell of another scenario has."""
    return matrix()[cell.levels["case"]]


@pytest.mark.parametrize("number", [1, 2])
def test_every_published_row_is_run_as_published_on_both_networks(number: int) -> None:
    scenario = papers.chosen(papers.whole(FOLDER), number=number, tests=(), quick=False)
    published = rows(number)
    assert len(scenario.cells) == 2 * len(published)
    assert scenario.compared == Compared("network", "wireline-100m")
    for row in published:
        found = [cell for cell in scenario.cells if cell.levels["case"] == row["case"]]
        assert {cell.settings.network for cell in found} == {"wireline-100m", "nistnet-80211"}
        for cell in found:
            run = as_row(cell.settings)
            assert {name: run[name] for name in run if name in row} == {n: row[n] for n in run if n in row}
            assert (cell.settings.stations, cell.settings.congestion_control) == (4, "reno")
            assert cell.settings.workload.selector is None or run["selector"] == "yes"
            assert cell.settings.workload.when_full == "refuse"
            assert cell.settings.sysctls["net.ipv4.tcp_recovery"] == "0"


def test_the_whole_matrix_is_one_campaign_with_the_studys_stopping_rule() -> None:
    whole = papers.chosen(papers.whole(FOLDER), number=None, tests=(), quick=False)
    assert len(whole.cells) == 100
    rule = whole.settings.trials.rule
    assert rule is not None
    assert (rule.half_width, set(rule.metrics)) == (0.05, {"published_per_s", "delivered_per_s", "latency_mean_s"})
    assert whole.settings.parallel.when == {"network": ("nistnet-80211",)}


def test_the_selector_lets_a_tenth_pass() -> None:
    scenario = papers.chosen(papers.whole(FOLDER), number=2, tests=(), quick=False)
    chosen = {cell.settings.workload.selector for cell in scenario.cells} - {None}
    assert [(one.high - one.low) / one.of for one in chosen if one] == [0.1]


def test_a_part_of_a_study_can_be_chosen_and_run_quickly() -> None:
    part = papers.chosen(papers.whole(FOLDER), number=1, tests=(3, 20), quick=True)
    assert part.factors["case"] == ("set1-03", "set1-20")
    assert len(part.cells) == 4
    assert {cell.settings.trials.cap for cell in part.cells} == {1}
    assert {cell.settings.window for cell in part.cells} == {papers.QUICK}
    both = papers.chosen(papers.whole(FOLDER), number=None, tests=(3,), quick=True)
    assert both.factors["case"] == ("set1-03", "set2-03")
    assert (
        len(
            {part.digest, both.digest, papers.chosen(papers.whole(FOLDER), number=1, tests=(3, 20), quick=False).digest}
        )
        == 3
    )


def test_one_network_of_a_study_can_be_run_alone() -> None:
    part = papers.chosen(papers.whole(FOLDER), number=1, tests=(2, 4), only=["network=nistnet-80211"], quick=False)
    assert [cell.name for cell in part.cells] == [f"network=nistnet-80211,case=set1-0{test}" for test in (2, 4)]


def test_a_quick_round_of_all_cases_is_short_enough() -> None:
    window = papers.QUICK
    around = 16  # seconds of a trial beside its load, measured on a busy machine
    assert 100 * (window.warmup_s + window.window_s + window.drain_s + around) <= 57 * 60


def test_users_move_in_two_ways_and_keep_or_lose_their_connections() -> None:
    moving = scenarios.load(FOLDER / "mobility.yaml")
    assert len(moving.cells) == 2 * 2 * 2
    ways = {
        (cell.settings.network, cell.settings.workload.guarantee.subscription, cell.settings.workload.away is None)
        for cell in moving.cells
    }
    assert len(ways) == len(moving.cells)
    events = {
        cell.profile.name: [(event.at, event.outage, event.stations) for event in cell.profile.timeline]
        for cell in moving.cells
    }
    away = ("sta3", "sta4")
    assert events == {
        "walk-out-of-reach": [(15.0, 8.0, away)],
        "walk-through-cells": [(at, 0.4, away) for at in (10.0, 18.0, 26.0)],
    }
    for cell in moving.cells:
        assert cell.settings.workload.clients.apart, "publishers would be out of reach with their subscribers"
        assert all(at + lasts < cell.settings.window.window_s for at, lasts, _ in events[cell.profile.name])


def test_a_full_provider_refuses_or_lets_wait_in_all_else_alike() -> None:
    full = scenarios.load(FOLDER / "flow-control.yaml")
    by_answer = {
        answer: [
            cell.settings.model_dump(exclude={"workload": {"when_full"}})
            for cell in full.cells
            if cell.settings.workload.when_full == answer
        ]
        for answer in ("wait", "refuse")
    }
    assert by_answer["wait"] == by_answer["refuse"]
    assert len(by_answer["wait"]) == 8
    for cell in full.cells:
        ours = cell.settings.workload
        assert (ours.memory_limit_mb, ours.prefetch) == (1.0, 1), (
            "a broker that is full as soon as a subscriber is slow"
        )
        asked = {"memory_limit_mb": 750.0, "when_full": "refuse", "prefetch": None}
        assert ours.model_copy(update=asked) == studys(cell)


def test_few_subscribers_are_sent_one_message_at_a_time_or_many_in_all_else_as_in_the_study() -> None:
    cells = scenarios.load(FOLDER / "one-at-a-time.yaml").cells
    assert {(cell.levels["case"], cell.settings.workload.prefetch) for cell in cells} == {
        (f"set1-{row}", prefetch) for row in range(25, 33) for prefetch in (None, 1)
    }
    for cell in cells:
        assert cell.settings.network == "nistnet-80211"
        assert cell.settings.workload.model_copy(update={"prefetch": None}) == studys(cell)


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownPaper, match=r"'gadda' is no study that can be run: gaddah-kunz"):
        papers.folder_of("gadda")
    with pytest.raises(UnknownPaper, match=r"--set 3: there are the sets 1, 2"):
        papers.chosen(papers.whole(FOLDER), number=3, tests=(), quick=False)
    with pytest.raises(UnknownPaper, match=r"--tests 33, 40: no set"):
        papers.chosen(papers.whole(FOLDER), number=1, tests=(1, 40, 33), quick=False)


@pytest.mark.parametrize("path", sorted(Path(papers.HERE).rglob("*.yaml")), ids=lambda path: path.name)
def test_no_study_is_lost_between_folders(path: Path) -> None:
    assert (path.parent / "paper.yaml").is_file()


def test_a_tenth_of_the_cells_is_run_again_as_the_first_time_but_for_the_seed() -> None:
    matrix, again = (scenarios.load(FOLDER / name) for name in (papers.MATRIX, "again.yaml"))
    first = {cell.name: cell.settings for cell in matrix.cells}
    assert len(again.cells) == len(matrix.cells) / 10
    for cell in again.cells:
        mine, studied = cell.settings.model_dump(), first[cell.name].model_dump()
        assert {key for key in mine if mine[key] != studied[key]} - NAMES == {"seed", "trials"}


def test_causes_are_looked_for_in_rows_of_the_study_one_change_at_a_time() -> None:
    matrix = {cell.levels["case"]: cell.settings for cell in scenarios.load(FOLDER / papers.MATRIX).cells
              if cell.levels["network"] == "nistnet-80211"}  # fmt: skip
    allowed = {"committed": {"knobs"}, "larger": {"workload"}, "cubic": {"congestion_control", "sysctls"}}
    for cell in scenarios.load(FOLDER / "causes.yaml").cells:
        row, _, change = cell.levels["case"].rpartition("-")
        row, changed = (row, allowed[change]) if change in allowed else (cell.levels["case"], set[str]())
        mine, studied = cell.settings.model_dump(), matrix[row].model_dump()
        differ = {key for key in {*mine, *studied} if mine.get(key) != studied.get(key)}
        assert differ - NAMES - {"window", "trials", "checks"} == changed
