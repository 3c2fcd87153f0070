"""Which kernel this process runs on: the machine's own, or the embedded lab kernel."""

from __future__ import annotations

import os
from typing import Literal

KernelName = Literal["host", "lab"]
MARK = "AIRWIRE_KERNEL"  # set by the lab kernel in all of its processes

# What each can shape, bit/s.  host: htb delivered 99.96 % of 300 Mbit/s and 100.4 % of 1 Gbit/s.  lab: 50 Mbit/s is
# where one core still keeps up (`python benchmarks/emulation_accuracy.py`).
CEILING: dict[KernelName, float] = {"host": 1e9, "lab": 50e6}
# A token bucket must hold what arrives in it while its timer is late: on the host tens of microseconds; the lab
# kernel is a process that others interrupt.  At a gigabit the host's own jitter counts.  No more than that:
# what a shared medium has saved up while idle is air for one direction beside the other's.  A frame longer than the
# bucket borrows.
_BURST_SECONDS: dict[KernelName, float] = {"host": 0.001, "lab": 0.005}
_FAST, _FAST_BURST_SECONDS = 300e6, 0.004


def current() -> KernelName:
    """The kernel that this process runs on."""
    return "lab" if os.environ.get(MARK) == "lab" else "host"


def burst_bytes(rate: float) -> int:
    """What may pass at once after a pause, so that a rate (bit/s) is kept on this kernel."""
    seconds = _FAST_BURST_SECONDS if rate > _FAST else _BURST_SECONDS[current()]
    return int(rate / 8 * seconds)
