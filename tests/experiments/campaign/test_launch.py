"""A trial that never ends is ended, and it is said why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lab_runs import scenario_file
from origin import origin
from trial_files import passing_verdict

from experiments.campaign import campaign as campaigns
from experiments.campaign import launch, runner
from experiments.scenario import scenario as scenarios
from experiments.trial.connect_time import ConnectTime
from experiments.workers.worker import Workers
from records.campaign import read_campaign
from records.store import trials
from records.verdict import Verdict

pytestmark = [pytest.mark.root]


def outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], *, limit_s: float = 60
) -> tuple[Path, launch.Outcome]:
    """A trial whose process is this command, and its campaign.

    limit_s: what it may take beside its window of a second.
    """
    monkeypatch.setattr(launch, "command", lambda *_, **__: words)
    monkeypatch.setitem(launch.HANG_LIMIT_S, "host", limit_s)
    none = ConnectTime(expected_s=0, client_s=0, all_s=0, quiet_s=0)
    monkeypatch.setattr(launch, "connect_time_of", lambda *_, **__: none)
    window = {"warmup_s": 0, "window_s": 1, "drain_s": 0}
    folder = campaigns.create(scenarios.load(scenario_file(tmp_path, window=window)), tmp_path / "results")
    campaign = read_campaign(folder)
    spec = runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], origin())
    way = launch.Way(
        kernel="host",
        planned=campaign.order[0],
        log=folder / "log",
        phase=lambda *_: None,
        limit_s=launch.limit(spec, "host"),
    )
    return folder, launch.run_one(spec, way, Workers())


def test_a_trial_that_hangs_is_ended_and_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [sys.executable, "-c", "import signal; signal.pause()"]
    folder, found = outcome(tmp_path, monkeypatch, words, limit_s=0.5)
    assert found.state == "failed"
    (reason,) = found.reasons
    assert "ended (after 2 s, the most that it may take) while in phase 'start'" in reason
    assert trials(folder) == []


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("warning: something", "said what cannot be read (line: Invalid JSON"),
        ('{"event": "phase"}', "said what cannot be read (phase.name: Field required"),
    ],
)
def test_a_first_line_that_cannot_be_read_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    program = f"import sys; print({said!r}, flush=True); sys.stdin.read()"
    folder, found = outcome(tmp_path, monkeypatch, [sys.executable, "-c", program])
    assert found.state == "failed"
    assert reason in found.reasons[0]
    assert f"(in {said + chr(10)!r})) while in phase 'start'; see {folder / 'log'}" in found.reasons[0]


def test_a_trial_that_is_killed_when_its_folder_is_whole_has_ended_as_that_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import json, os, signal, sys
from pathlib import Path
from records.filenames import VERDICT
from records.store import trial_name
spec = json.loads(sys.stdin.readline())
folder = Path(spec["campaign_folder"], spec["cell"], trial_name(spec["trial"]))
folder.mkdir(parents=True)
(folder / VERDICT).write_text(sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""
    for verdict in (passing_verdict(), Verdict(checks=())):
        words = [sys.executable, "-c", program, verdict.model_dump_json()]
        folder, found = outcome(tmp_path, monkeypatch, words)
        assert (found.state, found.reasons) == (verdict.state, verdict.reasons())
        assert len(trials(folder)) == 1


def test_half_a_line_of_a_trial_that_was_killed_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, signal; os.write(1, b'{\"event\": '); os.kill(os.getpid(), signal.SIGKILL)"
    _, found = outcome(tmp_path, monkeypatch, [sys.executable, "-c", program])
    assert "ended (SIGKILL) while in phase 'start'" in found.reasons[0]
