"""The line's sleep: until a frame comes or something is due, and awake a little before that."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable

from emulation.kernel.system import Timer
from emulation.line.pace import Pace

Events = list[tuple[int, int]]


class Alarm:
    """Waits for descriptors (handles) and moments.  now_ns: when it begins.

    wakes: how often it slept.  woke_ns: when the last wait ended, 0 where it was none, or blind.
    """

    def __init__(self, handles: Iterable[int], now_ns: int) -> None:
        self._timer, self._poll, self._pace = Timer(), select.epoll(), Pace(now_ns)
        for handle in handles:
            self.watch(handle)
        # Reported once each time it goes off, as nobody reads it.
        self._poll.register(self._timer.fd, select.EPOLLIN | select.EPOLLET)
        self.wakes = self.woke_ns = 0

    def watch(self, handle: int) -> None:
        """Wait for one more descriptor."""
        self._poll.register(handle, select.EPOLLIN)

    def forget(self, handle: int) -> None:
        """Wait for a descriptor no longer."""
        self._poll.unregister(handle)

    def wait(self, due_ns: int, beat_ns: int) -> Events:
        """Wait until a descriptor is readable or one of two moments has come; the descriptors that are readable.

        At `due_ns` it is awake already, if it has not been too often.
        """
        now, poll, pace = time.monotonic_ns, self._poll.poll, self._pace
        moment = now()
        self.woke_ns = 0
        if due_ns <= moment or beat_ns <= moment:
            return poll(0)
        early_ns = pace.early_ns(moment)
        if due_ns - moment <= early_ns:
            while not (events := poll(0)) and now() < due_ns:
                pass
            self.woke_ns = now()
            pace.spun(self.woke_ns - moment)
            return events
        self.wakes += 1
        if pause_ns := pace.pause_ns(moment):  # woken too often: sleep blindly, then take all at once
            time.sleep(pause_ns / 1e9)
            return poll(0)
        self._timer.set(min(due_ns - early_ns, beat_ns))
        events = poll()
        self.woke_ns = now()
        return events

    def close(self) -> None:
        """Give its descriptors back."""
        os.close(self._timer.fd)
        self._poll.close()
