"""How a command is run in a lab kernel."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from emulation.labkernel.installed import DEFAULT_MEMORY


def command(
    argv: Sequence[str],
    *,
    write: Sequence[str] = (),
    read: Sequence[str] = (),
    memory: str = DEFAULT_MEMORY,
    timeout_s: float | None = None,
    wait_s: float | None = None,
) -> list[str]:
    """The command that runs `argv` in a lab kernel, and behaves as `argv` would.

    write: folders in which what it writes stays.  read: folders below /tmp, /run or /dev/shm that it shall see.
    timeout_s: for the command, once booted.  wait_s: for a free core.
    """
    options = ["--memory", memory]
    options += ["--timeout", str(timeout_s)] if timeout_s is not None else []
    options += ["--wait", str(wait_s)] if wait_s is not None else []
    options += [word for folder in write for word in ("--write", folder)]
    options += [word for folder in read for word in ("--read", folder)]
    return [sys.executable, "-P", "-m", "emulation.labkernel", *options, "--", *argv]
