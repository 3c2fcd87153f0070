"""The line's loop: frames in, decisions in virtual time, frames out when they are due."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from emulation.kernel.namespace import KernelError
from emulation.kernel.system import tap_name
from emulation.line.air import NEVER
from emulation.line.alarm import Alarm
from emulation.line.lateness import Buckets
from emulation.line.layout import Line
from emulation.profile.direction import FULL_FRAME
from emulation.profile.timeline import Step

_MOST = 65_600  # of a frame, were it ever so large
_TAGS, _TAG = (b"\x81\x00", b"\x88\xa8"), 4  # of a VLAN (IEEE 802.1Q): it comes on top of the MTU
_BATCH = 32  # frames from one port before what is due elsewhere
_SECOND = 1_000_000_000
# Two hundred a second: of a window of ten, 0.1 % of the time are two.
_BEAT_NS = 5_000_000


@dataclass(slots=True)
class Tally:
    """late: frames given out, by lateness.  beats: the same of beats (see Lateness).

    read: frames that came, by port.  refused: those that a port did not take.  too_large: those above the MTU; the
    largest had `largest` bytes.
    """

    read: list[int]
    late: Buckets = field(default_factory=Buckets)
    beats: Buckets = field(default_factory=Buckets)
    refused: int = 0
    too_large: int = 0
    largest: int = 0
    wakes: int = 0
    played: list[tuple[int, int]] = field(default_factory=list)


class Loop:
    """handles: a descriptor of every port, the wired one first.  control: a descriptor to be told when readable."""

    def __init__(self, line: Line, handles: Sequence[int], control: int, told: Callable[[], bool]) -> None:
        self._line, self._handles, self._control, self._told = line, handles, control, told
        self._steps: Sequence[Step] = ()
        self._start_ns = self._next = 0
        self._step_ns = NEVER  # when the next step is due
        self._ports = {handle: port for port, handle in enumerate(handles)}
        self._unread: dict[int, int] = {}
        self.tally = Tally(read=[0] * len(handles))

    def start(self, start_ns: int) -> None:
        """Play the plan's timeline from a moment (ns) on."""
        self._steps, self._start_ns, self._next = self._line.plan.steps, start_ns, 0
        self._step_ns = self._step_due()

    def drain(self) -> None:
        """Take in all that has come by now."""
        for port, handle in enumerate(self._handles):
            while self._read(handle, port):
                pass

    def run(self) -> None:
        """Until `told`, called whenever `control` is readable, says False."""
        now, medium, ports = time.monotonic_ns, self._line.medium, self._ports
        with closing(Alarm((*self._handles, self._control), now())) as alarm:
            beat = now() + _BEAT_NS
            while True:
                due = medium.due()
                events = alarm.wait(self._step_ns if self._step_ns < due else due, beat)
                woke_ns = alarm.woke_ns
                for handle, _ in events:
                    if handle in ports:
                        self._read(handle, ports[handle], woke_ns)
                        if medium.due() <= now():
                            self._give_out()
                    elif handle == self._control and not self._told():
                        return
                    woke_ns = 0
                moment, self.tally.wakes = now(), alarm.wakes
                if beat <= moment:
                    beat = self._beat(beat, moment)
                self._give_out()

    def _read(self, handle: int, port: int, woke_ns: int = 0) -> bool:
        """Take a batch in; whether there may be more.  KernelError when the port's device has gone.

        woke_ns: when the line woke up for this port, 0 = it did not.  The first frame had come by then; from there to
        its being read it can be 50 us.
        """
        now, read, arrive, tally = time.monotonic_ns, os.read, self._line.medium.arrive, self.tally
        count, moment = 0, NEVER
        try:
            for count in range(_BATCH):  # noqa: B007 - how many had come before there were no more
                data = read(handle, _MOST)
                moment, woke_ns = woke_ns or now(), 0
                if len(data) > FULL_FRAME and (data[12:14] not in _TAGS or len(data) > FULL_FRAME + _TAG):
                    tally.too_large += 1
                    tally.largest = max(tally.largest, len(data))
                    continue
                if moment >= self._step_ns:
                    self._play(moment)
                arrive(moment, port, data)
            count = _BATCH
        except BlockingIOError:
            self._unread.pop(port, None)
            return False
        except OSError as error:
            raise KernelError(f"{tap_name(port)}, a device of the line, has gone ({error.strerror})") from None
        finally:
            tally.read[port] += count
        self._unread.setdefault(port, moment)
        return True

    def _beat(self, beat: int, moment: int) -> int:
        """Note every beat that is due by now, and give the next one.

        It is late by its own lateness, or by how long a port has not been read to its end, if that is longer.
        """
        since = min(self._unread.values(), default=NEVER)
        while beat <= moment:
            self.tally.beats.note(moment - min(beat, since))
            beat += _BEAT_NS
        return beat

    def _give_out(self) -> None:
        now, write, handles, medium = time.monotonic_ns, os.write, self._handles, self._line.medium
        note = self.tally.late.note
        moment = now()
        self._play(moment)
        medium.advance(moment)
        for due, port, data in medium.come_out(moment):
            try:
                write(handles[port], data)
            except OSError:
                self.tally.refused += 1
            note(now() - due)

    def _step_due(self) -> int:
        if self._next >= len(self._steps):
            return NEVER
        return self._start_ns + round(self._steps[self._next].at_s * _SECOND)

    def _play(self, moment: int) -> None:
        """Put the steps in force that are due, each at its moment in virtual time."""
        while self._step_ns <= moment:
            self._line.enter(self._step_ns, self._steps[self._next].state)
            self.tally.played.append((self._next, time.monotonic_ns()))
            self._next += 1
            self._step_ns = self._step_due()
