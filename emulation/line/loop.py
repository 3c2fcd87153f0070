"""The line's loop: frames in, decisions in virtual time, frames out when they are due; of all links together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
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
    """What has happened at a link's ports.

    read: frames that came, by port.  refused: those that a port did not take.  too_large: those above the MTU; the
    largest had `largest` bytes.  played: steps of the timeline that are in force, and when (ns).
    """

    read: list[int]
    refused: int = 0
    too_large: int = 0
    largest: int = 0
    played: list[tuple[int, int]] = field(default_factory=list)


class Carried:
    """A link that the loop carries.  handles: a descriptor of every port, the wired one first.  place: in the loop."""

    __slots__ = ("_next", "_start_ns", "_steps", "handles", "line", "name", "place", "step_ns", "tally")

    def __init__(self, name: str, line: Line, handles: Sequence[int]) -> None:
        self.name, self.line, self.handles = name, line, handles
        self.place = -1
        self.tally = Tally(read=[0] * len(handles))
        self._steps: Sequence[Step] = ()
        self._start_ns = self._next = 0
        self.step_ns = NEVER  # when the next step is due

    def start(self, start_ns: int) -> None:
        """Play the plan's timeline from a moment (ns) on."""
        self._steps, self._start_ns, self._next = self.line.plan.steps, start_ns, 0
        self.step_ns = self._step_due()

    def due(self) -> int:
        """When something is to be done next; NEVER when nothing is before another frame arrives."""
        due = self.line.medium.due()
        return self.step_ns if self.step_ns < due else due

    def play(self, moment: int, now: Callable[[], int]) -> None:
        """Put the steps in force that are due, each at its moment in virtual time."""
        while self.step_ns <= moment:
            self.line.enter(self.step_ns, self._steps[self._next].state)
            self.tally.played.append((self._next, now()))
            self._next += 1
            self.step_ns = self._step_due()

    def _step_due(self) -> int:
        if self._next >= len(self._steps):
            return NEVER
        return self._start_ns + round(self._steps[self._next].at_s * _SECOND)


class Loop:
    """Carries any number of links.  control: a descriptor to be told when readable.  now: the clock, ns.

    late: frames given out, by lateness.  beats: the same of beats (see Lateness).  wakes: how often it slept.
    """

    def __init__(
        self, alarm: Alarm, control: int, told: Callable[[], bool], now: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._alarm, self._control, self._told, self._now = alarm, control, told, now
        self._links: list[Carried] = []
        # Of each link when it is due, and of none: as links come to hundreds, a frame asks its own link only.
        self._dues = [NEVER]
        self._ports: dict[int, tuple[Carried, int]] = {}
        self._unread: dict[int, int] = {}
        self.late, self.beats = Buckets(), Buckets()

    @property
    def wakes(self) -> int:
        """How often it slept."""
        return self._alarm.wakes

    def add(self, link: Carried) -> None:
        """Carry one more link from now on."""
        for port, handle in enumerate(link.handles):
            self._alarm.watch(handle)
            self._ports[handle] = link, port
        self._placed([*self._links, link])

    def remove(self, link: Carried) -> None:
        """Carry a link no longer; what waits in it is lost."""
        for handle in link.handles:
            self._alarm.forget(handle)
            del self._ports[handle]
            self._unread.pop(handle, None)
        self._placed([one for one in self._links if one is not link])

    def drain(self, link: Carried) -> None:
        """Take in all that has come to a link by now."""
        for handle in link.handles:
            while self._read(handle):
                pass

    def run(self) -> None:
        """Until `told`, called whenever `control` is readable, says False."""
        now, wait, ports = self._now, self._alarm.wait, self._ports
        beat = now() + _BEAT_NS
        while True:
            events = wait(min(self._dues), beat)
            woke_ns = self._alarm.woke_ns
            for handle, _ in events:
                if handle in ports:
                    self._read(handle, woke_ns)
                    if min(self._dues) <= now():
                        self._give_out()
                elif handle == self._control:
                    if not self._told():
                        return
                    self._placed(self._links)  # whatever it has done to them
                woke_ns = 0
            moment = now()
            if beat <= moment:
                beat = self._beat(beat, moment)
            self._give_out()

    def _placed(self, links: list[Carried]) -> None:
        self._links = links
        for place, link in enumerate(links):
            link.place = place
        self._dues = [*(link.due() for link in links), NEVER]

    def _read(self, handle: int, woke_ns: int = 0) -> bool:
        """Take a batch in; whether there may be more.  KernelError when the port's device has gone.

        woke_ns: when the line woke up for this port, 0 = it did not.  The first frame had come by then; from there to
        its being read it can be 50 us.
        """
        link, port = self._ports[handle]
        now, read, arrive, tally = self._now, os.read, link.line.medium.arrive, link.tally
        count, moment = 0, NEVER
        try:
            for count in range(_BATCH):  # noqa: B007 - how many had come before there were no more
                data = read(handle, _MOST)
                moment, woke_ns = woke_ns or now(), 0
                if len(data) > FULL_FRAME and (data[12:14] not in _TAGS or len(data) > FULL_FRAME + _TAG):
                    tally.too_large += 1
                    tally.largest = max(tally.largest, len(data))
                    continue
                if moment >= link.step_ns:
                    link.play(moment, now)
                arrive(moment, port, data)
            count = _BATCH
        except BlockingIOError:
            self._unread.pop(handle, None)
            return False
        except OSError as error:
            raise KernelError(
                f"{tap_name(port)}, a device of the line at {link.name}, has gone ({error.strerror})"
            ) from None
        finally:
            tally.read[port] += count
            self._dues[link.place] = link.due()
        self._unread.setdefault(handle, moment)
        return True

    def _beat(self, beat: int, moment: int) -> int:
        """Note every beat that is due by now, and give the next one.

        It is late by its own lateness, or by how long a port has not been read to its end, if that is longer.
        """
        since = min(self._unread.values(), default=NEVER)
        while beat <= moment:
            self.beats.note(moment - min(beat, since))
            beat += _BEAT_NS
        return beat

    def _give_out(self) -> None:
        now, write, note, dues = self._now, os.write, self.late.note, self._dues
        moment = now()
        for link in self._links:
            if dues[link.place] > moment:
                continue
            handles, medium = link.handles, link.line.medium
            link.play(moment, now)
            medium.advance(moment)
            for due, port, data in medium.come_out(moment):
                try:
                    write(handles[port], data)
                except OSError:
                    link.tally.refused += 1
                note(now() - due)
            dues[link.place] = link.due()
