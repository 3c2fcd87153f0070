"""The lab kernel: a Linux with netem as an ordinary process (user-mode Linux), in which one command runs as root."""

from emulation.labkernel.boot import Boot, Outcome, check
from emulation.labkernel.installed import DEFAULT_MEMORY, LabKernelError, problem, release
from emulation.labkernel.invocation import command

__all__ = ["DEFAULT_MEMORY", "Boot", "LabKernelError", "Outcome", "check", "command", "problem", "release"]
