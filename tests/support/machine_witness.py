"""How late the machine lets a process of a real-time class be: no such process can be better."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_BEAT_NS = 1_000_000
_PRIORITY = 11  # one above the line's, whose work is therefore no lateness of the witness


class Witness:
    """worst_s: the longest that a sleeper on any processor was late, in seconds; known when the witness has ended."""

    worst_s = 0.0


@contextmanager
def witness() -> Iterator[Witness]:
    """A sleeper on each processor, in a real-time class, as long as the block lasts."""
    seen = Witness()
    with ExitStack() as stack:
        sleepers = []
        for core in sorted(os.sched_getaffinity(0)):
            sleeper = subprocess.Popen(
                [sys.executable, __file__, str(core)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            stack.callback(sleeper.wait)
            stack.callback(sleeper.kill)
            sleepers.append(sleeper)
        yield seen
        seen.worst_s = max(int(sleeper.communicate(timeout=60)[0]) for sleeper in sleepers) / 1e9


def _sleep(core: int) -> int:
    """Sleep from beat to beat until standard input ends; the longest lateness in nanoseconds."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    os.set_blocking(sys.stdin.fileno(), False)
    worst_ns, due_ns = 0, time.monotonic_ns()
    while True:
        due_ns += _BEAT_NS
        time.sleep(max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
        worst_ns = max(worst_ns, time.monotonic_ns() - due_ns)
        due_ns = max(due_ns, time.monotonic_ns() - _BEAT_NS)
        try:
            if not os.read(sys.stdin.fileno(), 1):
                return worst_ns
        except BlockingIOError:
            pass


if __name__ == "__main__":
    print(_sleep(int(sys.argv[1])))
