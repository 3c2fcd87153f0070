"""The owner's side of the process that its clients are forked off (nursery_process.py)."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import Field, TypeAdapter

from experiments.workers.lines import read_any
from records.record import Record

ROOT = Path(__file__).resolve().parents[2]
PROCESS = "experiments.load.nursery_process"
LOG = "client-nursery.log"
STREAMS = 3  # standard input, output and error
LONGEST = 4096  # bytes of what either side says to the other
MAX_LINE = 64 * 1024 * 1024
_END_LIMIT_S = 10.0


class Birth(Record):
    """A client that is wanted; its STREAMS file descriptors come along.

    number: what it is called in answers.  namespace: a process in whose network namespace it runs, None = the owner's.
    """

    number: int
    node: str
    namespace: int | None = None


class Born(Record):
    """It runs, as a session of its own."""

    event: Literal["born"] = "born"
    number: int
    pid: int


class Gone(Record):
    """It has ended.  status: its exit status, or the negative of the signal that ended it."""

    event: Literal["gone"] = "gone"
    number: int
    status: int


_ANSWER: TypeAdapter[Born | Gone] = TypeAdapter(Annotated[Born | Gone, Field(discriminator="event")])


class NurseryError(OSError):
    """The nursery cannot be started or has ended; the message says why."""


class Child:
    """A client: its pipes, its number, its end.  Its number is nobody else's while the nursery lives."""

    def __init__(
        self, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, reading: asyncio.ReadTransport
    ) -> None:
        self.stdin, self.stdout, self._reading = stdin, stdout, reading
        self.born: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._gone: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.born.result()

    @property
    def returncode(self) -> int | None:
        """Its exit status, the negative of a signal, None while it lives."""
        return self._gone.result() if self._gone.done() else None

    async def wait(self) -> int:
        """Its exit status, when it has ended."""
        return await asyncio.shield(self._gone)

    def close(self) -> None:
        """Nothing more is said to it, or heard from it."""
        self.stdin.close()
        self._reading.close()

    def hear(self, answer: Born | Gone) -> None:
        """What the nursery says of it."""
        if isinstance(answer, Born):
            self.born.set_result(answer.pid)
        elif not self._gone.done():
            self._gone.set_result(answer.status)

    def lost(self, error: NurseryError, status: int) -> None:
        """The nursery has ended, and every client with it."""
        if not self.born.done():
            self.born.set_exception(error)
        elif not self._gone.done():
            self._gone.set_result(status)


class Nursery:
    """Made by `nursery`."""

    def __init__(self, process: asyncio.subprocess.Process, channel: socket.socket) -> None:
        self._process, self._channel = process, channel
        self._children: list[Child] = []
        self._losing: asyncio.Task[None] | None = None
        asyncio.get_running_loop().add_reader(channel, self._hear)

    @property
    def pid(self) -> int:
        """The nursery's process id."""
        return self._process.pid

    async def child(self, node: str, *, namespace: int | None, errors: int) -> Child:
        """A new client of a node, in the network namespace of process `namespace`.

        errors: file descriptor of its standard error.  NurseryError when there is no nursery any more.
        """
        loop = asyncio.get_running_loop()
        with ExitStack() as theirs:
            (its_in, our_out), (our_in, its_out) = os.pipe(), os.pipe()
            theirs.callback(os.close, its_in)
            theirs.callback(os.close, its_out)
            reader = asyncio.StreamReader(limit=MAX_LINE)
            reading, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(our_in, "rb")
            )
            writing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(our_out, "wb"))
            one = Child(asyncio.StreamWriter(writing, flow, None, loop), reader, reading)
            birth = Birth(number=len(self._children), node=node, namespace=namespace)
            self._children.append(one)
            try:
                socket.send_fds(self._channel, [birth.model_dump_json().encode()], [its_in, its_out, errors])
            except OSError as error:
                one.lost(NurseryError(f"no client can be started: {error}"), 0)
        await one.born
        return one

    def _hear(self) -> None:
        try:
            text = self._channel.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            text = b""
        if text:
            answer = read_any(text, _ANSWER)
            self._children[answer.number].hear(answer)
            return
        asyncio.get_running_loop().remove_reader(self._channel)
        self._losing = asyncio.ensure_future(self._lost())

    async def _lost(self) -> None:
        status = await self._process.wait()
        for one in self._children:
            one.lost(NurseryError(f"the process that clients are forked off ended with status {status}"), status)

    async def end(self) -> None:
        """End the nursery, and every client that it still has."""
        asyncio.get_running_loop().remove_reader(self._channel)
        self._channel.close()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _END_LIMIT_S)
        finally:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def nursery(logs: Path) -> AsyncIterator[Nursery]:
    """A nursery; it and its clients are ended on the way out.

    logs: an existing folder; its standard error goes to LOG in it.  NurseryError when it cannot be started.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its, (logs / LOG).open("wb") as errors:
        try:
            process = await _started(its, errors)
        except OSError as error:
            ours.close()
            raise NurseryError(f"the process that clients are forked off cannot be started: {error}") from error
    ours.setblocking(False)
    made = Nursery(process, ours)
    try:
        yield made
    finally:
        await made.end()


async def _started(its: socket.socket, errors: IO[bytes]) -> asyncio.subprocess.Process:
    search = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", PROCESS),
        stdin=its.fileno(),
        stdout=errors,
        stderr=errors,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": search},
    )
