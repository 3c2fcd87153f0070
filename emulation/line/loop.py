"""The line's loop: frames in, decisions in virtual time, frames out when they are due."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from emulation.line.air import NEVER
from emulation.line.layout import Line
from emulation.line.system import Timer
from emulation.timeline import Step

_MOST = 65_600  # of a frame, were it ever so large
_BATCH = 32  # frames from one port before what is due elsewhere
# A wake-up costs 25 to 30 us: one for each frame would take a whole core near 60,000 a second.  So there is one in a
# quantum at most, after a credit of ten.
_QUANTUM_NS = 100_000
_CREDIT_NS = 10 * _QUANTUM_NS
_SECOND = 1_000_000_000
_TOO_LARGE = 1514


@dataclass(slots=True)
class Tally:
    """late_ns: of every frame that was given out since the last look, how late.  refused: frames that a port did not
    take.  too_large: frames above the MTU, which are dropped.  wakes: how often the loop slept.
    """

    late_ns: list[int] = field(default_factory=list)
    refused: int = 0
    too_large: int = 0
    read: int = 0
    wakes: int = 0
    played: list[tuple[int, int]] = field(default_factory=list)  # a step's number, when it was in force (ns)


class Loop:
    """handles: a descriptor of every port, the wired one first.  control: a descriptor to be told when readable."""

    def __init__(self, line: Line, handles: Sequence[int], control: int, told: Callable[[], bool]) -> None:
        self._line, self._handles, self._control, self._told = line, handles, control, told
        self._steps: Sequence[Step] = ()
        self._start_ns = NEVER
        self.tally = Tally()

    def start(self, start_ns: int) -> None:
        """Play the plan's timeline from a moment (ns) on."""
        self._steps, self._start_ns = self._line.plan.steps, start_ns
        self._next = 0

    def run(self) -> None:
        """Until `told`, called whenever `control` is readable, says False."""
        now, medium, tally = time.monotonic_ns, self._line.medium, self.tally
        timer, poll = Timer(), select.epoll()
        ports = {handle: port for port, handle in enumerate(self._handles)}
        for handle in (*self._handles, timer.fd, self._control):
            poll.register(handle, select.EPOLLIN)
        credit, counted = _CREDIT_NS, now()
        try:
            while True:
                due = min(medium.due(), self._step_due())
                moment = now()
                if due <= moment:
                    events = poll.poll(0)
                else:
                    credit = min(credit + moment - counted, _CREDIT_NS) - _QUANTUM_NS
                    counted = moment
                    if credit < 0:  # woken too often: sleep blindly, then take all at once
                        time.sleep(-credit / 1e9)
                        events = poll.poll(0)
                    else:
                        timer.set(min(due, NEVER))
                        events = poll.poll()
                    tally.wakes += 1
                for handle, _ in events:
                    if handle in ports:
                        self._read(handle, ports[handle])
                    elif handle == self._control and not self._told():
                        return
                self._play(now())
                self._give_out()
        finally:
            os.close(timer.fd)
            poll.close()

    def _read(self, handle: int, port: int) -> None:
        now, arrive, tally = time.monotonic_ns, self._line.medium.arrive, self.tally
        try:
            for _ in range(_BATCH):
                data = os.read(handle, _MOST)
                moment = now()
                tally.read += 1
                if len(data) > _TOO_LARGE:
                    tally.too_large += 1
                    continue
                if moment >= self._step_due():
                    self._play(moment)
                arrive(moment, port, data)
        except BlockingIOError:
            return

    def _give_out(self) -> None:
        now, medium, handles, late = time.monotonic_ns, self._line.medium, self._handles, self.tally.late_ns
        medium.advance(now())
        for due, port, data in medium.come_out(now()):
            try:
                os.write(handles[port], data)
            except OSError:
                self.tally.refused += 1
            late.append(now() - due)

    def _step_due(self) -> int:
        if self._start_ns == NEVER or self._next >= len(self._steps):
            return NEVER
        return self._start_ns + round(self._steps[self._next].at_s * _SECOND)

    def _play(self, moment: int) -> None:
        """Put the steps in force that are due, each at its moment in virtual time."""
        while (due := self._step_due()) <= moment:
            self._line.enter(due, self._steps[self._next].state)
            self.tally.played.append((self._next, time.monotonic_ns()))
            self._next += 1
