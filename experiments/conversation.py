"""A worker of ours as a process of its own on either kernel: one JSON request in, JSON lines out, nothing left behind.

The worker is the first process of a PID namespace (or the only command of a lab kernel).  It ends when its standard
input does, because then its owner has gone, and the kernel ends with it whatever it has started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from emulation.kernel import KernelName
from experiments.isolation import ROOT, isolated

OWNER_GONE = 130
_END_LIMIT_S = 10.0


@contextmanager
def worker(kernel: KernelName, words: Sequence[str], request: str, *, messages: IO[str]) -> Iterator[Iterator[str]]:
    """Start a command on a kernel, give it a request of one line; the context gives the lines it answers.

    messages: where what it says on standard error goes.  It is ended on every way out.
    """
    process = subprocess.Popen(
        isolated(kernel, words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=messages,
        text=True,
        start_new_session=True,  # Ctrl-C reaches its owner alone
        cwd=ROOT,
    )
    assert process.stdin
    assert process.stdout
    try:
        with suppress(BrokenPipeError):  # it died at once, and has no answers
            process.stdin.write(request + "\n")
            process.stdin.flush()
        yield process.stdout
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def asked(hear: Callable[[bytes], None] | None = None) -> tuple[bytes, Callable[[str], None]]:
    """In the worker: the request, and what sends a line of answer.  Whatever else prints goes to standard error.

    hear: gets each further line, in another thread; the first ones may be lost, and a line may lack its beginning.
    """
    request = sys.stdin.buffer.readline()
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threading.Thread(target=_exit_with_owner, args=(hear,), daemon=True).start()
    return request, lambda line: _say(channel, line)


def _say(channel: IO[str], line: str) -> None:
    channel.write(line + "\n")


def _exit_with_owner(hear: Callable[[bytes], None] | None) -> None:
    rest = b""
    while some := os.read(0, 4096):  # not sys.stdin, whose lock would be held when the interpreter ends
        *lines, rest = (rest + some).split(b"\n")
        for line in lines:
            if hear is not None:
                hear(line)
    os._exit(OWNER_GONE)
