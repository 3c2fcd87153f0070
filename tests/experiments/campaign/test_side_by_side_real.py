"""Two trials at the same time under the real command line, stations with shares of a processor: finished, interrupted,
killed.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from campaign_runs import assert_gone, begin, until
from lab_runs import assert_finished, called, lab, scenario_file, traces

from experiments.campaign import campaign as campaigns
from experiments.trial.cpugroups import KEEPER
from records.campaign import read_campaign
from records.store import trials
from records.verdict import Check
from records.window_metrics import figures

pytestmark = [pytest.mark.root]

CLIENTS = {"publishers": 2, "subscribers": 4, "topics": 2}
TOGETHER = {
    "network": "nistnet-80211",
    "station_cores": 0.4,
    "workload": {"clients": CLIENTS, "body_bytes": [200, 400], "loop": "open", "rate": 20},
    "parallel": {"trials": 2, "when": {"body_bytes": ["200", "400"]}},
}

# The first trial must still be under way when the other one begins, and both when they are interrupted.
LONG = {"warmup_s": 0.3, "window_s": 120, "drain_s": 3}


def test_trials_side_by_side_keep_apart_and_are_recorded_as_such(tmp_path: Path) -> None:
    before, results = traces(tmp_path), tmp_path / "results"
    done = lab("run", scenario_file(tmp_path, **TOGETHER), "--no-report", results=results)
    (folder,) = campaigns.folders(results)
    assert_finished(done, folder)
    finished = trials(folder)
    assert len(finished) == 2
    for trial in finished:
        manifest = trial.manifest()
        assert manifest.machine_cpu is not None
        assert 0 < manifest.machine_cpu < 1.05  # the kernel counts in ticks
        assert manifest.figures == figures(
            trial.table("published"), trial.table("delivered"), manifest.window, manifest.workload.audiences
        )
        (share,) = [one for one in trial.verdict().checks if one.check is Check.STATION_CPU]
        assert share.measured is not None
        assert share.measured > 0
        assert "of its 0.4 cores" in share.detail
        set_aside = list(trial.path.parent.glob(".set-aside-*"))
        repeated = set_aside or any("so it is run again" in note for note in manifest.notes)
        assert bool(manifest.beside) != bool(repeated), "beside another, or repeated alone"
    assert traces(tmp_path) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_both_are_gone_with_their_runner_and_the_campaign_can_be_resumed(tmp_path: Path, number: int) -> None:
    before, results = traces(tmp_path), tmp_path / "results"
    scenario = scenario_file(tmp_path, window=LONG, **TOGETHER)
    process, spaces = begin(scenario, results, together=2)
    groups = [Path(keeper.cmdline()[-1]) for keeper in called(KEEPER, process.pid)]
    assert len(groups) == 2
    process.send_signal(number)
    _, complaints = process.communicate(timeout=120)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130), complaints
    (folder,) = campaigns.folders(results)
    assert trials(folder) == []
    assert len(campaigns.missing(folder, read_campaign(folder))) == 2
    if number == signal.SIGKILL:
        assert "0/2" in lab("list", results=results).stdout  # what a killed command leaves, the next one clears up
    assert_gone(spaces, before, tmp_path)
    until(lambda: not any(group.exists() for group in groups))
