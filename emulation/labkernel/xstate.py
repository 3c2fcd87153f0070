"""How large the extended state of a process is on this machine: x87, vector and matrix registers, protection keys."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess

from emulation.labkernel.installed import NO_PTRACE, LabKernelError

_SEIZE, _INTERRUPT, _GETREGSET, _NT_X86_XSTATE = 0x4206, 0x4207, 0x4204, 0x202
_WALL = 0x40000000  # waitpid: also for who is traced
_MOST_BYTES = 65536
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class _IoVector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def xstate_bytes() -> int:
    """Bytes that this machine's kernel reads and sets as a process's NT_X86_XSTATE; 0 when it has no such thing.

    Asked of a process that is stopped for it, so it is the number that the lab kernel meets, whatever the processor
    could have beyond what the machine's kernel has switched on.  LabKernelError when ptrace is not permitted.
    """
    # Waits for its input, so that it ends with us, however we do.
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            _trace(_SEIZE, process.pid)
            _trace(_INTERRUPT, process.pid)
            os.waitpid(process.pid, _WALL)
            return _area_bytes(process.pid)
        finally:
            process.kill()


def _trace(request: int, pid: int) -> None:
    if _libc.ptrace(request, pid, None, None):
        raise LabKernelError(f"{NO_PTRACE} (it says: {os.strerror(ctypes.get_errno())})")


def _area_bytes(pid: int) -> int:
    buffer = ctypes.create_string_buffer(_MOST_BYTES)
    area = _IoVector(ctypes.addressof(buffer), _MOST_BYTES)
    if not _libc.ptrace(_GETREGSET, pid, _NT_X86_XSTATE, ctypes.byref(area)):
        return int(area.length)
    if (number := ctypes.get_errno()) in (errno.ENODEV, errno.EINVAL, errno.EIO):  # the lab kernel goes without, too
        return 0
    raise LabKernelError(f"asking for the size of a process's registers failed: {os.strerror(number)}")
