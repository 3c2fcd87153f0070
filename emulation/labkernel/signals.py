"""Signals as something to wait for beside other things."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(Exception):
    """A signal that asks for the end arrived while nothing could be told to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """Signals that have arrived; `arrived` is readable when there are some."""

    def __init__(self, arrived: int) -> None:
        self.arrived = arrived

    def take(self) -> list[int]:
        """The numbers of those that have arrived, without waiting."""
        try:
            return list(os.read(self.arrived, 512))
        except BlockingIOError:
            return []

    def pause(self, seconds: float) -> None:
        """Sleep; raises Ended when one arrives that asks for the end."""
        select.select([self.arrived], [], [], seconds)
        for number in self.take():
            if number in ENDING:
                raise Ended(number)


@contextmanager
def caught() -> Iterator[Signals]:
    """Catch those that ask for the end, and changes of the terminal's size, while the context lasts."""

    def note(number: int, frame: FrameType | None) -> None:
        """Its number has been written to the pipe already."""

    arrived, note_in = os.pipe()
    for one in (arrived, note_in):
        os.set_blocking(one, False)
    before = {number: signal.signal(number, note) for number in (*ENDING, signal.SIGWINCH)}
    signal.set_wakeup_fd(note_in, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # whoever has started us may let them wait
    try:
        yield Signals(arrived)
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(arrived)
        os.close(note_in)
