"""A worker of ours as a process of its own on either kernel: one JSON request in, JSON lines out, nothing left behind.

The worker is the first process of a PID namespace (or the only command of a lab kernel).  It ends when its standard
input does, because then its owner has gone, and the kernel ends with it whatever it has started.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Literal, TypeVar

from experiments.workers.isolation import ROOT
from experiments.workers.lines import ProtocolError, read
from records.record import Record

R = TypeVar("R", bound=Record)
OWNER_GONE = 130
_END_LIMIT_S = 10.0


class Interrupted(Exception):
    """No worker may begin any more: whoever wants them is leaving."""


class Failed(Record):
    """A worker's last answer when it could not do what it was asked.

    kind: the error's class.  notes: what lies behind it.
    """

    event: Literal["failed"] = "failed"
    kind: str
    message: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that has been started, as its owner sees it."""

    process: subprocess.Popen[str]

    @property
    def answers(self) -> Iterator[str]:
        """Its lines, until it ends.  The last may be half a line, when it is killed."""
        assert self.process.stdout
        return self.process.stdout

    def tell(self, message: Record) -> None:
        """Send it one line more, unless it does not read: nobody may wait for that.  OSError when it hears no more."""
        assert self.process.stdin
        poll = select.poll()  # which, other than select, takes descriptors of any number
        try:
            poll.register(self.process.stdin, select.POLLOUT)
            if poll.poll(0):
                _write(self.process.stdin, message.model_dump_json())
        except ValueError as error:
            raise BrokenPipeError("its standard input was closed") from error

    def hang_up(self) -> None:
        """Tell it that its owner has gone."""
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()


class Workers:
    """Workers under way.  They may be started and ended by different threads.

    A worker dies with the thread that started it (parent-death signal), so that thread stays until it has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive: set[Worker] = set()
        self._leaving = False

    def pids(self) -> tuple[int, ...]:
        """The first process of each."""
        with self._lock:
            return tuple(one.process.pid for one in self._alive)

    def end(self) -> None:
        """Tell all of them that their owner has gone, and start no more."""
        with self._lock:
            self._leaving = True
            for one in self._alive:
                one.hang_up()

    @contextmanager
    def started(self, words: Sequence[str], request: str, *, messages: IO[str]) -> Iterator[Worker]:
        """Start a command (see experiments.workers.isolation) and give it a request of one line; ended on every way
        out.

        messages: where what it says on standard error goes.  Raises Interrupted after end().
        """
        one = self._start(words, messages)
        try:
            assert one.process.stdin
            with suppress(BrokenPipeError, ValueError):  # it died at once, or was ended, and has no answers
                _write(one.process.stdin, request)
            yield one
        finally:
            one.hang_up()
            try:
                one.process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                one.process.kill()  # its namespace of processes goes with it
                one.process.wait()
            with self._lock:
                self._alive.discard(one)
            assert one.process.stdout
            one.process.stdout.close()

    def _start(self, words: Sequence[str], messages: IO[str]) -> Worker:
        with self._lock:
            if self._leaving:
                raise Interrupted
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                start_new_session=True,  # Ctrl-C reaches its owner alone
                cwd=ROOT,
            )
            one = Worker(process)
            self._alive.add(one)
            return one


def asked(hear: Callable[[bytes], None] | None = None) -> tuple[bytes, Callable[[str], None]]:
    """In the worker: the request, and what sends a line of answer.  Whatever else prints goes to standard error.

    hear: gets each further line, in another thread; the first ones may be lost, and a line may lack its beginning.
    """
    request = sys.stdin.buffer.readline()
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threading.Thread(target=_exit_with_owner, args=(hear,), daemon=True).start()
    return request, lambda line: _write(channel, line)


def asked_for(kind: type[R], hear: Callable[[bytes], None] | None = None) -> tuple[R, Callable[[Record], None]]:
    """In the worker: the request as a record, and what sends a record as answer; the rest as with `asked`.

    A request that cannot be read is answered with Failed, and is the worker's end.
    """
    text, say = asked(hear)
    try:
        request = read(text, kind)
    except ProtocolError as error:
        say(Failed(kind=type(error).__name__, message=f"the request is no {kind.__name__}: {error}").model_dump_json())
        sys.exit(1)
    return request, lambda answer: say(answer.model_dump_json())


def _write(channel: IO[str], line: str) -> None:
    channel.write(line + "\n")
    channel.flush()


def _exit_with_owner(hear: Callable[[bytes], None] | None) -> None:
    rest = b""
    while some := os.read(0, 4096):  # not sys.stdin, whose lock would be held when the interpreter ends
        *lines, rest = (rest + some).split(b"\n")
        for line in lines:
            if hear is not None:
                hear(line)
    os._exit(OWNER_GONE)
