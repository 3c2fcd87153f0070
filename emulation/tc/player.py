"""Playing a timeline: each change of the link at its time, and a record of when it really came."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pyroute2 import IPRoute

from emulation.kernel.namespace import enter
from emulation.kernel.netlink import Netlink
from emulation.profile.timeline import Step
from emulation.tc.shaper import AppliedLink
from records import no_gc

_WAKE_EARLY_S = 0.001  # a sleeper wakes 0.1 ms late in the mean and 1 ms at worst (p99) on a quiet machine
_NAP_S = 0.0001
# How long a thread of this process may keep the others from running Python: its usual 5 ms would make changes late.
_SWITCH_S = 0.0005
# Above the class of those that watch (experiments.trial.observers.priority), captures included.
_PRIORITY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A change of the link.  t_ns: CLOCK_MONOTONIC when it was in force; due_ns: when it should have been."""

    label: str
    at_s: float
    due_ns: int
    t_ns: int

    @property
    def late_s(self) -> float:
        """How late it was."""
        return (self.t_ns - self.due_ns) / 1e9


class Player:
    """Plays the steps of a link's plan in a thread of its own."""

    def __init__(self, link: AppliedLink) -> None:
        self._link = link
        self._start = threading.Event()
        self._stop = threading.Event()
        self._start_ns = 0
        self._error: BaseException | None = None
        self.played: list[Played] = []

    def start(self, start_ns: int) -> None:
        """Begin; `start_ns` (CLOCK_MONOTONIC) is moment 0 of the timeline."""
        self._start_ns = start_ns
        self._start.set()

    def run(self) -> None:
        """The thread: enter the access point's namespace, wait for `start`, play."""
        try:
            _first_in_line()
            enter(self._link.ports.pid)
            with IPRoute() as ip:
                indices = self._link.indices(ip)
            with Netlink() as netlink:
                self._play(netlink, indices)
        except BaseException as error:  # noqa: BLE001 - told to whoever ends the context
            self._error = error

    def _play(self, netlink: Netlink, indices: Mapping[str, int]) -> None:
        link = self._link
        last = link.state

        def ready(step: Step) -> Callable[[], None]:
            nonlocal last
            move = link.prepare(indices, last, step.state)
            last = step.state
            return lambda: link.move(netlink, move)

        self._start.wait()
        play(link.plan.steps, self._start_ns, ready, self)

    def stop(self) -> None:
        """End the thread after the step that it is at."""
        self._stop.set()
        self._start.set()

    def until(self, due_ns: int) -> bool:
        """Wait until a moment; False when told to stop instead."""
        while (left := (due_ns - time.monotonic_ns()) / 1e9) > _WAKE_EARLY_S:
            if self._stop.wait(left - _WAKE_EARLY_S):
                return False
        while time.monotonic_ns() < due_ns:
            time.sleep(_NAP_S)
        return not self._stop.is_set()

    def failed(self) -> BaseException | None:
        """What ended the playing, if something did."""
        return self._error


def play(steps: Sequence[Step], start_ns: int, ready: Callable[[Step], Callable[[], None]], player: Player) -> None:
    """Do each step at its time, as `ready` made it before that; one that is late does not delay the next's due time."""
    for step in steps:
        do = ready(step)
        due_ns = start_ns + round(step.at_s * 1e9)
        if not player.until(due_ns):
            return
        do()
        player.played.append(Played(label=step.label, at_s=step.at_s, due_ns=due_ns, t_ns=time.monotonic_ns()))


def _first_in_line() -> None:
    """Let this thread go before all that waits for a processor: on one core it would wait for several milliseconds."""
    with suppress(OSError):  # a container may not be allowed to
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


@contextmanager
def _switching(seconds: float) -> Iterator[None]:
    """Let this process's threads take turns at least that often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def playing(link: AppliedLink) -> Iterator[Player]:
    """Have a player ready for a link's timeline; raises what ended it too early, when the context ends."""
    player = Player(link)
    if not link.plan.steps:
        yield player
        return
    thread = threading.Thread(target=player.run, name="timeline", daemon=True)
    with no_gc.paused(), _switching(_SWITCH_S):
        thread.start()
        try:
            yield player
        finally:
            player.stop()
            thread.join()
    if error := player.failed():
        raise error
