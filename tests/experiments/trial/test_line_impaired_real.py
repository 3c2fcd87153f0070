"""Whole trials over links of the line, on this kernel, netem or not: recorded and proven as with tc."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from line_trials import assert_complete
from trial_runs import run

from records.store import Trial
from records.verdict import Verdict

pytestmark = [pytest.mark.root]

SHORT = {"warmup_s": 0.5, "window_s": 4, "drain_s": 4}
IMPAIRED = {
    "name": "impaired",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "4 Mbit/s",
    "frame_overhead": "300 us",
    "delay": "15 ms",
    "jitter": "4 ms",
    "jitter_distribution": "normal",
    "duplicate": 0.02,
    "corrupt": 0.02,
    "reorder": 0.02,
    "loss": 0.01,
    "timeline": [{"at": "1 s", "outage": "300 ms"}, {"at": "2 s", "change": {"rate": "2 Mbit/s", "delay": "30 ms"}}],
}


def by_the_line(folder: Path, **settings: object) -> tuple[Trial, Verdict]:
    """One trial; how late the machine made the line, these tests leave to the verdict."""
    trial, verdict, _ = run(folder, made_by="line", **settings)
    return trial, verdict


def test_delay_jitter_copies_damage_and_reordering_without_netem(tmp_path: Path) -> None:
    (tmp_path / "impaired.yaml").write_text(yaml.safe_dump(IMPAIRED, sort_keys=False))
    trial, verdict = by_the_line(tmp_path, network="impaired.yaml", window=SHORT)
    assert_complete(trial, verdict)
    link = trial.link()
    assert [event.label for event in link.events] == [
        "outage begins", "outage ends", "rate 2 Mbit/s, delay 30 ms",
    ]  # fmt: skip
    assert {one.quantity for one in link.checks} >= {"delay", "jitter", "duplicates", "losses", "reordered"}
    (changes,) = [one for one in link.checks if one.quantity == "change"]
    assert changes.detail == "the latest of 3 changes; 3 were due"
    assert {one.state for one in link.later or ()} == {"outage begins, at 1 s", "rate 2 Mbit/s, delay 30 ms, at 2 s"}
    (whole,) = [one for one in link.counters if one.during == "trial"]
    assert whole.dark
    assert sum(whole.dark.values()) > 0


@pytest.mark.parametrize("name", ["lte", "geo-satellite", "vehicle-handover"])
def test_profiles_that_needed_netem_or_a_kernel_run_natively(tmp_path: Path, name: str) -> None:
    trial, verdict = by_the_line(tmp_path, network=name, window=SHORT | {"drain_s": 6})
    assert_complete(trial, verdict)


def test_turns_that_only_the_line_can_take_are_proven(tmp_path: Path) -> None:
    slow = {
        "name": "anomaly", "description": "for tests", "source": "made for tests", "medium": "shared",
        "rate": "4 Mbit/s", "turns": "airtime", "station_rate": "phy", "stations": {"sta2": {"rate": "1 Mbit/s"}},
    }  # fmt: skip
    (tmp_path / "anomaly.yaml").write_text(yaml.safe_dump(slow, sort_keys=False))
    trial, verdict = by_the_line(tmp_path, network="anomaly.yaml", window=SHORT)
    assert_complete(trial, verdict)
    rates = {one.asked for one in trial.link().checks if one.quantity == "rate" and one.source == "probe"}
    assert rates == {4e6, 1e6}
