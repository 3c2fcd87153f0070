"""The shim (xstate.c) that lets the lab kernel run on processors with a large extended state, such as those with AMX.

`python -m emulation.labkernel.shim` builds it, as the set-up does.  AIRWIRE_LAB_SHIM=on preloads it into the lab
kernel on any processor, =off on none, =auto (the default) where it is needed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from emulation.labkernel.installed import LabKernelError
from emulation.labkernel.xstate import xstate_bytes

VARIABLE, SWITCHES = "AIRWIRE_LAB_SHIM", ("auto", "on", "off")
ROOM_BYTES = 2696  # what the lab kernel 6.1 has for a process's extended state (FP_SIZE)
SOURCE = Path(__file__).with_name("xstate.c")
_BUILD = Path(__file__).resolve().parents[2] / "build"


def wanted(switch: str, size_bytes: int) -> bool:
    """Whether the lab kernel gets the shim, on a machine whose processes have this much extended state."""
    return switch == "on" or (switch == "auto" and size_bytes > ROOM_BYTES)


def chosen(environment: Mapping[str, str], *, measure: Callable[[], int] = xstate_bytes) -> Path | None:
    """The shim to preload into the lab kernel's process, None when it gets none.

    LabKernelError when it is wanted and not built, when the switch has no such position, or when `measure` raises it.
    """
    switch = environment.get(VARIABLE) or "auto"
    if switch not in SWITCHES:
        raise LabKernelError(f"{VARIABLE}={switch!r} is not one of {', '.join(SWITCHES)}")
    size = measure() if switch == "auto" else 0
    if not wanted(switch, size):
        return None
    if not (library := path()).exists():
        need = f"{VARIABLE}=on asks for" if switch == "on" else f"this processor's {size:,} bytes of registers need"
        raise LabKernelError(f"{need} the lab kernel's shim {library}, which has not been built: make setup")
    return library


def path(folder: Path = _BUILD) -> Path:
    """Where the shim built of this source is; another source has another name."""
    return folder / f"labkernel-xstate-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]}.so"


def build(folder: Path = _BUILD) -> Path:
    """Build the shim unless it is there, for all users of this machine.  LabKernelError when that fails."""
    if (library := path(folder)).exists():
        return library
    try:
        folder.mkdir(exist_ok=True)
        number, name = tempfile.mkstemp(dir=folder, prefix=".xstate-")
        os.close(number)
        fresh = Path(name)
        try:
            _compile(fresh)
            fresh.chmod(0o644)
            fresh.replace(library)
        finally:
            with suppress(FileNotFoundError):
                fresh.unlink()
    except OSError as error:
        raise LabKernelError(f"building the lab kernel's shim: {error.filename}: {error.strerror}") from error
    return library


def _compile(output: Path) -> None:
    command = ["tcc", "-Wall", "-Werror", "-shared", "-nostdlib", "-o", str(output), str(SOURCE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LabKernelError(
            "tcc, which builds the lab kernel's shim, is not installed: apt-get install tcc"
        ) from error
    if done.returncode:
        raise LabKernelError(f"tcc cannot build the lab kernel's shim: {(done.stderr or done.stdout).strip()}")


def main() -> int:
    """Build it; status 1 and a message when that is not possible."""
    try:
        build()
    except LabKernelError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
