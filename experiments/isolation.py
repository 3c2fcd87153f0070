"""Running a trial so that nothing of it outlives it, on either kernel."""

from __future__ import annotations

import sys
from pathlib import Path

from emulation import labkernel
from emulation.kernel import KernelName


def command(kernel: KernelName, *, campaign: Path) -> list[str]:
    """The command that runs experiments.trial_process, whose results go below the folder `campaign`.

    On the machine's own kernel it is the first process of namespaces of its own, and dies with its parent
    (setpriv); when it ends the kernel ends every process it has started, and with them every network namespace,
    link, queue and rule.  In the lab kernel all of that ends with that kernel.
    """
    trial = [sys.executable, "-m", "experiments.trial_process"]
    if kernel == "lab":
        return labkernel.command(trial, write=[str(campaign)])
    return [
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"),
        *trial,
    ]
