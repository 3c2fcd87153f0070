"""CLOCK_MONOTONIC, and waking at a point of it.

Event loops round their timers to milliseconds, up or even down; on a fast link that would be most of an open
loop's latency.  A timerfd wakes within tens of microseconds.
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Protocol

_CLOCK_MONOTONIC = 1
_TFD_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
_TFD_TIMER_ABSTIME = 1
_NS = 1_000_000_000


class Clock(Protocol):
    """What pacing needs of time; a test brings its own."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC, nanoseconds."""

    async def sleep_until(self, t_ns: int) -> None:
        """Return at or after t_ns; always give the other tasks a turn."""


class _Timespec(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_int64), ("nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


class AlarmClock:
    """The real clock, on the running event loop; made by `alarm_clock`."""

    def __init__(self, timer: int) -> None:
        self._timer = timer
        self._loop = asyncio.get_running_loop()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._set_for: int | None = None

    now_ns = staticmethod(time.monotonic_ns)

    async def sleep_until(self, t_ns: int) -> None:
        """Return at or after t_ns; a time that has passed only gives the other tasks a turn."""
        if t_ns <= time.monotonic_ns():
            await asyncio.sleep(0)
            return
        wake = self._loop.create_future()
        heapq.heappush(self._sleepers, (t_ns, next(self._order), wake))
        self._set()
        await wake

    def ring(self) -> None:
        """The timer has expired: wake who is due."""
        try:
            os.read(self._timer, 8)
        except BlockingIOError:
            return
        self._set_for = None
        now = time.monotonic_ns()
        while self._sleepers and self._sleepers[0][0] <= now:
            wake = heapq.heappop(self._sleepers)[2]
            if not wake.done():
                wake.set_result(None)
        self._set()

    def _set(self) -> None:
        if not self._sleepers or self._sleepers[0][0] == self._set_for:
            return
        self._set_for = self._sleepers[0][0]
        at = _Itimerspec(value=_Timespec(self._set_for // _NS, self._set_for % _NS))
        result = _libc.timerfd_settime(self._timer, _TFD_TIMER_ABSTIME, ctypes.byref(at), None)
        _checked(result, "timerfd_settime")


@contextmanager
def alarm_clock() -> Iterator[AlarmClock]:
    """A clock that lives as long as the block, on the running loop."""
    loop = asyncio.get_running_loop()
    timer = _checked(_libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK_CLOEXEC), "timerfd_create")
    clock = AlarmClock(timer)
    loop.add_reader(timer, clock.ring)
    try:
        yield clock
    finally:
        loop.remove_reader(timer)
        os.close(timer)
