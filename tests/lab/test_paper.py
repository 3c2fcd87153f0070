"""`lab paper`: what it refuses, and how."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab_command import lab

from analysis.papers import on_other_links, read_paper
from lab.paper import _page_folder
from records import campaign as records

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quick"], "of which study? there are gaddah-kunz"),
        (["gadda"], "'gadda' is no study that can be run: gaddah-kunz"),
        (["gaddah_kunz", "--link", "wireless=lte"], "--link: a study runs on its own links"),
        (["gaddah-kunz", "--link", "wireless"], "--link wireless: two words with = between them"),
        (["gaddah-kunz", "--link", "wireless=lte", "--link", "wireless=geo-satellite"], "wireless is lte already"),
        (["gaddah-kunz", "--campaign", "some", "--tests", "3"], "--campaign runs nothing"),
        (["gaddah-kunz", "--set", "3"], "--set 3: there are the sets 1, 2"),
        (["gaddah-kunz", "--set", "1", "--tests", "1,two"], "--tests: 'two' is no number of a row"),
        (["gaddah-kunz", "--set", "1", "--tests", "33"], "--tests 33: no set that was chosen has such a test"),
    ],
)
def test_a_wrong_command_ends_with_status_2_and_the_way_out(words: list[str], message: str, tmp_path: Path) -> None:
    ended = lab("paper", *words, "--results", tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_campaign_that_is_not_there_is_named(tmp_path: Path) -> None:
    ended = lab("paper", "gaddah-kunz", "--campaign", "gone", "--results", tmp_path)
    assert ended.returncode == 2
    assert "no campaign 'gone'" in ended.stderr


def campaign(folder: Path) -> Path:
    """A campaign that was planned, and that needs no lab to be refused."""
    levels = {"network": "wireline-100m", "case": "set1-01"}
    cells = (records.Cell(name="only", levels=levels, settings={"settings": {"network": "wireline-100m"}}),)
    planned = records.Campaign(
        scenario="some", digest="d" * 64, created="2026-01-01T00:00:00Z", seed=1, factors={}, baseline=None,
        cells=cells, order=(),
    )  # fmt: skip
    path = folder / "some" / "20260101-000000-abcdef01"
    path.mkdir(parents=True)
    (path / records.RECORD).write_text(planned.model_dump_json())
    return path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--link", "air=lte"], "'air' is no network of gaddah-kunz"),
        (["--link", "wireless=ltee"], "wireless as ltee: these campaigns ran on wireline-100m"),
        (["--only", "case=set1-99"], "--only case=set1-99: case has the levels set1-01"),
    ],
)
def test_what_a_campaign_does_not_have_is_told_before_anything_is_reduced(
    words: list[str], message: str, tmp_path: Path
) -> None:
    ended = lab("paper", "gaddah-kunz", "--campaign", campaign(tmp_path), *words, "--results", tmp_path)
    assert ended.returncode == 2, ended.stderr
    assert message in ended.stderr
    assert not (tmp_path / "papers").exists()


def test_each_question_has_a_page_of_its_own() -> None:
    lte = on_other_links(read_paper(ROOT / "experiments" / "papers" / "gaddah_kunz"), {"wireless": "lte"})
    assert _page_folder("gaddah-kunz", lte, {}) == "gaddah-kunz-on-lte"
    levels = {"congestion_control": ["cubic", "bbr"]}
    assert _page_folder("gaddah-kunz", lte, levels) == "gaddah-kunz-on-lte-with-cubic-with-bbr"


def test_without_a_name_the_studies_are_listed() -> None:
    ended = lab("paper")
    assert ended.returncode == 0
    assert "gaddah-kunz  Evaluating the Impact of Application Design Factors" in ended.stdout


def test_make_hands_its_words_on() -> None:
    words = ["make", "--no-print-directory", "-n", "paper-gaddah-kunz", "QUICK=1", "SET=2", "TESTS=1,3"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True).stdout
    assert "lab paper gaddah-kunz --quick --set 2 --tests 1,3" in " ".join(said.split())


def test_make_has_a_target_for_any_study() -> None:
    words = ["make", "--no-print-directory", "-n", "paper-some-study", "ONLY=case=n8 network=lte", "FOR=40m"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True).stdout
    asked = " ".join(said.splitlines()[-1].split())
    assert asked.endswith("lab paper some-study --only case=n8 --only network=lte --for 40m")
