"""`--pages` of the verbs that make a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner

from analysis.extent import Extent
from lab.closing import reporting
from lab.main import app
from lab.within import resuming

SMALL = Spec(bodies=(100,), networks=("nistnet-80211",), guarantees=("durable, persistent",), trials=2, packets=4)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "c1"], ["report", "s3://bucket/c1"], ["run", "scenario.yaml"], ["resume"], ["replay", "trial-001"],
        ["paper", "gaddah-kunz"], ["paper"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_other_words_are_refused_before_anything_starts(words: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*words, "--pages", "some", "--results", str(tmp_path)])
    assert (done.exit_code, done.stderr) == (2, "--pages: 'some' is not one of all, cells, none\n")
    assert list(tmp_path.iterdir()) == []


def test_a_study_that_judges_campaigns_makes_no_report_that_pages_could_be_of(tmp_path: Path) -> None:
    words = ["paper", "gaddah-kunz", "--campaign", "c1", "--pages", "cells", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, "--pages: is for the reports of what is run" in done.stderr) == (2, True)


def test_the_words_that_go_on_and_that_report_later_say_which_pages() -> None:
    folder = Path("/results/a b")
    again = resuming(folder, kernel="auto", extent=Extent.CELLS, duration="40m")
    assert again.text() == "lab resume '/results/a b' --pages cells --for 40m"
    assert "--pages" not in resuming(folder, kernel="auto", report=False, extent=Extent.CELLS).text()
    assert reporting(extent=Extent.NONE).later(folder) == ("lab report '/results/a b' --pages none",)
    assert reporting().later(folder) == ("lab report '/results/a b'",)


def test_a_report_without_pages_replaces_one_that_had_them(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    (campaign / "trials").mkdir()
    (campaign / "trials" / "older-trial-001.html").touch()
    done = CliRunner().invoke(app, ["report", str(campaign), "--results", str(tmp_path), "--pages", "none"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert not (campaign / "trials").exists()
    assert f"<code>lab report {campaign.name}</code> makes" in (campaign / "report.html").read_text()
    assert not (campaign / "report-time.json").exists()
