"""Standing in for a command that runs in a lab kernel: its streams, its signals, its exit status."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import ExitStack, suppress

from emulation.labkernel import streams
from emulation.labkernel.frames import CREDIT, GO, LINE_WINDOW_BYTES, NUMBER, SIZE, Decoder, Ends, Kind, encode
from emulation.labkernel.installed import LabKernelError
from emulation.labkernel.machine import Machine
from emulation.labkernel.signals import ENDING, Ended, Signals

TIMED_OUT = 124
BOOT_LIMIT_S = 60.0
GRACE_S = 15.0
_MOMENT_S = 1.0  # how soon we see that our terminal's foreground is ours


class Proxy:
    """Carries one command's streams and signals between us and a machine."""

    def __init__(self, machine: Machine, signals: Signals, *, ends: Ends, timeout_s: float | None) -> None:
        self._machine, self._signals, self._ends, self._timeout_s = machine, signals, ends, timeout_s
        self._streams, self._decoder = streams.Streams(), Decoder()
        self._terminal = ExitStack()
        self._to_guest, self._under_way = b"", 0
        self._running, self._line_open = False, True
        self._status: int | None = None
        self._asked: int | None = None
        self._deadline: float | None = time.monotonic() + BOOT_LIMIT_S
        self.forced = False  # whether the command has been asked to end, and has not

    def run(self) -> int:
        """Run the command to its end: its exit status, 128+n when signal n ended it, TIMED_OUT when its time was up.

        LabKernelError when the machine fails; Ended when a signal asks for the end before the command has started.
        """
        with self._terminal:
            while self._status is None or not self._streams.flushed:
                self._step()
                if not self._line_open and self._status is None and self._streams.flushed:
                    raise LabKernelError(f"the lab kernel has ended by itself: {self._machine.why()}")
                if self._deadline is not None and time.monotonic() > self._deadline and self._is_over():
                    break
        if self._asked == TIMED_OUT:
            return TIMED_OUT
        return 128 + (self._asked or 0) if self._status is None else self._status

    def _step(self) -> None:
        """Wait for something to happen, and deal with it."""
        masks = self._streams.wanted() | {self._signals.arrived: select.POLLIN}
        if self._line_open:
            masks[self._machine.back] = select.POLLIN
        poll = select.poll()
        for one, mask in masks.items():
            poll.register(one, mask)
        left_s = _MOMENT_S if self._deadline is None else self._deadline - time.monotonic()
        ready = dict(poll.poll(max(0.0, min(left_s, _MOMENT_S)) * 1000))
        self._to_guest += self._streams.serve(ready)
        if self._machine.back in ready:
            self._hear()
        for number in self._signals.take():
            self._pass_on(number)
        self._send()

    def _hear(self) -> None:
        data = os.read(self._machine.back, 65536)
        self._line_open = bool(data)
        for kind, payload in self._decoder.feed(data):
            if kind in (Kind.STDOUT, Kind.STDERR):
                self._streams.put(kind, payload)
            elif kind is Kind.CREDIT:
                self._streams.credit(CREDIT.unpack(payload)[1])
            elif kind is Kind.CLOSED:
                self._streams.stop_typing()
            elif kind is Kind.TAKEN:
                self._under_way -= NUMBER.unpack(payload)[0]
            elif kind is Kind.READY:
                self._go()
            elif kind is Kind.EXIT:
                self._status = NUMBER.unpack(payload)[0]

    def _go(self) -> None:
        if self._ends is not Ends.PIPES:
            self._terminal.enter_context(streams.raw())
        self._to_guest += encode(Kind.GO, GO.pack(time.time_ns(), *streams.size()))
        self._streams.start_typing()
        self._running = True
        self._deadline = None if self._timeout_s is None else time.monotonic() + self._timeout_s

    def _pass_on(self, number: int) -> None:
        if number == signal.SIGWINCH:
            if self._running and self._ends is not Ends.PIPES:
                self._to_guest += encode(Kind.SIZE, SIZE.pack(*streams.size()))
        elif number in ENDING:
            if not self._running:
                raise Ended(number)
            self._to_guest += encode(Kind.SIGNAL, NUMBER.pack(number))
            if self._asked is None:
                self._asked, self._deadline = number, time.monotonic() + GRACE_S

    def _is_over(self) -> bool:
        """At the deadline: whether to end the machine now.  A command whose time is up is asked to end first."""
        if not self._running:
            raise LabKernelError(f"the lab kernel has not booted within {BOOT_LIMIT_S:.0f} s: {self._machine.why()}")
        if self._asked is not None:
            self.forced = self._status is None
            return True
        self._to_guest += encode(Kind.SIGNAL, NUMBER.pack(signal.SIGTERM))
        self._asked, self._deadline = TIMED_OUT, time.monotonic() + GRACE_S
        return False

    def _send(self) -> None:
        """Send what the guest has room for.  Less than a pipe takes, so this never waits."""
        room = LINE_WINDOW_BYTES - self._under_way
        if self._to_guest and room > 0:
            with suppress(BrokenPipeError):  # the machine has ended, as we shall read
                self._under_way += os.write(self._machine.to, self._to_guest[:room])
            self._to_guest = self._to_guest[room:]
