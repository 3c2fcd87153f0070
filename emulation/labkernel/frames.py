"""Frames on the serial line between a lab kernel's guest and its host.

Both ends import this file; in the guest every import costs (dataclasses 50 ms), so there are few.
A frame is one byte kind, four bytes length, and that many bytes.  Credit keeps streams apart: nobody has more
than a window of a stream's bytes under way, so a stream that nobody reads cannot hold up signals or the others.
The line has a window of its own, towards the guest.
"""

from __future__ import annotations

import struct
from enum import Enum, IntEnum

_HEADER = struct.Struct(">BI")
SIZE = struct.Struct(">HH")
CREDIT = struct.Struct(">BI")
GO = struct.Struct(">QHH")
NUMBER = struct.Struct(">I")

CHUNK_BYTES = 4096
# What the guest has not read yet waits in a tty, which takes 4,096 bytes.  128 short of that it throttles the line
# (n_tty.c), and user-mode Linux 6.1 loses the interrupt of a line that was throttled: its input stops for good.
LINE_WINDOW_BYTES = 3584
INPUT_WINDOW_BYTES = 16384
OUTPUT_WINDOW_BYTES = 262144


class Kind(IntEnum):
    """What a frame says.  Streams carry the number of the descriptor that they are at the command."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    READY = 3  # guest: booted
    GO = 4  # host: start the command; the time of day (ns), rows and columns of the terminal
    END = 5  # host: standard input has ended
    CLOSED = 6  # either: nobody reads this stream (Kind) any more
    CREDIT = 7  # either: stream (Kind), bytes that its reader has taken
    SIZE = 8  # host: rows and columns of the terminal
    SIGNAL = 9  # host: send this signal to the command's process group
    TAKEN = 10  # guest: it has read so many bytes from the line
    EXIT = 11  # guest: the command has ended with this status


def encode(kind: Kind, data: bytes = b"") -> bytes:
    """A frame as bytes."""
    return _HEADER.pack(kind, len(data)) + data


class Decoder:
    """Frames out of bytes that arrive in any portions."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[Kind, bytes]]:
        """The frames that are complete with `data`."""
        self._rest += data
        frames = []
        at = 0
        while len(self._rest) - at >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._rest, at)
            end = at + _HEADER.size + length
            if len(self._rest) < end:
                break
            frames.append((Kind(kind), self._rest[at + _HEADER.size : end]))
            at = end
        self._rest = self._rest[at:]
        return frames


class Ends(Enum):
    """What the command finds at its descriptors 0 to 2: pipes, a terminal, or a terminal and a pipe for errors."""

    PIPES = "pipes"
    TERMINAL = "terminal"
    TERMINAL_AND_PIPE = "terminal and pipe"


class Job:
    """The command: bytes, as the kernel has them, because names of files need not be text."""

    def __init__(self, *, ends: Ends, folder: bytes, argv: list[bytes], environment: dict[bytes, bytes]) -> None:
        self.ends, self.folder, self.argv, self.environment = ends, folder, argv, environment

    def dump(self) -> bytes:
        """As a file: fields with a zero byte between, which none can contain.  (json takes the guest 40 ms.)"""
        variables = [name + b"=" + value for name, value in self.environment.items()]
        return b"\0".join([self.ends.value.encode(), self.folder, b"%d" % len(self.argv), *self.argv, *variables])

    @staticmethod
    def load(data: bytes) -> Job:
        """The inverse of dump."""
        ends, folder, count, *rest = data.split(b"\0")
        argv, variables = rest[: int(count)], rest[int(count) :]
        pairs = (one.partition(b"=") for one in variables)
        environment = {name: value for name, _, value in pairs}
        return Job(ends=Ends(ends.decode()), folder=folder, argv=argv, environment=environment)
