"""Running things so that nothing of them outlives them, on either kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from emulation import labkernel
from emulation.kernel import KernelName

ROOT = Path(__file__).resolve().parents[1]
# Where the modules that are run are found from any folder.
SOURCES = {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))}


def command(kernel: KernelName, *, campaign: Path) -> list[str]:
    """The command that runs experiments.trial_process, whose results go below the folder `campaign`."""
    return isolated(kernel, module("experiments.trial_process"), write=[campaign])


def shell_command(kernel: KernelName, words: Sequence[str], *, read: Sequence[Path]) -> list[str]:
    """The command that runs experiments.shell_process in the current folder, which it may write to if we may."""
    here = Path.cwd()
    write = [here] if os.access(here, os.W_OK) else []
    return isolated(kernel, [*module("experiments.shell_process"), *words], write=write, read=read)


def isolated(
    kernel: KernelName, words: Sequence[str], *, write: Sequence[Path] = (), read: Sequence[Path] = ()
) -> list[str]:
    """A command that runs `words` and takes everything along that they have made, when it ends.

    On the machine's own kernel `words` are the first process of namespaces of their own, and die with their parent
    (setpriv); when they end the kernel ends every process they have started, and with them every network
    namespace, link, queue and rule.  In the lab kernel all of that ends with that kernel; there, what is written
    stays only below the folders `write`, and of /tmp, /run and /dev/shm only those and `read` are seen.
    """
    if kernel == "lab":
        return labkernel.command(list(words), write=list(map(str, write)), read=list(map(str, read)))
    return [
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"),
        *words,
    ]
