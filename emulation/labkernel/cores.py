"""One lab kernel per core: two on one core would falsify each other's experiments."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulation.labkernel.installed import LabKernelError

HELD = "other lab kernels have had core"  # how the message begins when a core did not become free in time
_NAME = "airwire-lab-kernel"
_PATIENCE_S = 2.0
_POLL_S = 0.1


def goes_first(core: int) -> bool:
    """Whether a lab kernel goes before all else on its core: the first core of this process stays everybody's."""
    return core != min(os.sched_getaffinity(0))


@contextmanager
def one_core(
    wanted: int | None, *, wait_s: float, pause: Callable[[float], None], say: Callable[[str], None]
) -> Iterator[tuple[int, int]]:
    """Hold one core of this machine (wanted, or any), as its number and the lock's descriptor.

    A lock is an abstract socket name: free again when its last holder dies, children that were forked included, and
    never a file.  wait_s: how long to wait when all are held; LabKernelError after that.  pause: sleeps, and may
    raise to give up.  say: is told once when waiting takes long.
    """
    mine = sorted(os.sched_getaffinity(0))
    if wanted is not None and wanted not in mine:
        raise LabKernelError(f"there is no core {wanted} for this process: it has {_list(mine)}")
    choice = mine[::-1] if wanted is None else [wanted]
    began, said = time.monotonic(), False
    while True:
        for core in choice:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
                try:
                    lock.bind(f"\0{_NAME}-{core}")
                except OSError:
                    continue
                yield core, lock.fileno()
                return
        waited = time.monotonic() - began
        if waited >= wait_s:
            raise LabKernelError(
                f"{HELD} {_list(choice)} for {waited:.0f} s: wait for one to end, or wait longer (--wait)"
            )
        if waited >= min(_PATIENCE_S, wait_s) and not said:
            say(f"waiting for another lab kernel to leave core {_list(choice)}")
            said = True
        pause(min(_POLL_S, wait_s))


def _list(cores: list[int]) -> str:
    return ", ".join(map(str, cores))
