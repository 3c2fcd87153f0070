"""Whether the lab kernel boots here: tried with a command that does nothing, and remembered when it did.

What has booted is remembered for this boot of the machine, this kernel package, shim and user; a failure is not, so
that its cure shows at once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from emulation.kernel import memo
from emulation.labkernel import cores, installed, shim
from emulation.labkernel.installed import LabKernelError
from emulation.labkernel.invocation import command

_CORE_WAIT_S, _COMMAND_LIMIT_S = 10.0, 30.0
_LIMIT_S = 180.0  # beyond all limits of the lab kernel's own: waiting, booting, running, ending
TOPIC = "labkernel"
_PROJECT = str(Path(__file__).resolve().parents[2])
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Outcome(Enum):
    """What came of trying the lab kernel."""

    BOOTS = "boots"
    FAILS = "fails"
    ABSENT = "absent"  # something is not installed, or there is no room for it
    UNTRIED = "untried"  # other lab kernels have every core


@dataclass(frozen=True, slots=True)
class Boot:
    """The outcome, and why it is not BOOTS: one line with the cure, then the kernel's last words, if it had any."""

    outcome: Outcome
    why: str = ""


def check(*, wait_s: float = _CORE_WAIT_S) -> Boot:
    """Boot the lab kernel (about a second), unless it is known to boot.  wait_s: for a free core."""
    if why := installed.problem():
        return Boot(Outcome.ABSENT, why)
    try:
        preload = shim.chosen(os.environ)
    except LabKernelError as error:
        return Boot(Outcome.FAILS, str(error))
    state = _state(preload)
    if memo.recall(TOPIC) == state:
        return Boot(Outcome.BOOTS)
    boot = _boot(wait_s)
    if boot.outcome is Outcome.BOOTS:
        memo.keep(TOPIC, state)
    return boot


def _state(preload: Path | None) -> dict[str, str]:
    """What a boot's success depends on, beside what installed.problem looks at each time."""
    return {
        "boot": _BOOT_ID.read_text().strip(),
        "user": str(os.geteuid()),
        "kernel": memo.stamp(Path(shutil.which(installed.BINARY) or "")),
        "modules": f"{installed.release()} {memo.stamp(installed.MODULES / installed.release())}",
        "memory": str(installed.memory_folder(installed.DEFAULT_MEMORY)),
        "shim": preload.name if preload else "none",
    }


def _boot(wait_s: float) -> Boot:
    # Ends with us: setpriv's signal asks the stand-in to end its kernel first.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (_PROJECT, os.environ.get("PYTHONPATH"))))}
    words = ["setpriv", "--pdeathsig", "TERM", *command(["true"], timeout_s=_COMMAND_LIMIT_S, wait_s=wait_s)]
    try:
        done = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Boot(Outcome.FAILS, f"the lab kernel has neither booted nor failed within {_LIMIT_S:.0f} s")
    except OSError as error:
        return Boot(Outcome.FAILS, f"starting the lab kernel: {error}")
    if not done.returncode:
        return Boot(Outcome.BOOTS)
    said = done.stderr.strip().removeprefix("lab kernel: ") or f"the lab kernel ended with status {done.returncode}"
    return Boot(Outcome.UNTRIED if cores.HELD in said else Outcome.FAILS, said)
