"""`lab paper` from end to end: a real case of the study, its report, and the page that judges it."""

from __future__ import annotations

import csv
import shlex
import subprocess
from pathlib import Path

import pytest
from lab_command import lab

from experiments.campaign.campaign import folders
from records.store import trials
from records.verdict import State

pytestmark = [pytest.mark.root, pytest.mark.broker, pytest.mark.spark]


def paper(results: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return lab("paper", "gaddah-kunz", *words, "--results", results, timeout=900)


def test_a_case_is_run_in_pieces_and_judged_and_can_be_judged_again(tmp_path: Path) -> None:
    one = ["--quick", "--set", "2", "--tests", "17", "--only", "network=nistnet-80211"]
    begun = paper(tmp_path, *one, "--for", "1s")
    assert begun.returncode == 4, begun.stdout + begun.stderr
    (words,) = [line for line in begun.stderr.splitlines() if line.startswith("go on with: ")]
    verb, study, *again = shlex.split(words.removeprefix("go on with: lab "))
    assert (verb, study, again[: len(one)]) == ("paper", "gaddah-kunz", one)
    assert again[-2] == "--for"
    ran = paper(tmp_path, *again[:-1], "15m")  # a noisy machine has a trial run again
    (campaign,) = folders(tmp_path)
    (trial,) = trials(campaign)
    valid = trial.verdict().state is State.VALID
    assert ran.returncode == (0 if valid else 3), ran.stdout + ran.stderr
    assert "report: " in ran.stdout
    assert trial.manifest().workload.asked.body_type == "object"
    assert (campaign / "report.html").is_file()
    page = tmp_path / "papers" / "gaddah-kunz" / "paper.html"
    first = page.read_text()
    assert "set2-17" in first
    again = paper(tmp_path, "--campaign", str(campaign))
    assert again.returncode == 0, again.stdout + again.stderr
    assert len(trials(campaign)) == 1
    assert " claims " in again.stdout
    with (page.parent / "paper-tables" / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    measured = {(row["case"], row["network"]) for row in rows if row["n"] != "0"}
    assert measured == ({("set2-17", "wireless")} if valid else set())
