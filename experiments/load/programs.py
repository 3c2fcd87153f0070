"""Programs of the user's own in a node's namespaces: started, waited for, ended with all of their process group."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from experiments.load.remote import last_lines, status_text
from experiments.workers.programs import PATH, why_not
from records.errors import CannotGoOn

OUTPUT_LIMIT_BYTES = 4 << 20
_END_LIMIT_S = 2.0
_LOOK_EVERY_S = 0.05
_LISTENS = "0A"  # state of a socket in /proc/net/tcp
# A child of the trial's process, which goes first while it watches, would go first as well.
_AS_OTHERS = ("chrt", "--other", "0")


class ProgramError(CannotGoOn):
    """A program that cannot be started, or a server that ended or was not ready in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a program runs, and what it is called.

    prefix: what puts it into a node's namespaces.  home: an existing folder, its working directory and HOME.  Its
    outputs go to `program-<name>.out.log` and `program-<name>.err.log` in `logs`.
    """

    name: str
    prefix: Sequence[str]
    home: Path
    logs: Path

    def path(self, kind: str) -> Path:
        """Where its `out` or its `err` goes."""
        return self.logs / f"program-{self.name}.{kind}.log"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's own, such as a proxy's address or a credential, goes into a trial."""
        return {"PATH": PATH, "HOME": str(self.home), "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended.

    status: its exit status; minus the signal that ended it.  timed_out: whether its time limit did.
    output: its standard output.  cut: bytes of that beyond the limit, which are not kept.
    """

    status: int
    duration_s: float
    timed_out: bool
    output: str
    cut: int


async def run(words: Sequence[str], place: Place, *, limit_s: float) -> Ended:
    """Run a program to its end, at most `limit_s`.  ProgramError when it cannot be started."""
    began = time.monotonic()
    async with _started(words, place) as program:
        timed_out = not await program.ended(limit_s)
        duration_s = time.monotonic() - began
    output = await asyncio.to_thread(place.path("out").read_text, encoding="utf-8", errors="replace")
    assert program.process.returncode is not None
    return Ended(
        status=program.process.returncode,
        duration_s=duration_s,
        timed_out=timed_out,
        output=output,
        cut=program.cut["out"],
    )


@asynccontextmanager
async def serving(
    words: Sequence[str], place: Place, *, node: int, port: int | None, ready_s: float
) -> AsyncIterator[Program]:
    """A server that runs until the block ends: ready when it listens on `port`, at most `ready_s` after its start.

    Without a port it is ready after `ready_s`.  node: a process in the network namespace that it listens in.
    ProgramError when it ends before, or does not listen in time.
    """
    async with _started(words, place) as program:
        until = time.monotonic() + ready_s
        while not (port and _listens(node, port)):
            if await program.ended(min(_LOOK_EVERY_S, max(0.0, until - time.monotonic()))):
                raise ProgramError(f"{place.name}: {program.how_it_ended()} before it was ready{program.last_words()}")
            if time.monotonic() >= until:
                if port:
                    raise ProgramError(
                        f"{place.name}: {words[0]!r} does not listen on TCP port {port} after {ready_s:g} s: correct "
                        f"ready_port, or give it longer by limit_s{program.last_words()}"
                    )
                break
        yield program
        if program.lives:
            program.signal(signal.SIGTERM)
            await program.ended(_END_LIMIT_S)


def _listens(pid: int, port: int) -> bool:
    """Read from the kernel: a connection to find out would be the server's first client."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == _LISTENS and int(local.rpartition(":")[2], 16) == port:
                    return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipe:
    """Our end of an output, and the descriptor of the program's.

    A pipe of asyncio's own for a process has its wait() last until every child that inherited the pipe has ended.
    """

    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport
    theirs: int


async def _pipe() -> _Pipe:
    ours, theirs = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
    )
    return _Pipe(reader=reader, transport=transport, theirs=theirs)


class Program:
    """A process and what it prints.  Made by `run` and `serving`, which end it."""

    def __init__(
        self, process: asyncio.subprocess.Process, words: Sequence[str], place: Place, pipes: Mapping[str, _Pipe]
    ) -> None:
        self.process, self.place, self._words = process, place, words
        self.cut = dict.fromkeys(pipes, 0)
        self._keeping = [asyncio.create_task(self._keep(pipe.reader, kind)) for kind, pipe in pipes.items()]

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    def how_it_ended(self) -> str:
        """Its name and its status, in words."""
        assert self.process.returncode is not None
        return f"{self._words[0]!r} ended with {status_text(self.process.returncode)}"

    def last_words(self) -> str:
        """The last line that it printed where errors go, '' when there is none."""
        return last_words(self.place)

    async def _keep(self, stream: asyncio.StreamReader, kind: str) -> None:
        """To the end even when no more is kept: a full pipe would stop the program."""
        left = OUTPUT_LIMIT_BYTES
        with self.place.path(kind).open("wb", buffering=0) as file:
            while data := await stream.read(1 << 16):
                file.write(data[:left])
                self.cut[kind] += max(0, len(data) - left)
                left = max(0, left - len(data))

    async def ended(self, limit_s: float) -> bool:
        """Whether it ends within that time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), limit_s)
        return not self.lives

    def signal(self, number: signal.Signals) -> None:
        """To its group, which its children are in."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    async def end(self) -> None:
        """Kill its group, and keep what is left of its outputs."""
        self.signal(signal.SIGKILL)
        await self.process.wait()
        _, open_still = await asyncio.wait(self._keeping, timeout=_END_LIMIT_S)
        for task in open_still:  # a child that left the group has the pipe, and ends with the trial's PID namespace
            task.cancel()
        for outcome in await asyncio.gather(*self._keeping, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


def last_words(place: Place) -> str:
    """The last line of a program's standard error, as the end of a sentence; '' when it printed none there."""
    said = next((line.strip() for line in reversed(last_lines(place.path("err"))) if line.strip()), "")
    return f": it said {said[:200]!r}" if said else ""


@asynccontextmanager
async def _started(words: Sequence[str], place: Place) -> AsyncIterator[Program]:
    if why := why_not(words[0]):
        raise ProgramError(f"{place.name}: {why}")
    with ExitStack() as opened:
        pipes = {}
        for kind in ("out", "err"):
            pipes[kind] = await _pipe()
            opened.callback(pipes[kind].transport.close)
        try:
            process = await asyncio.create_subprocess_exec(
                *place.prefix,
                *_AS_OTHERS,
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipes["out"].theirs,
                stderr=pipes["err"].theirs,
                env=place.environment,
                cwd=place.home,
                start_new_session=True,
            )
        except OSError as error:
            raise ProgramError(f"{place.name}: {words[0]!r} cannot be started: {error}") from error
        finally:
            for pipe in pipes.values():
                os.close(pipe.theirs)
        program = Program(process, words, place, pipes)
        try:
            yield program
        finally:
            await program.end()
