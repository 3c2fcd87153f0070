"""Where a message was when, as processes of a stack have seen it: what they write; who reads it: records.stamped.

A process writes a file of records of 26 bytes, big-endian: producer and number of the message as in its marker
(records.marker), CLOCK_MONOTONIC in nanoseconds, a point, 1 where it is the reply to that message and else 0, and the
IPv4 address of the other node, 0 for an application.  A record LEFT_OUT says how many stamps there was no room for
before it; a process that ends writes one, be it of none.
"""

from __future__ import annotations

import os
import struct
from enum import IntEnum
from pathlib import Path

from records.marker import MAGIC

FILE = "stamps"  # in the folder of a service
LEFT_OUT = 255  # instead of a point; the number stands where a message's number does
MOST_BYTES = 256 << 20  # of a file: what a process stamps beyond that is counted only
_GATHERED_BYTES = 64 << 10
_RECORD, _LEFT_OUT = struct.Struct("!12sQBBI"), struct.Struct("!IQQBBI")
BYTES = _RECORD.size


class Point(IntEnum):
    """Where a message was on its way through a process.

    It is received when its last byte has come.  It is given before it is handed over to the socket, in the same turn of
    the process's loop, so that nobody has it before.  Of a message in chunks the first chunk counts.
    """

    FROM_APPLICATION = 0
    TO_PEER = 1
    FROM_PEER = 2
    TO_APPLICATION = 3


def marked(body: bytes | bytearray | memoryview) -> bytes:
    """What of a body's marker a stamp has; b"" where it has no marker."""
    head = bytes(body[:16])
    return head[4:] if head[:4] == MAGIC and len(head) == 16 else b""


class Stamps:
    """Writes them.  left_out: how many there was no room for, or that could not be written."""

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Go on behind what a process before this one has written; OSError where the file cannot be made."""
        self.left_out = 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        there = os.lseek(self._file, 0, os.SEEK_END)
        if half := there % BYTES:
            os.ftruncate(self._file, there - half)
            there = os.lseek(self._file, 0, os.SEEK_END)
        self._room, self._said = max(0, most_bytes - there), 0
        self._gathered = bytearray()

    def add(self, mark: bytes, t_ns: int, point: int, reply: bool, peer: int) -> None:
        """A message was there.  mark: as `marked` gives it.  peer: the other node's address, 0 for an application."""
        self._gathered += _RECORD.pack(mark, t_ns, point, reply, peer)
        if len(self._gathered) >= _GATHERED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what has gathered; to be called now and then, so that a process that is killed takes little with it."""
        gathered, self._gathered = self._gathered, bytearray()
        if len(gathered) > self._room:
            self._lose(gathered)
        elif gathered:
            self._write(gathered)
        if self.left_out > self._said:
            self._tell()

    def close(self) -> None:
        """Write the rest, and how many were left out."""
        self.flush()
        if not self._said:
            self._tell()
        os.close(self._file)

    def _write(self, gathered: bytearray) -> None:
        try:
            written = os.write(self._file, gathered)
        except OSError:
            written = 0
        self._room -= written
        if written < len(gathered):  # the disk is full
            self._room = 0
            if half := written % BYTES:
                os.ftruncate(self._file, os.lseek(self._file, -half, os.SEEK_CUR))
            self._lose(gathered[written - half :])

    def _lose(self, gathered: bytearray) -> None:
        self._room = 0
        self.left_out += len(gathered) // BYTES

    def _tell(self) -> None:
        record = _LEFT_OUT.pack(0, self.left_out - self._said, 0, LEFT_OUT, 0, 0)
        try:
            if os.write(self._file, record) == len(record):
                self._said = self.left_out
        except OSError:
            pass  # there is no last word then, which is told as well
