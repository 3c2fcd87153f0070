"""How a page of figures says what made it: command, revision and machine."""

from __future__ import annotations

import shlex
import sys
from typing import TypedDict

from experiments.trial import provenance


class Made(TypedDict):
    """command: as typed.  revision: of the program.  machine: processor and kernel."""

    command: str
    revision: str
    machine: str


def made() -> Made:
    """What this command is, and where it runs."""
    here = provenance.gather()
    return Made(
        command=shlex.join(["lab", *sys.argv[1:]]),
        revision=here.git.revision[:7] + (" with changes" if here.git.dirty else ""),
        machine=f"{here.machine.cores} cores of an {here.machine.cpu_model}, Linux {here.kernel.release.split()[0]}",
    )
