"""Real-time priority for observers: they must not wait in one queue with hundreds of a broker's threads.

Niceness is not enough: benchmarks/observer_lateness.py tells how late a sleeper wakes in each class.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from records import no_gc

_LOWEST = os.sched_param(1)


@contextmanager
def ahead(processes: Iterable[int]) -> Iterator[None]:
    """All threads of this process, those that they start, and these processes go first while the context lasts.

    A process that is started meanwhile inherits it: start servers and clients before.  Where it is not allowed
    (CAP_SYS_NICE) nobody goes first.

    This process's garbage collector is off meanwhile: in the lab kernel a collection would take its only core from
    everybody else.
    """
    changed = []
    with no_gc.paused():
        for one in (*_threads(), *processes):
            with suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(one, os.SCHED_RR, _LOWEST)
                changed.append(one)
        try:
            yield
        finally:
            for one in {*changed, *_threads()}:
                with suppress(PermissionError, ProcessLookupError):
                    os.sched_setscheduler(one, os.SCHED_OTHER, os.sched_param(0))


def _threads() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/task")]
