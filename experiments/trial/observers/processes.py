"""The processes of a machine, whose they are, and what groups of them use."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from emulation.line import idlepoll

_PF_KTHREAD = 0x00200000  # linux/sched.h
TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def lives(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


@dataclass(frozen=True, slots=True)
class Process:
    """One process in /proc.  started_s: since the machine was booted.  own_s: processor time of its threads.

    reaped_s: of its descendants that it has waited for.
    """

    pid: int
    parent: int
    name: str
    kernel: bool
    started_s: float
    own_s: float
    reaped_s: float

    @property
    def key(self) -> tuple[int, float]:
        """A number is given to another process as soon as it is free."""
        return self.pid, self.started_s


@dataclass(frozen=True, slots=True)
class Ours:
    """Which processes are not foreign: trials with all that they have started, and single ones without.

    trial: the one that is told.  beside: others of its campaign.
    """

    trial: int
    beside: Collection[int] = ()
    single: Collection[int] = ()


Group = Mapping[tuple[int, float], Process]


@dataclass(frozen=True, slots=True)
class Groups:
    """All processes but the kernel's own.  trial: is part of ours.

    polling: of ours, too, those that only keep a processor awake.
    """

    trial: Group
    ours: Group
    foreign: Group
    polling: Group

    @classmethod
    def of(cls, found: Mapping[int, Process], ours: Ours) -> Groups:
        """Sort what a reading has found."""
        trial = trees(found, [ours.trial])
        mine = trial | trees(found, ours.beside) | set(ours.single)
        return cls(
            trial={one.key: one for one in found.values() if one.pid in trial and one.name != idlepoll.COMMAND},
            ours={one.key: one for one in found.values() if one.pid in mine},
            polling={one.key: one for one in found.values() if one.pid in mine and one.name == idlepoll.COMMAND},
            foreign={one.key: one for one in found.values() if one.pid not in mine and not one.kernel},
        )


def parse_process(stat: str) -> Process:
    """A line of /proc/PID/stat.  Raises ValueError or IndexError for anything else."""
    head, _, tail = stat.rpartition(")")
    pid, _, name = head.partition(" (")
    field = tail.split()
    times = [int(one) / TICKS for one in field[11:15]]
    return Process(
        pid=int(pid),
        parent=int(field[1]),
        name=name,
        kernel=bool(int(field[6]) & _PF_KTHREAD),
        started_s=int(field[19]) / TICKS,
        own_s=times[0] + times[1],
        reaped_s=times[2] + times[3],
    )


def processes(proc: Path = PROC) -> dict[int, Process]:
    """Every process that can be seen."""
    found = {}
    for name in os.listdir(proc):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
                one = parse_process(read(f"{proc}/{name}/stat"))
                found[one.pid] = one
    return found


def trees(found: Mapping[int, Process], roots: Collection[int]) -> set[int]:
    """Processes with all that they have started: a namespace's orphans go to its first process, a trial is a tree."""
    children: dict[int, list[int]] = {}
    for one in found.values():
        children.setdefault(one.parent, []).append(one.pid)
    mine: set[int] = set()
    left = list(roots)
    while left:
        pid = left.pop()
        if pid not in mine:
            mine.add(pid)
            left += children.get(pid, ())
    return mine


def used_s(before: Group, after: Group, *, since_s: float) -> float:
    """Processor seconds that a group of processes used between two readings, the first one since_s after boot.

    What a process has used goes to the one that waits for it, so the group's sum stays.  It does not where nobody
    waits for a process; then the answer is what those that are left used themselves.
    """
    joined = {key: one for key, one in after.items() if key not in before and one.started_s < since_s}
    known = {**before, **joined}
    whole = sum(one.own_s + one.reaped_s for one in after.values())
    whole -= sum(one.own_s + one.reaped_s for one in known.values())
    return max(whole, sum(_own_s(known, one) for one in after.values()), 0.0)


def _own_s(before: Group, one: Process) -> float:
    earlier = before.get(one.key)
    return one.own_s - (earlier.own_s if earlier else 0.0)


def busiest(before: Group, after: Group, *, since_s: float) -> tuple[str, float]:
    """The process that used most itself: its name, and how much."""
    fresh = [one for one in after.values() if one.key in before or one.started_s >= since_s]
    most = max(fresh, key=lambda one: _own_s(before, one), default=None)
    return (most.name, _own_s(before, most)) if most else ("", 0.0)


def read(path: str) -> str:
    """A small file of /proc."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, 4096).decode(errors="replace")
    finally:
        os.close(handle)
