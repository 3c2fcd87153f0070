"""The shim (xstate.c) that lets the lab kernel run on processors with a large extended state, such as those with AMX.

AIRWIRE_LAB_SHIM=on preloads it into the lab kernel on any processor, =off on none, =auto (the default) where it is
needed.  The set-up builds it (shim_build.py).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from emulation.labkernel.installed import LabKernelError
from emulation.labkernel.xstate import xstate_bytes

VARIABLE, SWITCHES = "AIRWIRE_LAB_SHIM", ("auto", "on", "off")
ROOM_BYTES = 2696  # what the lab kernel 6.1 has for a process's extended state (FP_SIZE)
SOURCE = Path(__file__).with_name("xstate.c")
BUILD = Path(__file__).resolve().parents[2] / "build"


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
    if not os.access(library := path(), os.R_OK):
        need = f"{VARIABLE}=on asks for" if switch == "on" else f"this processor's {size:,} bytes of registers need"
        raise LabKernelError(
            f"{need} the lab kernel's shim {library}, which has not been built, or not for you to read: make setup"
        )
    return library


def path(folder: Path = BUILD) -> Path:
    """Where the shim built of this source is; another source has another name."""
    return folder / f"labkernel-xstate-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]}.so"
