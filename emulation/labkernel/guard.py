"""A process that owns a lab kernel and leaves nothing of it, whatever becomes of the one who wanted it.

The kernel is a process with helpers, and one more for every process of its guest; they survive its being killed.
So a guard is forked that adopts them (child subreaper) and waits for the end of a socket that only its owner
holds, which ends with the owner, however that dies.  Should the guard itself be killed, its kernel gets SIGTERM
from ours, upon which it ends its helpers.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_POLITE_S = 1.0  # SIGTERM takes it 0.02 to 0.04 s on a quiet machine
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What to start.

    descriptors: those that it inherits.  locks: those that are held until its end.  console: where its output goes.
    folder: private to it, and removed at the end.  core: the only one that it runs on.  first: there before all that is
    not real-time, where this is allowed (CAP_SYS_NICE).
    """

    argv: list[str]
    environment: dict[str, str]
    descriptors: Sequence[int]
    locks: Sequence[int]
    console: int
    folder: Path
    core: int
    first: bool


class Guard:
    """The owner's side of a guard."""

    def __init__(self, kernel: Kernel) -> None:
        """Start a kernel."""
        self._life, theirs = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            try:
                _guard(kernel, theirs.fileno())
            except BaseException:  # noqa: BLE001 - a forked copy of its owner must not go on as one
                traceback.print_exc()
            finally:
                os._exit(0)
        theirs.close()

    def close(self) -> None:
        """End the kernel, and wait until nothing of it is left."""
        self._life.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _guard(kernel: Kernel, owner: int) -> None:
    os.setsid()  # Ctrl-C at the owner's terminal is the owner's business
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard, end in enumerate((nothing, kernel.console, kernel.console)):
        os.dup2(end, standard)
    # What else is open is the owner's: a reader of its pipes must not wait for us.
    _close_all_but({0, 1, 2, owner, *kernel.descriptors, *kernel.locks})
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.sched_setaffinity(0, {kernel.core})
    try:
        pid = _start(kernel)
        for one in kernel.descriptors:
            os.close(one)
        process = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(owner, select.POLLIN)
        poll.register(process, select.POLLIN)
        poll.poll()
        _end(process)
        select.select([owner], [], [])  # who may yet want to read why it has ended
    finally:
        shutil.rmtree(kernel.folder, ignore_errors=True)


def _start(kernel: Kernel) -> int:
    guard = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != guard:
            os._exit(1)
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(one, signal.SIG_DFL)
        for number in kernel.descriptors:
            os.set_inheritable(number, True)
        if kernel.first:
            with suppress(PermissionError):
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        os.execvpe(kernel.argv[0], kernel.argv, kernel.environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        print(f"{kernel.argv[0]}: {error.strerror}", flush=True)
    finally:
        os._exit(127)


def _end(process: int) -> None:
    """End the kernel, politely at first, then every process that it has left to us."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, number)
        if poll.poll(_POLITE_S * 1000):
            break
    with suppress(ChildProcessError):
        while True:
            for pid in _children():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    me, found = os.getpid(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == me:
                found.append(int(folder.name))
    return found


def _close_all_but(wanted: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in wanted:
            with suppress(OSError):  # the listing's own
                os.close(int(name))
