"""What measures the lab can be started, and reads what trials leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from invented import manifest
from kernel_agreement import METRICS, figures
from trial_files import write_trial

from records.filenames import MANIFEST, VERDICT
from records.manifest import Kernel, Manifest
from records.store import Trial, write_record
from records.verdict import Check, Health, HealthCheck, Verdict

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
# All in one process, which tells of each that cannot be; some add the tests' support to their path by themselves.
IMPORTS = """
import importlib, sys, traceback
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException:
        print(name, traceback.format_exc())
"""


def test_every_module_of_the_benchmarks_can_be_imported() -> None:
    names = [
        ".".join(path.relative_to(BENCHMARKS).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(BENCHMARKS.rglob("*.py"))
    ]
    assert {"kernel_agreement", "accuracy.bench", "line_bench"} <= set(names)
    path = os.pathsep.join(map(str, (BENCHMARKS, ROOT / "tests" / "support", ROOT)))
    told = subprocess.run(
        [sys.executable, "-c", IMPORTS, *names], cwd=ROOT, env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout == ""


def rewritten(trial: Trial, name: str, record: Manifest | Verdict) -> None:
    (trial.path / name).unlink()
    write_record(trial.path / name, record)


def test_agreement_is_of_valid_trials_and_of_the_kernel_that_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, spoiled = (write_trial(tmp_path, "only", number) for number in (1, 2))
    sent_in = manifest().window.model_copy(update={"start_ns": 0})
    rewritten(one, MANIFEST, manifest(window=sent_in))
    failed = HealthCheck(check=Check.SERVERS_ALIVE, health=Health.FAILED, detail="gone")
    rewritten(spoiled, VERDICT, Verdict(checks=(failed,)))
    ((key, found),) = figures(tmp_path, "host").items()
    assert key == (100, 1)
    assert set(METRICS) <= found.keys()
    assert f"left out: {spoiled.path} is invalid: " in capsys.readouterr().out
    rewritten(one, MANIFEST, manifest(kernel=Kernel(release="6.1", chosen="lab")))
    with pytest.raises(SystemExit, match="this trial ran on kernel lab, not host"):
        figures(tmp_path, "host")
