"""libnftables in this process: a command costs a system call or two instead of a new process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

from emulation.kernel.namespace import KernelError, in_namespace

# libnftables waits by select(2), which takes no descriptor above; for another one glibc aborts the process.
_DESCRIPTORS = 1024

# A program of commands, and whether to print JSON; its status, what it prints, and what it complains of.
_Ask = Callable[[str, bool], tuple[int, str, str]]


class Nft:
    """nftables of the network namespace of process `pid`.

    Where this process has so many files open that libnftables cannot be used, its program `nft` is, for each command.
    """

    def __init__(self, pid: int) -> None:
        self._ask: _Ask | None = in_namespace(pid, _opened) or partial(_program, pid)
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Nft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(self, program: str, *, json: bool = False) -> str:
        """Run a program of nft commands as one transaction and return what it prints; KernelError when refused."""
        with self._one_at_a_time:
            assert self._ask is not None, "it was closed"
            failed, said, complaint = self._ask(program, json)
        if failed:
            raise KernelError(f"nft {program.strip().splitlines()[0][:120]}: {complaint.strip()[-2000:]}")
        return said

    def close(self) -> None:
        """Give the socket back; what was loaded stays."""
        self._ask = None


def _opened() -> _Ask | None:
    """The library, whose socket stays in the namespace in which it is opened; None where it cannot have one."""
    try:
        from nftables import Nftables  # noqa: PLC0415 - Debian's, so that it may be missing
    except ImportError as error:
        cure = "apt-get install python3-nftables"
        raise KernelError(f"{sys.executable} finds no module nftables; this brings it: {cure}") from error
    return partial(_library, Nftables()) if _next_descriptor() < _DESCRIPTORS else None


def _library(nft: Any, program: str, json: bool) -> tuple[int, str, str]:
    nft.set_json_output(json)
    failed, said, complaint = nft.cmd(program)
    return int(failed), str(said), str(complaint)


def _program(pid: int, program: str, json: bool) -> tuple[int, str, str]:
    # Asked for JSON it takes its standard input for JSON, too; such programs are short.
    command = ["nft", "--json", program] if json else ["nft", "--file", "-"]
    done = in_namespace(
        pid, lambda: subprocess.run(command, input="" if json else program, capture_output=True, text=True, check=False)
    )
    return done.returncode, done.stdout, done.stderr


def _next_descriptor() -> int:
    number = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.close(number)
    return number
