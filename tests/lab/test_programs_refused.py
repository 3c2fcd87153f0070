"""Programs that cannot be run, and metrics of theirs that have a name of ours, are refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_command import lab

METRIC = {"path": "x", "unit": "s"}


@pytest.mark.parametrize(
    ("work", "status", "said"),
    [
        (
            {"client": {"command": "ping {server}"}, "metrics": {"loss_share": METRIC}},
            2,
            "scenario.yaml:7: workload.metrics.loss_share: Airwire measures loss_share itself",
        ),
        (
            {"client": {"command": "no-such-program {server}"}},
            1,
            "workload.client.command: 'no-such-program' is not in /usr/local/sbin",
        ),
    ],
)
def test_it_is_told_with_the_way_out_and_leaves_nothing(
    tmp_path: Path, work: dict[str, Any], status: int, said: str
) -> None:
    path, results = tmp_path / "scenario.yaml", tmp_path / "results"
    path.write_text(
        yaml.safe_dump({"scenario": "x", "network": "wireline-10m", "workload": {"pattern": "command"} | work})
    )
    done = lab("run", path, "--results", results)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert not results.exists()
