"""Running a trial so that nothing of it outlives it."""

from __future__ import annotations

import sys


def command() -> list[str]:
    """The command that runs experiments.trial_process as the first process of namespaces of its own.

    It dies with its parent (setpriv), and when it ends the kernel ends every process it has started, and with
    them every network namespace, link, queue and rule.
    """
    return [
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"),
        *(sys.executable, "-m", "experiments.trial_process"),
    ]
