"""The client's side of the pipe to its owner.  When the owner is gone, so is the client."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import NoReturn

from experiments.workers.lines import line
from records.record import Record

OWNER_GONE = 3
MAX_LINE = 64 * 1024 * 1024


def say(message: Record) -> None:
    """One line to the owner."""
    try:
        sys.stdout.buffer.write(line(message))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(OWNER_GONE)


class Orders:
    """The owner's lines; their end ends the process at once, whatever it is doing."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._leftovers: tuple[Path, ...] = ()
        self._task = asyncio.ensure_future(self._read())

    async def next(self) -> bytes:
        """The next line, without end when there is none yet."""
        return await self._lines.get()

    def when_gone_remove(self, paths: tuple[Path, ...]) -> None:
        """From now on the end of the owner also removes these files, which nobody will read."""
        self._leftovers = paths

    async def _read(self) -> NoReturn:
        while text := await self._reader.readline():
            self._lines.put_nowait(text)
        for path in self._leftovers:
            path.unlink(missing_ok=True)
        os._exit(OWNER_GONE)


async def orders() -> Orders:
    """Listen on stdin; ValueError when it is no pipe."""
    reader = asyncio.StreamReader(limit=MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    return Orders(reader)
