"""What the line needs of Linux and Python 3.11 has not: an absolute timer, locked memory, TAP devices."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from emulation.kernel.namespace import KernelError

_CLOCK_MONOTONIC, _ABSOLUTE = 1, 1
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
_LOCK_NOW_AND_LATER = 3  # MCL_CURRENT | MCL_FUTURE
_SET_TIMER_SLACK = 29  # PR_SET_TIMERSLACK
_TUNSETIFF = 0x400454CA
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000  # IFF_TAP | IFF_NO_PI
_WAY_OUT = "run as root, or use --medium tc"
_BILLION = 1_000_000_000
_TUN = "/dev/net/tun"
_LATENCY = "/dev/cpu_dma_latency"
_libc = ctypes.CDLL(None, use_errno=True)


class _TimerSpec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class Timer:
    """A descriptor that becomes readable at a moment of CLOCK_MONOTONIC.

    Setting it anew makes it unreadable again, so nobody reads it.  (The time-outs of epoll are whole milliseconds.)
    """

    __slots__ = ("_at", "_reference", "_set", "_spec", "fd")

    def __init__(self) -> None:
        self.fd = _libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        if self.fd < 0:
            raise KernelError(f"making a timer: {os.strerror(ctypes.get_errno())}")
        self._spec = _TimerSpec()
        self._reference = ctypes.byref(self._spec)
        self._set = _libc.timerfd_settime
        self._set.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self._at = 0

    def set(self, at_ns: int) -> None:
        """Become readable at a moment (ns)."""
        if at_ns != self._at:
            self._at = at_ns
            self._spec.value_s, self._spec.value_ns = divmod(at_ns, _BILLION)
            self._set(self.fd, _ABSOLUTE, self._reference, None)


def first_in_line(priority: int) -> str:
    """Have this process run before all that is not real-time, with its memory locked; '' or why that is not allowed."""
    _libc.prctl(_SET_TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return f"no real-time class for the line's process ({error.strerror}), which needs CAP_SYS_NICE; {_WAY_OUT}"
    if _libc.mlockall(_LOCK_NOW_AND_LATER):
        return f"no locked memory for the line's process ({os.strerror(ctypes.get_errno())}); {_WAY_OUT}"
    return ""


@contextmanager
def awake() -> Iterator[bool]:
    """Ask that idle processors do not sleep deeply while the context lasts; gives whether the kernel could be asked.

    A wake-up from deep sleep takes 50 to 100 microseconds more.
    """
    with suppress(OSError):
        handle = os.open(_LATENCY, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, struct.pack("i", 0))
            yield True
        finally:
            os.close(handle)  # which takes the request back
        return
    yield False


def tap_name(port: int) -> str:
    """Of the device of a port; the wired port is number 0."""
    return f"line-{port}"


def tap(name: str) -> int:
    """Make a TAP device in the calling thread's namespace; it is gone when the descriptor is closed.

    KernelError when that cannot be, with what the user can do.
    """
    try:
        handle = os.open(_TUN, os.O_RDWR | _NONBLOCK_CLOEXEC)
    except OSError as error:
        cure = "load it with: modprobe tun" if error.errno in (errno.ENOENT, errno.ENODEV) else "run as root"
        raise KernelError(f"opening {_TUN} for the line: {error.strerror}; {cure}, or use --medium tc") from error
    try:
        fcntl.ioctl(handle, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP_WITHOUT_HEADER))
    except OSError as error:
        os.close(handle)
        raise KernelError(f"making the TAP device {name} for the line: {error.strerror}") from error
    return handle
