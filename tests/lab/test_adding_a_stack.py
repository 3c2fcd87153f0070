"""What docs/adding-a-stack.md shows works as it stands: as a package of somebody's, and as a folder of ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from stack_packages import GUIDE, ROOT, shown, write

SUPPORT = ROOT / "tests" / "support"
PAGE = 60  # lines of text, of 120 columns each
PACKAGES = ("analysis", "emulation", "experiments", "lab", "records", "stacks", "topologies")
SENDERS = {"senders": 1, "members": 3}
WORKLOAD = {"pattern": "broadcast", "clients": SENDERS, "body_bytes": 200, "loop": "open", "rate": 20}
TRIAL = """
import json, sys
from pathlib import Path
from records.ledger import reconcile
from trial_runs import run
trial, verdict, _ = run(Path(sys.argv[1]), stack="tiny", workload=json.loads(sys.argv[2]))
manifest = trial.manifest()
found = reconcile(trial.table("published"), trial.table("delivered"), manifest.workload.audiences)
print(json.dumps({
    "stack": manifest.stack, "version": manifest.versions["airwire-tiny"], "reasons": list(verdict.reasons()),
    "closes": found.closes, "delivered": found.delivered, "lost": found.lost,
    "sent": trial.table("published").num_rows,
}))
"""
ASKED = """
import json
from experiments.trial import provenance
from lab import generate, stacks, system_packages
from stacks import folders, installed
found = folders.found()
print(json.dumps({
    "listed": [row.stack for row in stacks.listed(found)],
    "missing": system_packages.names(installed.missing(found.declared)),
    "daemons": system_packages.services(installed.missing(found.declared)),
    "version": provenance.gather().versions["relay"],
    "table": generate.table(),
    "requirements": generate.requirements(),
    "roles": [str(one) for one in folders.role_folders()],
}))
"""


def said(command: list[str | Path], **options: Any) -> Any:
    """What a command prints last, which is JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_smallest_driver_has_less_than_80_lines_and_the_guide_two_pages() -> None:
    files, lines = shown(), GUIDE.read_text().splitlines()
    assert len(files["airwire_tiny/driver.py"].splitlines()) < 80
    assert max(map(len, lines)) <= 120
    assert sum(bool(line.strip()) for line in lines) <= 2 * PAGE


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a scratch environment that has ours in sight, and the guide's package installed."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", folder / "venv"], check=True
    )
    python = folder / "venv" / "bin" / "python"
    here = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    (Path(here) / "ours.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    write(folder / "package", {"airwire_tiny/__init__.py": "", **shown()})
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"),
            *("--no-index", "--no-build-isolation", "--no-deps", "--no-cache-dir", folder / "package"),
        ],
        check=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    return python


@pytest.mark.root
def test_a_stack_of_somebodys_package_runs_a_trial(environment: Path, tmp_path: Path) -> None:
    ansible = Path(sys.executable).parent
    path = os.pathsep.join((str(ansible), os.environ.get("PATH", os.defpath)))
    found = said(
        [environment, "-c", TRIAL, tmp_path, json.dumps(WORKLOAD)],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(SUPPORT)},
        cwd=tmp_path,
    )
    assert found["stack"] == "tiny"
    assert found["version"].startswith("1.0 (code ")
    assert (found["closes"], found["lost"]) == (True, 0)
    assert found["delivered"] == 3 * found["sent"] > 0


def test_as_a_folder_of_ours_it_is_found_without_a_change_outside_it(tmp_path: Path) -> None:
    for package in PACKAGES:
        # With the byte code there is, but for what is being written.
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("*.pyc.*"))
    needed = (
        '[[debian]]\npackage = "no-such-relay"\nname = "relay"\ndaemon = true\n'
        '[[python]]\nrequires = "no-such-relay==1"\n'
    )
    write(
        tmp_path,
        {
            name.replace("airwire_tiny", "stacks/tiny"): text.replace("airwire_tiny", "stacks.tiny")
            + needed * name.endswith("stack.toml")
            for name, text in shown().items()
            if name != "pyproject.toml"
        },
    )
    path = os.environ.get("PATH", os.defpath)
    found = said([sys.executable, "-c", ASKED], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": path})
    assert "tiny" in found["listed"]
    assert "no-such-relay" in found["missing"]
    assert found["daemons"] == ["no-such-relay"]
    assert found["version"] == "absent"
    assert (
        "| `tiny` | A relay without any promise: the smallest stack that has a server | servers | broadcast |"
        in (found["table"])
    )
    assert "no-such-relay==1" in found["requirements"]
    assert f"{tmp_path}/stacks/tiny/roles" in found["roles"]
