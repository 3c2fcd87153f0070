"""Keeps the processor of the line's process from halting: what `idle=poll` does in a kernel, done by a process.

A virtual machine's idle processor halts, and its timers then go off when the hypervisor gets to it: a sleeper of a
real-time class woke up to 2.4 ms late, and at most 0.21 ms late with this process beside it (docs/line.md; `python
benchmarks/line.py --only halting`).  Requests to /dev/cpu_dma_latency are heard by the kernel's cpuidle drivers only,
and guests often have none.  A process of the idle class runs when nothing else of its session wants the processor, and
its session has the least share among others.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# How whoever counts processor time tells it from work; a command's name has 15 bytes at most.
COMMAND = "line-idlepoll"
_DRIVER = Path("/sys/devices/system/cpu/cpuidle/current_driver")
_LOOK_NS = 1_000_000
_STATE, _PROCESSOR = 0, 36  # of /proc/PID/stat, counted from behind the command (proc_pid_stat(5))


def drivers_sleep(driver: Path = _DRIVER) -> bool:
    """Whether a driver puts idle processors to sleep here, and so hears who asks it not to."""
    with suppress(OSError):
        return driver.read_text().strip() not in ("", "none")
    return False


def started(pid: int) -> subprocess.Popen[bytes]:
    """Keep the processor awake on which a process runs, until that has ended, or this thread."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", sys.executable, "-I", "-S", __file__, str(pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # The kernel makes a group of a session, whose share is its own: for other sessions' processes the class of one
        # in it means nothing (sched(7), autogroups).
        start_new_session=True,
    )


@contextmanager
def beside(pid: int) -> Iterator[int]:
    """The same while the context lasts; gives the process that does it."""
    with started(pid) as polling:
        try:
            yield polling.pid
        finally:
            polling.kill()


def follow(pid: int) -> None:
    """Be busy wherever a process ran last, as long as that lives."""
    Path("/proc/self/comm").write_text(COMMAND)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with suppress(OSError):  # a kernel without autogroups
        Path("/proc/self/autogroup").write_text("19")
    here = -1
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
        while (fields := os.pread(stat.fileno(), 1024, 0).rpartition(b")")[2].split())[_STATE] not in (b"Z", b"X"):
            if (there := int(fields[_PROCESSOR])) != here:
                here = there
                os.sched_setaffinity(0, {here})
            until = time.monotonic_ns() + _LOOK_NS
            while time.monotonic_ns() < until:
                pass


if __name__ == "__main__":
    follow(int(sys.argv[1]))
