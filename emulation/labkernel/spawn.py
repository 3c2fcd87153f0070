"""Starting the command in the guest, on pipes or on a terminal of its own.  Runs in the guest, like agent.py."""

from __future__ import annotations

import os
import signal
import termios
from fcntl import ioctl

from emulation.labkernel.frames import Ends, Job, Kind


class Command:
    """A started command and our ends of its streams.  With a terminal, that is stdin and an output as well."""

    def __init__(self, pid: int, *, stdin: int, outputs: dict[int, Kind], terminal: int | None) -> None:
        self.pid = pid
        self.stdin: int | None = stdin
        self.outputs, self.terminal = outputs, terminal


def spawn(job: Job, size: tuple[int, int]) -> Command:
    """Start a command in a session of its own.  size: rows and columns, should it get a terminal."""
    terminal: int | None = None
    if job.ends is Ends.PIPES:
        (read, stdin), (out, write) = os.pipe(), os.pipe()
        theirs = [read, write]
    else:
        out, slave = os.openpty()
        termios.tcsetwinsize(out, size)
        stdin = terminal = out
        theirs = [slave, slave]
    outputs = {out: Kind.STDOUT}
    if job.ends is Ends.TERMINAL:
        theirs.append(theirs[0])
    else:
        errors, write = os.pipe()
        outputs[errors] = Kind.STDERR
        theirs.append(write)
    pid = os.fork()
    if not pid:
        _become(job, theirs, terminal=terminal is not None)
    for one in set(theirs):
        os.close(one)
    for one in {stdin, *outputs}:
        os.set_blocking(one, False)
    return Command(pid, stdin=stdin, outputs=outputs, terminal=terminal)


def _become(job: Job, ends: list[int], *, terminal: bool) -> None:
    os.setsid()
    if terminal:
        ioctl(ends[0], termios.TIOCSCTTY, 0)
    for number, end in enumerate(ends):
        os.dup2(end, number)
    for one in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and so would the command
        signal.signal(one, signal.SIG_DFL)
    try:
        os.chdir(job.folder)
        os.execvpe(job.argv[0], job.argv, job.environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, b"%s: %s\n" % (error.filename or job.argv[0], os.strerror(error.errno or 0).encode()))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
