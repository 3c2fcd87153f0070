"""Client processes and reference brokers without the second that their imports take: forked off a warm process.

For tests of what a load or a trial does; how its processes start and end is tested with those started as usual.
"""

from __future__ import annotations

import array
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO
from unittest import mock

from experiments.load import nursery

ROOT = Path(nursery.__file__).parents[2]  # of the project that this process has, which may be a copy with additions


class Warm:
    """A process as asyncio has them, as far as its owners use it."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid, self._descriptor = pid, descriptor
        self._gone = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(descriptor, self._ended)

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._gone.set_result(0)  # only its parent is told which

    async def wait(self) -> int:
        """Until it has ended."""
        return await asyncio.shield(self._gone)

    def kill(self) -> None:
        """End it."""
        if not self._gone.done():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)


@cache
def _server(_: int) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """It ends with this process, to which alone it belongs."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    search = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "warm_process"], stdin=its, cwd=ROOT, env={**os.environ, "PYTHONPATH": search}
        )
    return ours, process


def servers() -> set[str]:
    """Numbers of the processes that processes are forked off, which stay as long as this one."""
    return {str(_server(os.getpid())[1].pid)} if _server.cache_info().currsize else set()


def start(*words: str, streams: tuple[int, int, int]) -> Warm:
    """One of the modules of warm_process with its arguments, in a session of its own, on the running loop."""
    server, _ = _server(os.getpid())
    text = json.dumps({"words": words, "environment": dict(os.environ)}).encode()
    socket.send_fds(server, [text], streams)
    pid, handed, _, _ = server.recvmsg(64, socket.CMSG_SPACE(4))
    descriptors = array.array("i")
    descriptors.frombytes(handed[0][2])
    return Warm(int(pid), descriptors[0])


@contextmanager
def nurseries() -> Iterator[None]:
    """Meanwhile nurseries are forked off it, too."""

    async def forked(its: socket.socket, errors: IO[bytes]) -> Warm:
        return start(nursery.PROCESS, streams=(its.fileno(), errors.fileno(), errors.fileno()))

    with mock.patch.object(nursery, "_started", forked):
        yield
