"""`lab doctor`: what this machine can do by itself, in the lab kernel, and not at all."""

from __future__ import annotations

from lab.verbs.dispatch import done_by


@done_by("lab.doctor")
def doctor() -> None:
    """Say what this machine can do, what it cannot, and what would cure it.

    What a stack lacks is told, and takes nothing from the other stacks.

    Boots the lab kernel: a second, once after each start of the machine.  Exit status: 0 every link profile runs here,
    on one kernel or the other; 3 some do not, or the lab kernel does not boot or could not be tried; 1 nothing runs.
    """
