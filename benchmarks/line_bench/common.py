"""What the measurements of the line share: a way of making a link, other work on the processors, devices' counters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import psutil
from accuracy.bench import Line

from emulation.kernel.namespace import in_namespace
from emulation.profile.media import MediumName
from topologies.network import Network

# line, tc: on the machine's own kernel.  lab: tc with netem, in the lab kernel.
Way = Literal["line", "tc", "lab"]
WAYS: tuple[Way, ...] = ("line", "tc", "lab")
Part = Callable[[], Iterable[Line]]
_PROCESS = "emulation.line.process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something to measure.  ways: that can do it.

    run: gives parts, each of which can be measured again; its last argument: be quick.
    """

    name: str
    ways: tuple[Way, ...]
    run: Callable[[Network, MediumName, bool], Iterator[Part]]


def bounded(  # noqa: PLR0917 - as the columns are
    made_by: MediumName, what: str, unit: str, delivered: float, low: float, high: float, note: str = ""
) -> Line:
    """A line of the table whose bound is the line's alone: what tc does is told."""
    mine = made_by == "line"
    return Line(what=what, unit=unit, asked=0, delivered=delivered, low=low if mine else None,
                high=high if mine else None, note=note)  # fmt: skip


def told(what: str, unit: str, delivered: float, note: str = "") -> Line:
    """A line without a bound."""
    return Line(what=what, unit=unit, asked=None, delivered=delivered, low=None, high=None, note=note)


@contextmanager
def busy_loops() -> Iterator[None]:
    """An endless loop of ordinary priority on each processor."""
    with ExitStack() as stack:
        for core in sorted(os.sched_getaffinity(0)):
            words = ["taskset", "-c", str(core), "chrt", "--other", "0", sys.executable, "-c", "while True: pass"]
            one = subprocess.Popen(words)
            stack.callback(one.wait)
            stack.callback(one.kill)
        yield


def line_process() -> psutil.Process:
    """The line's process that this one has started; LookupError where it has started none."""
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if _PROCESS in one.cmdline():
                return one
    raise LookupError(f"no process below this one runs {_PROCESS}")


def processor_s(process: psutil.Process) -> np.ndarray:
    """Processor time that it has used: in its own code, and in the kernel's."""
    used = process.cpu_times()
    return np.array([used.user, used.system])


@dataclass(frozen=True, slots=True)
class Device:
    """Counters of an interface: packets that it received and that it was to send, and those of each it dropped."""

    received: int
    sent: int
    receive_dropped: int
    send_dropped: int


def devices(pid: int) -> dict[str, Device]:
    """Counters of all interfaces in a process's namespace."""
    text = in_namespace(pid, Path("/proc/thread-self/net/dev").read_text)
    found = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        values = [int(one) for one in numbers.split()]
        found[name.strip()] = Device(values[1], values[9], values[3], values[11])
    return found


def dropped(before: dict[str, Device], after: dict[str, Device]) -> int:
    """Packets that the devices of a namespace have dropped between two readings."""
    return sum(
        one.receive_dropped + one.send_dropped - before[name].receive_dropped - before[name].send_dropped
        for name, one in after.items()
    )
