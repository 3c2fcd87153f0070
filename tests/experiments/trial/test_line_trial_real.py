"""A trial whose link is made by the line, on the machine's own kernel, and its replay."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lab_runs import assert_sound, lab, only_trial, scenario_file

from emulation.link import features
from emulation.plan.stages import LINE
from records.store import Trial

pytestmark = [pytest.mark.root]

FAR = {
    "name": "far",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "2 Mbit/s",
    "delay": "30 ms",
    "jitter": "5 ms",
    "duplicate": "2 %",
    "loss": {"model": "gilbert-elliott", "p": 0.02, "r": 0.3},
}


@pytest.fixture(scope="module")
def by_the_line(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """On a link that tc could not make without netem."""
    available = features.probe()
    if lacks := [f"{feature}: {available[feature]}" for feature in LINE if available[feature]]:
        pytest.skip(f"no line here ({', '.join(lacks)})")
    folder = tmp_path_factory.mktemp("line")
    (folder / "link.yaml").write_text(yaml.safe_dump(FAR))
    scenario = scenario_file(folder, network="link.yaml", stations=1)
    done = lab("run", scenario, "--medium", "line", "--no-report", results=folder / "results")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return only_trial(folder / "results")


def test_it_is_valid_and_says_what_made_its_link(by_the_line: Trial) -> None:
    manifest = by_the_line.manifest()
    assert_sound(by_the_line.verdict())
    assert (manifest.kernel.chosen, manifest.medium, manifest.transmission_time) == ("host", "line", True)
    assert len(by_the_line.table("delivered")) > 0
    checks = {(one.quantity, one.direction): one for one in by_the_line.link().checks if one.source == "probe"}
    for direction in ("uplink", "downlink"):
        assert checks["delay", direction].delivered > 0.029
        assert " 0 to be copied" not in checks["duplicates", direction].detail


def test_its_replay_is_made_by_the_line_and_loses_the_same(by_the_line: Trial, tmp_path: Path) -> None:
    done = lab("replay", by_the_line.path, "--no-report", results=tmp_path)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    again = only_trial(tmp_path)
    assert_sound(again.verdict())
    assert len(again.table("delivered")) > 0
    assert (again.manifest().medium, again.manifest().seed) == ("line", by_the_line.manifest().seed)
    assert [one.sha256 for one in again.link().loss_lists] == [one.sha256 for one in by_the_line.link().loss_lists]


def test_a_replay_by_another_medium_is_refused(by_the_line: Trial, tmp_path: Path) -> None:
    done = lab("replay", by_the_line.path, "--no-report", "--medium", "tc", results=tmp_path)
    assert done.returncode == 1
    assert "its link was made by the line, and a replay's is, too: --medium tc would give packets other" in done.stderr
    assert list(tmp_path.iterdir()) == []
