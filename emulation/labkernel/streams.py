"""The host's ends of a command's streams: our descriptors 0 to 2, read and written without ever blocking."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from emulation.labkernel.frames import CHUNK_BYTES, CREDIT, INPUT_WINDOW_BYTES, OUTPUT_WINDOW_BYTES, Ends, Kind, encode

_TERMINAL_BYTES = 256  # a terminal that can be written to takes at least that
_OWED_BYTES = OUTPUT_WINDOW_BYTES // 8


def open_missing() -> None:
    """Give every closed one of descriptors 0 to 2 something harmless, before another file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def ends() -> Ends:
    """What a command that we stand in for finds: a terminal, if we have one for input and output."""
    if not (os.isatty(0) and os.isatty(1)):
        return Ends.PIPES
    return Ends.TERMINAL if os.isatty(2) else Ends.TERMINAL_AND_PIPE


def size() -> tuple[int, int]:
    """Rows and columns of our terminal; zeros when there is none."""
    try:
        return termios.tcgetwinsize(0)
    except termios.error:
        return 0, 0


@contextmanager
def raw() -> Iterator[None]:
    """The terminal hands on every key while the context lasts; Ctrl-C is for the guest's terminal to understand."""
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


class Streams:
    """What is under way between our descriptors and the guest.  Methods return frames for the guest."""

    def __init__(self) -> None:
        self._typing, self._typed = False, 0
        self._pending = {Kind.STDOUT: bytearray(), Kind.STDERR: bytearray()}
        self._owed = {Kind.STDOUT: 0, Kind.STDERR: 0}
        self._unread: set[Kind] = set()

    def start_typing(self) -> None:
        """Read standard input from now on."""
        self._typing = True

    def credit(self, count: int) -> None:
        """The command has taken bytes of its input."""
        self._typed -= count

    def stop_typing(self) -> None:
        """Nobody reads standard input any more: let whoever writes it know, as a pipe would."""
        self._typing = False
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.close(nothing)

    def put(self, kind: Kind, data: bytes) -> None:
        """Output of the command."""
        if kind not in self._unread:
            self._pending[kind] += data

    @property
    def flushed(self) -> bool:
        """Whether all output has been written."""
        return not any(self._pending.values())

    def wanted(self) -> dict[int, int]:
        """Descriptors and what to poll them for."""
        masks = {int(kind): select.POLLOUT for kind, data in self._pending.items() if data}
        if self._typing and self._typed < INPUT_WINDOW_BYTES and _in_foreground():
            masks[0] = select.POLLIN
        return masks

    def serve(self, ready: Mapping[int, int]) -> bytes:
        """Read and write what is ready."""
        frames = b"".join(self._write(kind) for kind in self._pending if kind in ready and self._pending[kind])
        return frames + (self._read() if 0 in ready else b"")

    def _read(self) -> bytes:
        try:
            data = os.read(0, min(CHUNK_BYTES, INPUT_WINDOW_BYTES - self._typed))
        except BlockingIOError:
            return b""
        except OSError:  # a terminal that has gone, or a folder
            data = b""
        self._typed += len(data)
        self._typing = bool(data)
        return encode(Kind.STDIN, data) if data else encode(Kind.END)

    def _write(self, kind: Kind) -> bytes:
        pending = self._pending[kind]
        try:
            count = os.write(kind, pending[: _TERMINAL_BYTES if os.isatty(kind) else CHUNK_BYTES])
        except BlockingIOError:
            return b""
        except OSError:
            pending.clear()
            self._unread.add(kind)
            return encode(Kind.CLOSED, bytes([kind]))
        del pending[:count]
        self._owed[kind] += count
        if self._owed[kind] < _OWED_BYTES:
            return b""
        owed, self._owed[kind] = self._owed[kind], 0
        return encode(Kind.CREDIT, CREDIT.pack(kind, owed))


def _in_foreground() -> bool:
    """Whether reading standard input is ours to do: a terminal stops who reads it from the background."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return True
