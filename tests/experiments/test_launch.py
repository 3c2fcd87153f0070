"""A trial that never ends is ended, and it is said why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from lab_runs import scenario_file

from experiments import campaign as campaigns
from experiments import launch, provenance, runner
from experiments import scenario as scenarios
from experiments.connect_time import ConnectTime
from results.campaign import read_campaign
from results.store import trials

pytestmark = [pytest.mark.root]


def test_a_trial_that_hangs_is_ended_and_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*_: Any, **__: Any) -> list[str]:
        return [sys.executable, "-c", "import signal; signal.pause()"]

    monkeypatch.setattr(launch, "command", hangs)
    monkeypatch.setitem(launch.HANG_LIMIT_S, "host", 0.5)
    none = ConnectTime(expected_s=0, client_s=0, all_s=0, quiet_s=0)
    monkeypatch.setattr(launch, "connect_time", lambda *_, **__: none)
    window = {"warmup_s": 0, "window_s": 1, "drain_s": 0}
    folder = campaigns.create(scenarios.load(scenario_file(tmp_path, window=window)), tmp_path / "results")
    campaign = read_campaign(folder)
    spec = runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], provenance.gather())
    way = launch.Way(kernel="host", planned=campaign.order[0], log=folder / "log", phase=lambda *_: None)
    outcome = launch.run_one(spec, way, launch.Processes())
    assert outcome.state == "failed"
    (reason,) = outcome.reasons
    assert "ended (after 2 s, the most that it may take) while in phase 'start'" in reason
    assert trials(folder) == []
