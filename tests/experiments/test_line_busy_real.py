"""A line keeps its time while other work wants every core; the machine must be free of other tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_foreign_load_real import busy_loops
from test_line_trials_real import check_of, run, until_quiet

from results.verdict import Health

pytestmark = [pytest.mark.root, pytest.mark.alone]


def test_busy_loops_on_every_core_do_not_make_a_line_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is in a real-time class, so what stalls it is the machine's hypervisor: three trials are tried."""
    with busy_loops():
        trial, verdict = until_quiet(lambda: run(tmp_path, monkeypatch))
    check = check_of(verdict)
    assert check.health is Health.PASSED, check
    released = [row["value"] for row in trial.table("resources").to_pylist() if row["metric"] == "released_frames"]
    assert released[-1] > 100
