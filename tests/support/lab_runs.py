"""Running the real command line on small scenarios, and looking for what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lab_command
import psutil
import warm
import yaml

from emulation.kernel import congestion
from experiments.campaign import campaign as campaigns
from experiments.scenario.limits import LIMITS
from experiments.trial.checks.machinechecks import OF_OTHERS
from records.store import Trial, trials
from records.verdict import Check, Health, State, Verdict

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
# Long enough for a trial that is repeated on a busy machine.
_HANGS_S = 900
SMALL: dict[str, Any] = {
    "scenario": "small",
    "network": "wireline-100m",
    "stack": "reference",
    "stations": 2,
    "congestion_control": "reno",
    "workload": {
        "clients": {"publishers": 2, "subscribers": 4, "topics": 2},
        "body_bytes": 200,
        "loop": "open",
        "rate": 20,
    },
    "window": {"warmup_s": 0.3, "window_s": 2, "drain_s": 3},
    "trials": 1,
    "repeat_spoiled": 0,  # tests do not ask for a valid trial: a noisy machine need not be tried three times
}


def scenario_file(folder: Path, **settings: object) -> Path:
    """A scenario file: the small one with these settings changed."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(SMALL | settings))
    return path


def command(*words: str | Path, results: Path) -> list[str]:
    """The command line of `lab`, with results elsewhere."""
    verb, *rest = map(str, words)
    return [sys.executable, "-m", "lab", verb, *rest, "--results", str(results)]


def lab(*words: str | Path, results: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `lab` to its end, with results elsewhere."""
    return lab_command.lab(*words, "--results", results, env=env, timeout=_HANGS_S)


def only_trial(results: Path) -> Trial:
    """The trial of a campaign of one, which is the only one there."""
    (folder,) = campaigns.folders(results)
    (trial,) = trials(folder)
    return trial


def assert_finished(run: subprocess.CompletedProcess[str], folder: Path) -> None:
    """The command ended as the verdicts of the campaign's trials say, and named every trial that is not valid.

    What the verdicts are is the machine's affair here: on a noisy one a sound trial can be invalid.
    """
    doubtful = [trial for trial in trials(folder) if trial.verdict().state is not State.VALID]
    assert run.returncode == (3 if doubtful else 0), run.stdout + run.stderr
    for trial in doubtful:
        assert all(reason in run.stdout for reason in trial.verdict().reasons()), run.stdout


def failed(verdict: Verdict) -> set[Check]:
    """The checks that failed."""
    return {one.check for one in verdict.checks if one.health is Health.FAILED}


def machines(checks: set[Check]) -> set[Check]:
    """Those that the machine alone can make fail: on a noisy one they may fail in a sound trial."""
    return {check for check in checks if LIMITS[check].machine_alone}


def assert_sound(verdict: Verdict) -> None:
    """Nothing speaks against a trial but, perhaps, what the machine did."""
    against = failed(verdict)
    assert against == machines(against), verdict.reasons()
    told = [one for one in verdict.checks if one.health in (Health.FAILED, Health.UNKNOWN)]
    assert (verdict.state is State.VALID) == (not told), verdict.reasons()
    assert {one.check for one in verdict.checks if one.health is Health.WAIVED} <= set(OF_OTHERS), verdict.reasons()


def traces(folder: Path) -> dict[str, object]:
    """What a trial with results below `folder` could leave: processes, namespaces, links, rules, a longer sysctl.

    A network namespace lives as long as a process in it, a name, or an open file; a process of ours is one that
    this process started or that has a file of `folder` open or in its words.  What other tests' living processes have
    at the same time is theirs.
    """
    own = {str(child.pid) for child in psutil.Process().children(recursive=True)}
    own -= lab_command.servers() | warm.servers()
    processes = [_words(entry) for entry in _processes() if entry.name in own or str(folder) in _mentions(entry)]
    rules = subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout
    return {
        "processes": processes,
        "open namespaces": [link for link in _links(Path("/proc/self")) if link.startswith("net:")],
        "links": sorted(os.listdir("/sys/class/net")),
        "rules": rules,
        "named": subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout,
        "allowed for": sorted(own & set(_holders())),
    }


def _holders() -> list[str]:
    """Processes for which the machine's list of allowed congestion controls is extended."""
    try:
        return [str(pid) for pid, _ in json.loads(congestion.STATE.read_text())["holders"]]
    except FileNotFoundError:
        return []


Spaces = dict[str, list[psutil.Process]]


def called(word: str, pid: int | None = None) -> list[psutil.Process]:
    """Processes below one, by default this one, that have a word in their command."""
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if word in one.cmdline():
                found.append(one)
    return found


def process_namespaces(pid: int) -> Spaces:
    """Namespaces of processes below a process, other than ours (a trial's), each with those that live in it."""
    own, found = _namespace(Path("/proc/self")), Spaces()
    for child in psutil.Process(pid).children(recursive=True):
        space = _namespace(Path("/proc") / str(child.pid))
        if space not in (own, ""):
            found.setdefault(space, []).append(child)
    return found


def living_in(spaces: Spaces) -> list[psutil.Process]:
    """Who still lives there.  A namespace's number is given to another one as soon as it is free."""
    return [one for some in spaces.values() for one in some if one.is_running()]


def _processes() -> list[Path]:
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _namespace(entry: Path) -> str:
    try:
        return os.readlink(entry / "ns" / "pid")
    except OSError:
        return ""


def _words(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _links(entry: Path) -> list[str]:
    found = []
    try:
        for name in os.listdir(entry / "fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(entry / "fd" / name))
    except OSError:
        return []
    return found


def _mentions(entry: Path) -> str:
    # Our own process and its kin mention the folder, because they test it.
    if entry.name in {str(os.getpid()), *(str(parent.pid) for parent in psutil.Process().parents())}:
        return ""
    return " ".join([_words(entry), *_links(entry)])
