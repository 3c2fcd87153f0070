"""`lab paper`: what it refuses, and how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gadda"], "'gadda' is no study that can be run: gaddah-kunz"),
        (["gaddah-kunz", "--set", "3"], "--set 3: there are the sets 1, 2"),
        (["gaddah-kunz", "--set", "1", "--tests", "1,two"], "--tests: 'two' is no number of a row"),
        (["gaddah-kunz", "--set", "1", "--tests", "33"], "--tests 33: no set that was chosen has such a test"),
    ],
)
def test_a_wrong_command_ends_with_status_2_and_the_way_out(words: list[str], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lab", "paper", *words, "--results", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_campaign_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lab", "paper", "gaddah-kunz", "--campaign", "gone", "--results", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert ended.returncode == 1
    assert "no campaign 'gone'" in ended.stderr


def test_make_hands_its_words_on() -> None:
    words = ["make", "-n", "paper-gaddah-kunz", "QUICK=1", "SET=2", "TESTS=1,3"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True).stdout
    assert "lab paper gaddah-kunz --kernel auto --quick --set 2 --tests 1,3" in said
