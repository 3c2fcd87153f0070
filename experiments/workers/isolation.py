"""Running things so that nothing of them outlives them, on either kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from emulation import labkernel
from emulation.kernel.kernel import KernelName

ROOT = Path(__file__).resolve().parents[2]
# Where `module` finds ours, from any folder.
SOURCES = {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))}


def command(kernel: KernelName, *, campaign: Path) -> list[str]:
    """The command that runs experiments.trial.trial_process, whose results go below the folder `campaign`."""
    return isolated(kernel, module("experiments.trial.trial_process"), write=[campaign])


def module(name: str) -> list[str]:
    """The command that runs a module of ours, and never one of the same name in the folder where the user is."""
    return [sys.executable, "-P", "-m", name]


def isolated(kernel: KernelName, words: Sequence[str], *, write: Sequence[Path] = ()) -> list[str]:
    """A command that runs `words` and takes everything along that they have made, when it ends.

    It dies with its parent (setpriv).  On the machine's own kernel `words` are the first process of namespaces of
    their own; when they end the kernel ends every process they have started, and with them every network namespace,
    link, queue and rule.  In the lab kernel all of that ends with that kernel; there, what is written stays only
    below the folders `write`.
    """
    if kernel == "lab":
        # A signal that its stand-in can hear: it ends the kernel before itself.
        return ["setpriv", "--pdeathsig", "TERM", *labkernel.command(list(words), write=list(map(str, write)))]
    return [
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"),
        *words,
    ]
