"""The line's process as its owner has it: one, which begins with its first link, for all links of a trial."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from emulation.kernel import quota
from emulation.kernel.namespace import KernelError
from emulation.line import idlepoll
from emulation.line.request import Answer, Late, Ready, Request

_ROOT = Path(__file__).resolve().parents[2]
# A line goes before all others: it answers at once, however busy this machine is.
_BEGIN_LIMIT_S, _ANSWER_LIMIT_S, _END_LIMIT_S = 60.0, 5.0, 5.0
_LOOK_S = 0.5  # a stall of this machine takes one look's time, however long it is
M = TypeVar("M", bound=BaseModel)


class LineProcess:
    """Carries links, each by its name.  Any thread may ask, but that of the first link has to live as long as this.

    When the process has ended, or does not answer, every question raises KernelError, which says so for all links.
    """

    def __init__(self, *, idle_poll: bool = True) -> None:
        """idle_poll: whether its processor is kept from halting where that takes a process (see idlepoll)."""
        self._lock = threading.Lock()
        self._process: _Conversation | None = None
        self._links: list[str] = []
        self._over = ""
        self._idle_poll = idle_poll
        self._idlepoll: subprocess.Popen[bytes] | None = None
        self._sleepy = ""

    @property
    def processes(self) -> Mapping[str, int]:
        """The process's number, as `line`; nothing before there is a link."""
        return {"line": self._process.pid} if self._process else {}

    @property
    def idle_polled(self) -> int | None:
        """The process that keeps the line's processor from halting, where one does, as long as it lives."""
        return self._idlepoll.pid if self._idlepoll and self._idlepoll.poll() is None else None

    @property
    def sleepy(self) -> str:
        """Why idle processors sleep all the same, and wake the line later; '' where they do not."""
        if self._idlepoll and self._idlepoll.poll() is not None:
            return f"the process that kept the line's processor awake ended (status {self._idlepoll.returncode})"
        return self._sleepy

    def add(self, name: str, request: Request) -> Ready:
        """Have it carry one more link.  KernelError says why it cannot."""
        words = b"add " + name.encode() + b" " + request.model_dump_json().encode()
        with self._lock:
            self._process = self._process or _Conversation()
            ready = self._answered(words, Ready, _BEGIN_LIMIT_S)
            self._links.append(name)
            if not idlepoll.drivers_sleep():
                if self._idle_poll:
                    self._poll_idle()
            elif not ready.awake:
                self._sleepy = "this machine refused /dev/cpu_dma_latency"
        return ready

    def remove(self, name: str) -> None:
        """Have it carry a link no longer; of a process that has ended there is nothing to be removed."""
        with self._lock, suppress(KernelError):
            self._answered(f"remove {name}".encode(), Answer, _ANSWER_LIMIT_S)
            self._links.remove(name)

    def ask(self, word: str, kind: type[M]) -> M:
        """Ask with a line of words.

        KernelError when it says why it cannot answer, and when it has ended or does not answer: at once from then on.
        """
        with self._lock:
            return self._answered(word.encode(), kind, _ANSWER_LIMIT_S)

    def late(self) -> Late | None:
        """How late it was, with all links, since the last question; None when it carries none."""
        return self.ask("late", Late) if self._links else None

    def end(self) -> None:
        """Have the process end, by force if it does not by itself."""
        with self._lock:
            if self._idlepoll is not None:
                self._idlepoll.kill()
                self._idlepoll.wait()
                self._idlepoll = None
            if self._process is not None:
                self._process.end(0 if self._over else _END_LIMIT_S)
                was_ended = f"the line's process (pid {self._process.pid}) was ended: its links have been taken off"
                self._over = self._over or was_ended

    def _answered(self, words: bytes, kind: type[M], limit_s: float) -> M:
        assert self._process is not None
        if not self._over:
            try:
                answer = self._process.asked(words, limit_s)
            except BrokenPipeError:
                self._over = self._process.ended(self._crossed())
            except TimeoutError:
                self._over = f"the line's process (pid {self._process.pid}) has not answered for {limit_s:g} s"
        if self._over:
            raise KernelError(self._over)
        if error := Answer.model_validate_json(answer).error:
            raise KernelError(error)
        return kind.model_validate_json(answer)

    def _poll_idle(self) -> None:
        assert self._process is not None
        if quota.is_set():
            self._sleepy = "to keep the line's processor awake would use up a control group's quota"
        elif self._idlepoll is None:
            self._idlepoll = idlepoll.started(self._process.pid)

    def _crossed(self) -> str:
        if len(self._links) < 2:
            return "the link"
        return f"any of the links {', '.join(self._links)}"


class _Conversation:
    """The process, and lines to it and from it."""

    def __init__(self) -> None:
        self._text = b""
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", sys.executable, "-P", "-m", "emulation.line.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])},
            process_group=0,  # a terminal's Ctrl-C is for others
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self.pid = self._process.pid

    def asked(self, words: bytes, limit_s: float) -> bytes:
        """The answer to a line.  BrokenPipeError when the process has ended, TimeoutError when there is none."""
        os.write(self._stdin.fileno(), words + b"\n")
        left, answers = round(limit_s / _LOOK_S), select.poll()
        answers.register(self._stdout, select.POLLIN)
        while b"\n" not in self._text:
            if not answers.poll(_LOOK_S * 1e3):
                left -= 1
                if not left:
                    raise TimeoutError
                continue
            data = os.read(self._stdout.fileno(), 1 << 20)
            if not data:
                raise BrokenPipeError
            self._text += data
        line, _, self._text = self._text.partition(b"\n")
        return line

    def ended(self, crossed: str) -> str:
        """How the process ended, and with which words.  crossed: what no packet crosses without it."""
        said = ""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S)
            said = self._stderr.read().decode(errors="replace").strip()
        if "\n" in said:  # a fault of ours
            print(said, file=sys.stderr)
        status = self._process.returncode
        how = signal.Signals(-status).name if status and status < 0 else f"status {status}"
        last = f": {said.splitlines()[-1]}" if said else ""
        return f"the line's process (pid {self.pid}) ended, and without it no packet crosses {crossed} ({how}{last})"

    def end(self, limit_s: float) -> None:
        """Have it end, by force if it has not by itself after so long."""
        with suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()
        self._stderr.close()


@contextmanager
def serving(*, idle_poll: bool = True) -> Iterator[LineProcess]:
    """A process for as many links as are added while the context lasts; with none there is no process.

    idle_poll: as of LineProcess.
    """
    line = LineProcess(idle_poll=idle_poll)
    try:
        yield line
    finally:
        line.end()
