"""Doing things inside a network namespace that is known by a process living in it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from records.errors import CannotGoOn

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
T = TypeVar("T")


class KernelError(CannotGoOn):
    """A kernel call or tool failed; the message has the attempted action and the answer."""


def in_namespace(pid: int, work: Callable[[], T]) -> T:
    """Run `work` in the network namespace of process `pid` and return its result.

    A namespace belongs to a thread, so a thread of its own enters it and ends.  Sockets that `work` opens
    stay in the namespace for good.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            enter(pid)
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name=f"netns-{pid}")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def enter(pid: int) -> None:
    """Move the calling thread into the network namespace of process `pid`."""
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(handle, _CLONE_NEWNET):
            code = ctypes.get_errno()
            raise KernelError(f"entering the network namespace of process {pid}: {os.strerror(code)}")
    finally:
        os.close(handle)


@contextmanager
def throwaway_namespace() -> Iterator[int]:
    """A fresh network namespace with loopback up, as the pid of the process that holds it; gone when that is."""
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "--net",
        "sh",
        "-c",
        "ip link set lo up && echo up && exec sleep infinity",
    ]
    try:
        holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise KernelError(f"making a network namespace: {command[0]}: {error.strerror}") from error
    assert holder.stdout
    assert holder.stderr
    try:
        if holder.stdout.readline().strip() != "up":
            raise KernelError(f"making a network namespace: {holder.stderr.read().strip()}")
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stderr.close()


def prefix(pid: int) -> list[str]:
    """The words to put before a command so that it runs in the namespace of process `pid`."""
    return ["nsenter", "-t", str(pid), "-n", "--"]


def run_tool(command: Sequence[str], *, pid: int | None = None, text: str | None = None) -> str:
    """Run a tool (in the namespace of `pid`), give it `text`, return its output.  KernelError when it fails."""
    words = [*(prefix(pid) if pid else []), *command]
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        raise KernelError(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        raise KernelError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def read_sysctl(name: str) -> str:
    """A sysctl of the calling thread's namespace, '' when the kernel has none of that name."""
    try:
        return _sysctl(name).read_text().strip()
    except FileNotFoundError:
        return ""


def write_sysctl(name: str, value: str) -> None:
    """Set a sysctl in the calling thread's namespace; KernelError when refused."""
    try:
        _sysctl(name).write_text(value)
    except OSError as error:
        raise KernelError(f"setting {name} to {value!r}: {error.strerror}") from error


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")
