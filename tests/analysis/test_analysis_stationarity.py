"""A window that is not steady is told, and its trial stays valid."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from reduced_here import findings_of
from synthetic_campaign import Spec, write_campaign

from analysis.findings import Findings, Standing
from analysis.report import summary
from analysis.report.build import write
from analysis.stationarity import WindowTrend, adjust
from analysis.statistics import Trend
from records.clients import PubSubClients
from records.words import GENERAL

ONE = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=2)
WIRED = "wireline-100m_100_ndnp"


@pytest.fixture(scope="module")
def rising(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    spec = Spec(bodies=ONE.bodies, guarantees=ONE.guarantees, trials=2, rise=0.4)
    return findings_of(write_campaign(tmp_path_factory.mktemp("rising"), spec))


def test_a_throughput_that_rises_is_told_with_its_size(rising: Findings) -> None:
    trials = [trial for trial in rising.trials if trial.cell == WIRED]
    assert [trial.standing for trial in trials] == [Standing.VALID] * 2
    for trial in trials:
        found = {one.series: one for one in trial.trends}
        # 40 % over the ten seconds from go to the drain's end: 32 % over the eight of the window.
        assert found["delivered_per_s"].change == pytest.approx(0.32, abs=0.03)
        assert found["published_per_s"].text(PubSubClients.WORDS).startswith("publisher throughput rose by 3")
        assert "latency_s" not in found


def test_steady_windows_are_not_told(findings: Findings) -> None:
    tested = [one for trial in findings.trials for one in trial.trend_tests]
    assert len(tested) >= 3 * 12
    assert [one.text for one in tested if one.told] == []


@pytest.mark.usefixtures("blank_plots")
def test_page_tables_and_summary_tell_trends(rising: Findings) -> None:
    path = write(rising)
    text, found = path.read_text(), summary(path.parent)
    assert found.verdict == "All 4 trials are valid: no health check failed."
    told = sum(bool(trial.trends) for trial in found.trials)
    assert told >= 2
    series = "subscriber throughput or publisher throughput or backlog"
    assert found.trends.startswith(f"In {told} of 4 trials {series} still rose")
    assert "more is sent than arrives" not in found.trends, "what is under way follows the rate"
    assert found.trends in text
    assert "Trial 1: subscriber throughput rose by 3" in text
    with (path.parent / "tables" / "trends.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(row["told"] == "yes" for row in rows) == sum(len(trial.trends) for trial in found.trials)


@pytest.mark.usefixtures("blank_plots")
def test_percentiles_of_each_trial_are_exact_and_have_their_interval(tmp_path: Path) -> None:
    path = write(findings_of(write_campaign(tmp_path, ONE)))
    with (path.parent / "tables" / "percentiles.csv").open() as file:
        rows = {row["percentile"]: row for row in csv.DictReader(file) if (row["cell"], row["trial"]) == (WIRED, "1")}
    # Latencies are 2, 4, 6 and 8 ms in equal parts.
    assert [float(rows[name]["latency_s"]) for name in ("p90", "p99", "p99.9")] == pytest.approx([0.008] * 3)
    assert 0.004 <= float(rows["p50"]["order95_low_s"]) <= float(rows["p50"]["latency_s"]) <= 0.006
    assert float(rows["p50"]["order95_high_s"]) <= 0.006
    assert rows["p99.9"]["order95_high_s"] == ""


def test_many_windows_are_not_many_alarms() -> None:
    chance = [{"delivered_per_s": Trend(change=0.2, p=0.03)}] * 3 + [{"latency_s": Trend(change=0.2, p=0.5)}] * 97
    assert [one for trial in adjust(chance) for one in trial if one.told] == []
    real = [{"delivered_per_s": Trend(change=0.2, p=1e-5)}, *chance]
    assert [one.told for trial in adjust(real) for one in trial].count(True) == 1


def test_a_change_too_small_to_matter_is_not_told() -> None:
    small = WindowTrend(series="latency_s", change=-0.004, p=1e-9, p_adjusted=1e-8)
    assert not small.told
    assert small.text(GENERAL) == "latency of arrivals fell by 0.4 % of its mean over the window (p < 0.0001)"
