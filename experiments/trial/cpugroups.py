"""A processor's share for every station: control groups of a trial, by either version of the kernel's interface.

Whoever runs the trial makes the groups' folder and has a process of its own keep it (cpugroup_keeper.py), which removes
it when the trial, or its owner, has ended, however that was.  The trial makes a group for each station in it.
Quotas: Linux, Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from emulation.kernel.quota import groups
from experiments.workers.isolation import ROOT, module
from records.errors import CannotGoOn

NAME = "airwire-"
KEEPER = "experiments.trial.cpugroup_keeper"
_KEEPER_LIMIT_S = 120.0
# Short, so that a process that has used its quota stands still for milliseconds; a quota is at least 1 ms.
_PERIOD_US, _LEAST_QUOTA_US = 10_000, 1_000
_VERSION_2 = "cgroup.controllers"


class NoCpuGroups(CannotGoOn):
    """Stations cannot be given a share of a processor here; the message says why."""


@contextmanager
def made(proc: Path = Path("/proc")) -> Iterator[Path]:
    """The folder of a trial's groups; all of them are gone at the end, even of a process that is killed.

    NoCpuGroups when the kernel has none, or does not let us make them.
    """
    try:
        above = groups((proc / "self/cgroup").read_text(), (proc / "self/mountinfo").read_text())
        if not above:
            raise NoCpuGroups("station_cores: the kernel shows no control groups with a quota of processors")
        # Version 2 gives quotas below groups without processes of their own only: those are below the first of all.
        folder = above[-1 if (above[-1] / _VERSION_2).exists() else 0] / f"{NAME}{uuid4().hex}"
        keeper = subprocess.Popen(
            [*module(KEEPER), str(folder)], stdin=subprocess.PIPE, start_new_session=True, cwd=ROOT
        )  # it outlives us, so nobody's Ctrl-C may reach it
    except OSError as error:
        raise _refused(error) from error
    assert keeper.stdin
    try:
        _make(folder)
        yield folder
    except OSError as error:
        if Path(error.filename or "").is_relative_to(folder.parent):
            raise _refused(error) from error
        raise
    finally:
        keeper.stdin.close()
        keeper.wait(_KEEPER_LIMIT_S)


def _make(folder: Path) -> None:
    if (folder.parent / _VERSION_2).exists():
        (folder.parent / "cgroup.subtree_control").write_text("+cpu")
    folder.mkdir()
    if (folder / _VERSION_2).exists():
        (folder / "cgroup.subtree_control").write_text("+cpu")


def limit(folder: str, stations: Mapping[str, tuple[int, ...]], cores: float) -> None:
    """Let the processes of every station use so many cores together, and what they start from now on.

    folder: that of the trial, as `made` has it.  stations: processes, by name.  NoCpuGroups when the kernel refuses.
    """
    period = max(_PERIOD_US, round(_LEAST_QUOTA_US / cores))
    quota = round(period * cores)
    try:
        for name, pids in stations.items():
            group = Path(folder, name)
            group.mkdir(exist_ok=True)
            if (group / _VERSION_2).exists():
                (group / "cpu.max").write_text(f"{quota} {period}")
            else:
                (group / "cpu.cfs_period_us").write_text(str(period))
                (group / "cpu.cfs_quota_us").write_text(str(quota))
            for pid in pids:
                (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> NoCpuGroups:
    return NoCpuGroups(
        f"station_cores: {error.filename or 'control groups'}: {error.strerror or error}: run as root where control "
        "groups can be made, or leave station_cores out"
    )
