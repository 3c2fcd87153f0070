"""Pages by several processes: the same bytes, in spite of processes that fail, and none of them stays."""

from __future__ import annotations

import csv
import gc
import multiprocessing
import os
import select
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from by_whom import by_whom
from packs import files
from report_read import AIR
from synthetic_campaign import Spec, write_campaign

from analysis import sidebyside
from analysis.details import Details
from analysis.findings import Findings
from analysis.reductions.reduce import reducing
from analysis.report import detailtables, trialpages
from analysis.report.build import found
from analysis.report.page import Pages
from analysis.report.provenance import sources
from analysis.report.trialpages import write_trials
from analysis.sidebyside import processes_for, side_by_side

FEW = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=3, packets=6)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Findings whose details each process reads from files."""
    with reducing() as reduce:
        return found(write_campaign(tmp_path_factory.mktemp("results"), FEW), reduce.brief)


def written(findings: Findings, folder: Path, processes: int) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The pages of all trials, and what is said to have failed."""
    folder.mkdir()
    failed = write_trials(folder, findings, sources(findings), Pages(), processes=processes)
    return files(folder), failed


def test_pages_are_the_same_to_the_byte_by_one_process_and_by_several(kept: Findings, tmp_path: Path) -> None:
    alone, none = written(kept, tmp_path / "alone", 1)
    assert (len(alone), none) == (6, ())
    assert all(b"could not be made" not in page for page in alone.values())
    assert written(kept, tmp_path / "beside", 4) == (alone, ())


def test_tables_of_details_are_the_same_to_the_byte_by_one_process_and_by_several(
    kept: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    pids = by_whom(monkeypatch, detailtables, "_write", tmp_path / "pids")
    for block, processes in ((64, 1), (2, 1), (1, 3)):
        monkeypatch.setattr(detailtables, "_BLOCK", block)
        folder = tmp_path / f"{block}-{processes}"
        folder.mkdir()
        detailtables.write_detail_tables(folder, kept.trials, processes=processes)
        tables.append(files(folder))
    assert set(tables[0]) == {"flows.csv", "seconds.csv", "latency-ecdf.csv"}
    assert tables[1:] == [tables[0]] * 2
    assert [len(set(some)) for some in (pids()[:4], pids()[4:])] == [1, 3]
    assert len(pids()) == 1 + 3 + 6  # blocks; nobody's share was done again, nor anything written twice
    rows = list(csv.DictReader(tables[0]["flows.csv"].decode().splitlines()))
    assert [(row["cell"], int(row["trial"]), row["flow"]) for row in rows] == [
        (trial.cell, trial.number, flow) for trial in kept.trials for flow in trial.flows
    ]


def test_a_figure_of_flows_that_a_later_trial_has_first_is_a_column_for_all(kept: Findings, tmp_path: Path) -> None:
    details = [Details(flows={"a": {"packets": 1.0}}), Details(flows={"b": {"rtt_mean_s": 0.5, "packets": 2.0}})]
    trials = [replace(trial, details=some) for trial, some in zip(kept.trials, details, strict=False)]
    detailtables.write_detail_tables(tmp_path, trials)
    rows = list(csv.DictReader((tmp_path / "flows.csv").read_text().splitlines()))
    assert [(row["flow"], row["packets"], row["rtt_mean_s"]) for row in rows] == [("a", "1.0", ""), ("b", "2.0", "0.5")]


def test_a_page_that_fails_in_any_process_is_named_in_its_place_and_the_others_are_made(
    kept: Findings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trialpages.trial_view

    def failing() -> NoReturn:
        raise KeyError("gone")

    monkeypatch.setattr(
        trialpages, "trial_view",
        lambda subject: failing() if subject.trial.number > 1 else made(subject),
    )  # fmt: skip
    pages, failed = written(kept, tmp_path / "beside", 4)
    assert len(pages) == 6
    assert len(failed) == 4
    assert failed[-1].startswith(f"page not made: trials/{AIR}-trial-003.html: ")
    assert sum(b"This page could not be made: " in page for page in pages.values()) == 4
    assert written(kept, tmp_path / "alone", 1) == (pages, failed)


@pytest.mark.parametrize("processes", [1, 2, 5, 9])
def test_results_stand_in_the_order_of_their_numbers_and_each_process_has_its_share(processes: int) -> None:
    found = side_by_side(lambda number: (number, os.getpid()), 7, processes=processes)
    assert [number for number, _ in found] == list(range(7))
    assert len({process for _, process in found}) == min(processes, 7)
    assert found[0][1] == os.getpid()
    assert multiprocessing.active_children() == []


def test_what_a_process_that_was_killed_had_to_do_is_done_here() -> None:
    parent = os.getpid()

    def call(number: int) -> tuple[int, str]:
        if number == 4 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid(), str(number) * 100_000  # more than a pipe holds

    found = side_by_side(call, 9, processes=3)
    assert [text[0] for _, text in found] == list("012345678")
    assert [process == parent for process, _ in found] == [True, True, False] * 3


def test_what_is_raised_in_every_process_is_raised_here_and_none_stays() -> None:
    def call(number: int) -> None:
        if number == 3:
            raise OSError(number, "the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        side_by_side(call, 8, processes=4)
    assert multiprocessing.active_children() == []


def test_no_garbage_of_the_parents_is_collected_in_another_process() -> None:
    collected: list[int] = []

    class Told:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            collected.append(os.getpid())

    def call(_number: int) -> list[int]:
        gc.collect()
        return list(collected)

    gc.collect()
    gc.disable()
    try:
        Told()
        assert side_by_side(call, 2, processes=2) == [[], []]
    finally:
        gc.enable()
    gc.collect()
    assert collected == [os.getpid()]


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    reading, writing = os.pipe()  # open for writing as long as one of them lives

    def call(number: int) -> None:
        if number % 2:
            begun.touch()
        while not begun.exists():
            time.sleep(0.01)
        if number % 2 == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)

    parent = multiprocessing.get_context("fork").Process(
        target=side_by_side, args=(call, 10_000), kwargs={"processes": 2}
    )
    parent.start()
    os.close(writing)
    parent.join()
    assert parent.exitcode == -signal.SIGKILL
    poll = select.poll()
    poll.register(reading)
    assert poll.poll(60_000)
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_few_pages_are_made_by_one_process_and_many_by_one_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    worth = sidebyside.WORTH
    assert [processes_for(calls) for calls in (0, 1, 2 * worth - 1, 2 * worth, 3 * worth, 10_000)] == [1, 1, 1, 2, 3, 4]
