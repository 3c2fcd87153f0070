"""What the whole machine does meanwhile, seen from outside a trial: its own process sees its namespace only.

Whoever runs a trial watches, and tells the trial, which may run in a lab kernel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from emulation.kernel.quota import Throttled, throttled, usable_cores
from experiments.trial.observers.processes import PROC, TICKS, Groups, Ours, busiest, processes, read, used_s
from records.record import Record

INTERVAL_S = 0.5
# A reading of 160 processes takes 3 ms; on a machine with thousands there are fewer of them.
_MOST_OF_A_CORE = 0.02


class Reading(Record):
    """The machine at one moment.  Seconds and counts are cumulative, None where this kernel does not tell.

    t_ns: CLOCK_MONOTONIC of whoever watched.  cores: that may be used here.  processors: that the machine has.
    busy_s: processor time, all processors together, without steal, and without what only kept a processor awake for a
    trial of ours.  foreign_s: of it, what neither the trials of this campaign nor the kernel used.  trial_s: what the
    trial itself used.  Both are from the first reading on.
    busiest: the foreign process that used most since the reading before, with busiest_s.  kernel_seen: whether kernel
    threads can be told; in a container they cannot, and count as foreign.  io_stalled_s: for how long something waited
    for a disk.  unread: why there is nothing about the quota.
    """

    t_ns: int
    cores: int
    processors: int
    busy_s: float
    foreign_s: float
    trial_s: float = 0.0
    busiest: str = ""
    busiest_s: float = 0.0
    kernel_seen: bool = True
    steal_s: float | None = None
    io_stalled_s: float | None = None
    throttled_periods: int | None = None
    throttled_s: float = 0.0
    unread: str = ""


class Watch:
    """Readings of the machine, one after the other.  ours: asked for each, as trials come and go."""

    def __init__(self, ours: Callable[[], Ours], proc: Path = PROC) -> None:
        self._ours, self._proc = ours, proc
        self._foreign_s = self._trial_s = self._polled_s = 0.0
        self._last: tuple[float, Groups, float] | None = None

    def take(self) -> Reading:
        """One reading.  Raises OSError where /proc cannot be read."""
        booted_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        found = processes(self._proc)
        now_ns, times = time.monotonic_ns(), cpu_times(self._proc)
        groups = Groups.of(found, self._ours())
        kernel_seen = any(one.kernel for one in found.values())
        name, name_s = "", 0.0
        if self._last is not None:
            since_s, before, used_before_s = self._last
            self._trial_s += used_s(before.trial, groups.trial, since_s=since_s)
            self._polled_s += used_s(before.polling, groups.polling, since_s=since_s)
            if kernel_seen:
                self._foreign_s += used_s(before.foreign, groups.foreign, since_s=since_s)
            else:
                # Others may run where we cannot see them.  Interrupts are the kernel's own work, for us or for them.
                spent_s = times.used_s - used_before_s
                self._foreign_s += max(spent_s - used_s(before.ours, groups.ours, since_s=since_s), 0.0)
            name, name_s = busiest(before.foreign, groups.foreign, since_s=since_s)
        self._last = booted_s, groups, times.used_s
        quota = throttled(self._proc)
        return Reading(
            t_ns=now_ns,
            cores=usable_cores(),
            processors=times.processors,
            busy_s=times.used_s + times.interrupts_s - self._polled_s,
            foreign_s=self._foreign_s,
            trial_s=self._trial_s,
            busiest=name,
            busiest_s=name_s,
            kernel_seen=kernel_seen,
            steal_s=times.steal_s,
            io_stalled_s=io_stalled_s(self._proc),
            throttled_periods=quota.periods if isinstance(quota, Throttled) else None,
            throttled_s=quota.seconds if isinstance(quota, Throttled) else 0.0,
            unread="" if isinstance(quota, Throttled) else quota,
        )


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """All processors together, cumulative.  used_s: by processes and kernel threads.  interrupts_s: hard and soft."""

    processors: int
    used_s: float
    interrupts_s: float
    steal_s: float | None


def cpu_times(proc: Path = PROC) -> CpuTimes:
    """What /proc/stat says; guests' time is part of their process's.  steal is None on kernels that have no column."""
    lines = [line.split() for line in (proc / "stat").read_text().splitlines() if line.startswith("cpu")]
    user, nice, system, _, _, irq, softirq, *more = (int(one) / TICKS for one in lines[0][1:])
    return CpuTimes(
        processors=len(lines) - 1,
        used_s=user + nice + system,
        interrupts_s=irq + softirq,
        steal_s=more[0] if more else None,
    )


def io_stalled_s(proc: Path = PROC) -> float | None:
    """For how long at least one task has waited for a disk; None where the kernel does not count it (PSI)."""
    with suppress(OSError, ValueError):
        some = read(f"{proc}/pressure/io").splitlines()[0]
        return int(some.rpartition("total=")[2]) / 1e6
    return None


@contextmanager
def watching(ours: Callable[[], Ours], tell: Callable[[Reading], None]) -> Iterator[Callable[[], None]]:
    """Tell a reading at once, and then twice a second, while the context lasts; tell may end it by OSError.

    The context gives what takes one out of turn.
    """
    watch, wanted = Watch(ours), SimpleQueue[bool]()

    def work() -> None:
        pause = 0.0
        with suppress(OSError, ValueError):  # without /proc nothing is recorded, and the trial says so
            while _goes_on(wanted, pause):
                began = time.thread_time()
                tell(watch.take())
                pause = max(INTERVAL_S, (time.thread_time() - began) / _MOST_OF_A_CORE)

    thread = threading.Thread(target=work, name="machinewatch", daemon=True)
    thread.start()
    try:
        yield lambda: wanted.put(True)
    finally:
        wanted.put(False)
        thread.join()


def _goes_on(wanted: SimpleQueue[bool], pause_s: float) -> bool:
    with suppress(Empty):
        return wanted.get(timeout=pause_s)
    return True
