"""What the lab kernel needs from this machine, and whether it is there."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

BINARY = "linux.uml"
MODULES = Path("/usr/lib/uml/modules")
BUSYBOX, PYTHON = Path("/bin/busybox"), Path("/usr/bin/python3")
DEFAULT_MEMORY = "2G"
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - this is what it is about
_UNITS = {"M": 1 << 20, "G": 1 << 30}
_LEAST_BYTES = 128 << 20
_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
NO_PTRACE = (
    "the lab kernel needs ptrace, which is not permitted here: in a container, start that with "
    "--cap-add SYS_PTRACE --security-opt seccomp=unconfined"
)


class LabKernelError(Exception):
    """The lab kernel cannot be run, or has failed; the message says what is wrong and the way out."""


def release() -> str:
    """The version of the installed lab kernel, such as 6.1.176; '' when there is none."""
    versions = [one.name for one in MODULES.glob("[0-9]*") if (one / "kernel/fs/overlayfs/overlay.ko").exists()]
    return max(versions, key=lambda name: [int(part) for part in re.findall(r"\d+", name)], default="")


def problem(memory: str = DEFAULT_MEMORY) -> str:
    """Why a lab kernel with this memory cannot be run here, with the cure; '' when nothing speaks against it.

    Starts nothing; what only a start shows (a container that forbids ptrace) is found by `boot.check`.
    """
    try:
        require(memory)
    except LabKernelError as error:
        return str(error)
    return ""


def require(memory: str = DEFAULT_MEMORY) -> None:
    """LabKernelError when something is missing."""
    if os.environ.get("AIRWIRE_KERNEL") == "lab":
        raise LabKernelError("this is the lab kernel, and it does not run within itself: run the command directly")
    if not shutil.which(BINARY) or not release():
        raise LabKernelError(
            f"the lab kernel ({BINARY} and its modules in {MODULES}) is not installed: apt-get install user-mode-linux"
        )
    if not os.access(BUSYBOX, os.X_OK):
        raise LabKernelError(
            f"{BUSYBOX}, which starts the lab kernel's guest, is missing: apt-get install busybox-static"
        )
    if not os.access(PYTHON, os.X_OK):
        raise LabKernelError(f"{PYTHON}, which serves the lab kernel's guest, is missing: apt-get install python3")
    scope = int(_PTRACE_SCOPE.read_text()) if _PTRACE_SCOPE.exists() else 0
    if scope == 3 or (scope == 2 and os.geteuid()):
        raise LabKernelError(
            f"the lab kernel needs ptrace, which {_PTRACE_SCOPE} = {scope} forbids"
            + (": as root, sysctl kernel.yama.ptrace_scope=1" if scope == 2 else " until the machine is rebooted")
        )
    memory_folder(memory)


def memory_bytes(text: str) -> int:
    """'512M' or '2G' as bytes; LabKernelError for anything else, or for less than the guest needs."""
    match = re.fullmatch(r"(\d+)([MG])", text)
    if not match or (size := int(match[1]) * _UNITS[match[2]]) < _LEAST_BYTES:
        raise LabKernelError(f"memory {text!r}: not a size of at least 128M, such as 512M or 2G")
    return size


def memory_folder(memory: str) -> Path:
    """Where the guest's memory, a file, can be.  LabKernelError when nowhere.

    /dev/shm, unless it is unfit; then $TMPDIR, which can be a disk and slow.  The file grows with what the guest
    touches and has no name, so it goes with the kernel.
    """
    size = memory_bytes(memory)
    wrong = _unfit(_SHARED_MEMORY, size)
    if not wrong:
        return _SHARED_MEMORY
    temporary = os.environ.get("TMPDIR")
    if temporary and not _unfit(Path(temporary), size):
        return Path(temporary)
    raise LabKernelError(
        f"no place for the lab kernel's memory of {memory}: {wrong}"
        + (f"; TMPDIR: {_unfit(Path(temporary), size)}" if temporary else "")
        + ": set TMPDIR to a folder that will do, best on a tmpfs, or ask for less memory"
    )


def _unfit(folder: Path, size: int) -> str:
    if not folder.is_dir():
        return f"{folder} is not there"
    if not os.access(folder, os.W_OK):
        return f"{folder} is not writable"
    state = os.statvfs(folder)
    if state.f_flag & os.ST_NOEXEC:
        return f"{folder} is mounted noexec"
    if (free := state.f_bavail * state.f_frsize) < size:
        return f"{folder} has {free >> 20} MiB free"
    return ""


def scratch_base() -> Path:
    """Where the private folder of a lab kernel is made: a short, plain path, as it stands in the kernel's command line
    and in names of sockets."""
    base = tempfile.gettempdir()
    return Path(base if re.fullmatch(r"[\w/.+-]{1,50}", base, re.ASCII) else "/tmp")  # noqa: S108 - mkdtemp's own default
