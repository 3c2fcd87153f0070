"""The guest's end of a lab kernel: first process, runs one command and carries its streams over the serial line.

Runs with the system's Python and its standard library; few imports, because starting is what costs in there.
An error ends it, which is a panic, which the host reports with what stands on the console.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import termios
import time

from emulation.labkernel.frames import (
    CHUNK_BYTES,
    CREDIT,
    GO,
    LINE_WINDOW_BYTES,
    NUMBER,
    OUTPUT_WINDOW_BYTES,
    SIZE,
    Decoder,
    Job,
    Kind,
    encode,
)
from emulation.labkernel.spawn import Command, spawn

_LINE, _JOB = "/dev/ttyS0", "/run/lab/job"
_LAST_BYTES = 1 << 20  # what is still read after the command's end, should others go on writing: a pipe's most
_LAST_S = 0.1  # how long a terminal's last words may take


class Agent:
    """The line, and the streams of one command."""

    def __init__(self, line: int) -> None:
        self.line, self.decoder = line, Decoder()
        self.under_way = {Kind.STDOUT: 0, Kind.STDERR: 0}
        self.typed, self.stdin_ends = b"", False
        self.status: int | None = None
        self.last_bytes, self.deadline = _LAST_BYTES, 0.0

    def tell(self, kind: Kind, data: bytes = b"") -> None:
        """Send a frame.  The host always reads, so this does not wait for long."""
        rest = encode(kind, data)
        while rest:
            rest = rest[os.write(self.line, rest) :]

    def hear(self) -> list[tuple[Kind, bytes]]:
        """Wait for frames."""
        data = os.read(self.line, LINE_WINDOW_BYTES)
        self.tell(Kind.TAKEN, NUMBER.pack(len(data)))
        return self.decoder.feed(data)

    def run(self, command: Command, wake: int) -> int:
        """Carry the streams until the command has ended and its output is sent; its exit status."""
        self.command = command
        while self.status is None or command.outputs:
            poll = select.poll()
            poll.register(self.line, select.POLLIN)
            poll.register(wake, select.POLLIN)
            readable = {
                one: select.POLLIN
                for one, kind in command.outputs.items()
                if self.under_way[kind] < OUTPUT_WINDOW_BYTES
            }
            writable = {command.stdin: select.POLLOUT} if command.stdin is not None and self.typed else {}
            for one in {*readable, *writable}:
                poll.register(one, readable.get(one, 0) | writable.get(one, 0))
            ready = dict(poll.poll(None if self.status is None else _LAST_S * 100))
            if self.line in ready:
                for kind, data in self.hear():
                    self.obey(kind, data)
            if wake in ready:
                os.read(wake, 512)
                self.reap()
            self.type()
            for one in readable:
                if one in command.outputs and (one in ready or self.status is not None):
                    self.forward(one)
        return self.status

    def obey(self, kind: Kind, data: bytes) -> None:
        """Do what a frame from the host says."""
        if kind is Kind.STDIN:
            self.typed += data
        elif kind is Kind.END:
            self.stdin_ends = True
        elif kind is Kind.CREDIT:
            stream, count = CREDIT.unpack(data)
            self.under_way[Kind(stream)] -= count
        elif kind is Kind.CLOSED:
            for one in [one for one, stream in self.command.outputs.items() if stream == data[0]]:
                self.close(one)
        elif kind is Kind.SIZE and self.command.terminal is not None:
            termios.tcsetwinsize(self.command.terminal, SIZE.unpack(data))
        elif kind is Kind.SIGNAL and self.status is None:
            number = NUMBER.unpack(data)[0]
            try:
                os.killpg(self.command.pid, number)
            except ProcessLookupError:  # it has only just been started
                os.kill(self.command.pid, number)

    def type(self) -> None:
        """Give the command what it takes of its input just now, and the host credit for that."""
        command = self.command
        if self.typed:
            count = len(self.typed)  # when nobody reads, it is taken to be thrown away
            if command.stdin is not None:
                try:
                    count = os.write(command.stdin, self.typed)
                except BlockingIOError:
                    return
                except OSError:
                    self.tell(Kind.CLOSED, bytes([Kind.STDIN]))
                    self.close(command.stdin)
            self.typed = self.typed[count:]
            self.tell(Kind.CREDIT, CREDIT.pack(Kind.STDIN, count))
        if self.stdin_ends and not self.typed and command.stdin is not None:
            self.stdin_ends = False
            if command.terminal is None:
                self.close(command.stdin)
            else:
                os.write(command.terminal, termios.tcgetattr(command.terminal)[6][termios.VEOF])

    def forward(self, one: int) -> None:
        """Send what an output has, at most a few chunks; when it has no more and never will, close it."""
        kind = self.command.outputs[one]
        try:
            data = os.read(one, 4 * CHUNK_BYTES)
        except BlockingIOError:
            last_words = one == self.command.terminal and time.monotonic() < self.deadline
            if self.status is not None and not last_words:
                self.close(one)
            return
        except OSError:  # a terminal's way of saying that it has ended
            data = b""
        self.under_way[kind] += len(data)
        if self.status is not None:
            self.last_bytes -= len(data)
        if data:
            self.tell(kind, data)
        if not data or self.last_bytes < 0:
            self.close(one)

    def close(self, one: int) -> None:
        """Close our end of a stream."""
        os.close(one)
        self.command.outputs.pop(one, None)
        if one == self.command.stdin:
            self.command.stdin = None
        if one == self.command.terminal:
            self.command.terminal = None

    def reap(self) -> None:
        """Take leave of every process that has ended; all orphans of the guest are ours."""
        pid = 1
        while pid:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == self.command.pid:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
                self.deadline = time.monotonic() + _LAST_S


def main() -> None:
    """Say that the guest is up, wait for the word to go, run the command, say how it ended."""
    gc.disable()  # a collection would take the guest's only core from what is measured; nothing here is a circle
    line = os.open(_LINE, os.O_RDWR | os.O_NOCTTY)
    raw = termios.tcgetattr(line)
    raw[0] = raw[1] = raw[3] = 0
    raw[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    termios.tcsetattr(line, termios.TCSANOW, raw)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process is immune, and the command shall have it so

    agent = Agent(line)
    agent.tell(Kind.READY)
    orders: list[tuple[Kind, bytes]] = []
    while not orders:
        orders = agent.hear()
    now_ns, rows, columns = GO.unpack(orders[0][1])
    time.clock_settime_ns(time.CLOCK_REALTIME, now_ns)
    with open(_JOB, "rb") as job:
        agent.command = spawn(Job.load(job.read()), (rows, columns))
    for kind, data in orders[1:]:
        agent.obey(kind, data)
    status = agent.run(agent.command, wake)
    os.sync()
    agent.tell(Kind.EXIT, NUMBER.pack(status))
    while True:  # the host ends this kernel
        signal.pause()


if __name__ == "__main__":
    main()
