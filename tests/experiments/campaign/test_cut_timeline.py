"""A window that does not show all of a link's timeline is told before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_runs import scenario_file

from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.campaign import campaign as campaigns
from experiments.campaign.cut_timeline import cut, told
from experiments.scenario import scenario as scenarios
from records.campaign import read_campaign


def with_events(*events: dict[str, Any]) -> LinkProfile:
    base = {"name": "made", "description": "d", "source": "s", "medium": "duplex", "rate": 1e6}
    return LinkProfile.model_validate(base | {"timeline": list(events)})


def test_what_comes_after_the_window_is_told_with_the_window_that_shows_it() -> None:
    (line,) = cut(library.load("vehicle-handover"), window_s=15)
    assert line == (
        "network vehicle-handover: its timeline goes on for 84 s, and the window shows the first 15 s: 12 of its 15 "
        "events come later (change at 24 s, handover at 27 s, change at 30 s and 9 more); all of it takes window: "
        "{window_s: 85}"
    )
    assert list(cut(library.load("vehicle-handover"), window_s=85)) == []


def test_what_the_window_s_end_cuts_in_two_is_told() -> None:
    trace = {"uplink": {"opportunities_ms": [10, 20_000]}}
    (line,) = cut(with_events({"at": 9, "outage": 2}, {"at": 0, "trace": trace}), window_s=10)
    assert "the trace at 0 s is cut, and the outage at 9 s is cut; all of it takes window: {window_s: 20}" in line


@pytest.mark.parametrize("events", [[], [{"at": 9, "outage": 1}], [{"at": 9.5, "change": {"rate": 5e5}}]])
def test_a_timeline_that_the_window_shows_is_no_news(events: list[dict[str, Any]]) -> None:
    assert list(cut(with_events(*events), window_s=10)) == []


def test_a_change_at_the_very_end_is_not_seen() -> None:
    (line,) = cut(with_events({"at": 10, "change": {"rate": 5e5}}), window_s=10)
    assert "1 of its 1 events come later" in line
    assert line.endswith("{window_s: 11}")


def test_a_campaign_tells_each_link_and_window_once(tmp_path: Path) -> None:
    path = scenario_file(
        tmp_path,
        network=["vehicle-handover", "wireline-100m"],
        window={"warmup_s": 1, "window_s": [10, 20, 90], "drain_s": 1},
        stations=[1, 2],
    )
    lines = told(read_campaign(campaigns.create(scenarios.load(path), tmp_path / "results")))
    assert [line.partition(" shows the first ")[2].partition(" s:")[0] for line in lines] == ["10", "20"]
