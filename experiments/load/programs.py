"""Programs of the user's own in a node's namespaces: started, waited for, ended with all of their process group."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from records.errors import CannotGoOn

OUTPUT_LIMIT_BYTES = 4 << 20
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Nothing of the user's own environment, such as a proxy's address or a credential, goes into a trial.
ENVIRONMENT = {"PATH": PATH, "HOME": "/nonexistent", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_PACKAGES = {"iperf3": "iperf3", "curl": "curl", "python3": "python3"}
_END_LIMIT_S = 2.0
_LOOK_EVERY_S = 0.05
_LISTENS = "0A"  # state of a socket in /proc/net/tcp


class ProgramError(CannotGoOn):
    """A program that cannot be started, or a server that ended or was not ready in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended.

    status: its exit status; minus the signal that ended it.  timed_out: whether its time limit did.
    output: its standard output.  cut: bytes of its outputs beyond the limit, which are not kept.
    """

    status: int
    duration_s: float
    timed_out: bool
    output: str
    cut: int


def why_not(words: Sequence[str]) -> str | None:
    """Why the program cannot be started on this machine, with the way out; None when it can."""
    name = words[0]
    if shutil.which(name, path=PATH):
        return None
    if package := _PACKAGES.get(name):
        return f"{name!r} is not installed: sudo apt-get install {package}"
    where = "no program that can be executed" if "/" in name else f"not in {PATH}"
    return f"{name!r} is {where}: install it, or give its whole path"


async def run(words: Sequence[str], *, prefix: Sequence[str], logs: Path, name: str, limit_s: float) -> Ended:
    """Run a program to its end, at most `limit_s`.  prefix: what puts it into a node's namespaces.

    Its outputs go to `<name>.out.log` and `<name>.err.log` in `logs`.  ProgramError when it cannot be started.
    """
    began = time.monotonic()
    async with _started(words, prefix=prefix, logs=logs, name=name) as program:
        timed_out = not await program.ended(limit_s)
        duration_s = time.monotonic() - began
    output = program.path("out").read_text(encoding="utf-8", errors="replace")
    assert program.process.returncode is not None
    return Ended(
        status=program.process.returncode,
        duration_s=duration_s,
        timed_out=timed_out,
        output=output,
        cut=program.cut,
    )


@asynccontextmanager
async def serving(
    words: Sequence[str],
    *,
    prefix: Sequence[str],
    logs: Path,
    name: str,
    port: int | None,
    ready_s: float,
) -> AsyncIterator[_Program]:
    """A server that runs until the block ends: ready when it listens on `port`, at most `ready_s` after its start.

    Without a port it is ready after `ready_s`.  ProgramError when it ends before, or does not listen in time.
    """
    async with _started(words, prefix=prefix, logs=logs, name=name) as program:
        until = time.monotonic() + ready_s
        while not (port and _listens(program.process.pid, port)):
            if await program.ended(min(_LOOK_EVERY_S, max(0.0, until - time.monotonic()))):
                raise ProgramError(f"{name}: {words[0]!r} ended with status {program.process.returncode} {_see(name)}")
            if time.monotonic() >= until:
                if port:
                    raise ProgramError(
                        f"{name}: {words[0]!r} does not listen on {port} after {ready_s:g} s {_see(name)}"
                    )
                break
        yield program


def _see(name: str) -> str:
    return f"before it was ready: see {name}.err.log in the trial's logs"


def _listens(pid: int, port: int) -> bool:
    """Read from the kernel: a connection to find out would be the server's first client."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == _LISTENS and int(local.rpartition(":")[2], 16) == port:
                    return True
    return False


class _Program:
    def __init__(self, process: asyncio.subprocess.Process, logs: Path, name: str) -> None:
        self.process, self._logs, self._name = process, logs, name
        self.cut = 0
        assert process.stdout
        assert process.stderr
        self._keeping = [
            asyncio.create_task(self._keep(stream, kind))
            for stream, kind in ((process.stdout, "out"), (process.stderr, "err"))
        ]

    def path(self, kind: str) -> Path:
        return self._logs / f"{self._name}.{kind}.log"

    async def _keep(self, stream: asyncio.StreamReader, kind: str) -> None:
        """To the end even when no more is kept: a full pipe would stop the program."""
        left = OUTPUT_LIMIT_BYTES
        with self.path(kind).open("wb", buffering=0) as file:
            while data := await stream.read(1 << 16):
                file.write(data[:left])
                self.cut += max(0, len(data) - left)
                left = max(0, left - len(data))

    async def ended(self, limit_s: float) -> bool:
        """Whether it ends within that time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), limit_s)
        return self.process.returncode is not None

    async def end(self) -> None:
        """Kill its group, which its children are in, and keep what is left of its outputs."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        _, open_still = await asyncio.wait(self._keeping, timeout=_END_LIMIT_S)
        for task in open_still:  # a child that left the group has the pipe; the trial's PID namespace ends it
            task.cancel()
        for outcome in await asyncio.gather(*self._keeping, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


@asynccontextmanager
async def _started(words: Sequence[str], *, prefix: Sequence[str], logs: Path, name: str) -> AsyncIterator[_Program]:
    if why := why_not(words):
        raise ProgramError(f"{name}: {why}")
    try:
        process = await asyncio.create_subprocess_exec(
            *prefix,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=ENVIRONMENT,
            start_new_session=True,
        )
    except OSError as error:
        raise ProgramError(f"{name}: {words[0]!r} cannot be started: {error}") from error
    program = _Program(process, logs, name)
    try:
        yield program
    finally:
        await program.end()
