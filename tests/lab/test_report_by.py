"""`lab report --by`: another factor compared, and what is refused before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lab_command import lab
from typer.testing import CliRunner

from lab.main import app
from records.filenames import RECORD

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from synthetic_campaign import Spec, write_campaign  # noqa: E402

SMALL = Spec(bodies=(100,), networks=("nistnet-80211",), trials=2, packets=4, name="20240101-000000-aaaaaaaa")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("results"), SMALL)


@pytest.mark.parametrize(
    ("factor", "problem"),
    [
        ("stak", "--by: 'stak' is no factor here; factors of two levels or more: guarantee"),
        ("network", "--by: 'network' has one level, nistnet-80211; factors of two levels or more: guarantee"),
    ],
)
def test_a_factor_that_cannot_be_compared_is_refused_with_those_that_can(
    factor: str, problem: str, campaign: Path
) -> None:
    done = CliRunner().invoke(app, ["report", str(campaign), "--results", str(campaign.parents[1]), "--by", factor])
    assert (done.exit_code, done.stderr.strip()) == (2, problem)
    assert not (campaign / "report.html").exists()


@pytest.mark.spark
def test_a_report_by_another_factor_leaves_the_campaign_as_it_is(campaign: Path) -> None:
    record = (campaign / RECORD).read_bytes()
    done = lab("report", campaign, "--results", campaign.parents[1], "--by", "guarantee")
    assert done.returncode == 0, done.stderr
    assert "durable, persistent against non-durable, non-persistent: " in done.stdout
    assert "durable, persistent against non-durable, non-persistent" in (campaign / "report.html").read_text()
    assert (campaign / RECORD).read_bytes() == record
