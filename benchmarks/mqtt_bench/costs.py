"""Where the processor time of a message goes: a process's own code, the kernel, and the system calls that it makes."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

_ROW = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+\d+)?\s+(\w+)$", re.MULTILINE)
_MOST = 4  # system calls that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """For one message: seconds in the process's own code and in the kernel; how often each system call is made."""

    own_s: float
    kernel_s: float
    calls: dict[str, float]

    @property
    def told(self) -> str:
        """The system calls that are made most often."""
        often = sorted(self.calls.items(), key=lambda one: -one[1])[:_MOST]
        return ", ".join(f"{name} {count:.2f}" for name, count in often if count >= 0.005)


def cost(process: psutil.Process, messages: Callable[[], int], seconds: float) -> Cost:
    """Of a process at work.  messages: how many it has had until now."""
    before, used = messages(), process.cpu_times()
    time.sleep(seconds)
    count, spent = max(messages() - before, 1), process.cpu_times()
    return Cost(own_s=(spent.user - used.user) / count, kernel_s=(spent.system - used.system) / count,
                calls=_calls(process.pid, messages, seconds))  # fmt: skip


def _calls(pid: int, messages: Callable[[], int], seconds: float) -> dict[str, float]:
    """strace counts them, which makes the process slower, and its messages fewer in a second."""
    with subprocess.Popen(["strace", "-c", "-f", "-p", str(pid)], stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr
        said = strace.stderr.readline()
        assert "attached" in said, said
        before = messages()
        time.sleep(seconds)
        count = max(messages() - before, 1)
        strace.send_signal(signal.SIGINT)
        return {name: int(calls) / count for calls, name in _ROW.findall(strace.stderr.read()) if name != "total"}
