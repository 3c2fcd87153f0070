"""A trial as a process: first process of its own PID namespace, so that nothing of it outlives it.

`python -m experiments.trial.trial_process` reads a TrialSpec (one JSON line), then readings of the machine and, beside
others, that all of them stand (one JSON line each), and answers with JSON lines: phases, then `finished` or `failed`.
When its standard input ends, its owner is gone: it exits, and the kernel ends every process of the namespace and with
them every network namespace, link, queue and rule.
"""

from __future__ import annotations

import os
import resource
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from emulation.kernel import congestion, kernel
from experiments.trial.context import Finished, TrialSpec
from experiments.trial.observers.hostlog import HostLog
from experiments.trial.others import Others
from experiments.trial.trial import run_trial
from experiments.workers.worker import Failed, asked_for
from records import no_pandas
from records.store import TrialWriter, failed_folder

OPEN_FILES = 65_536


def main() -> int:
    """Run the trial that standard input describes."""
    no_pandas.keep_out()
    host, others = HostLog(same_clock=kernel.current() == "host"), Others()

    def hear(line: bytes) -> None:
        others.hear(line)
        host.hear(line)

    spec, tell = asked_for(TrialSpec, hear)
    try:
        with _prepared(spec):
            _, verdict = run_trial(spec, tell, host, others)
    except Exception as error:  # noqa: BLE001 - every failure is reported to the owner, with its trace in the log
        with suppress(OSError):  # the log may be on a full disk
            traceback.print_exc()
        writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
        # A message may name a log of the unfinished folder, which has moved since.
        message = (str(error) or repr(error)).replace(str(writer.path), str(failed_folder(writer.final)))
        tell(Failed(kind=type(error).__name__, message=message, notes=tuple(getattr(error, "__notes__", ()))))
        return 1
    tell(Finished(state=verdict.state, reasons=verdict.reasons()))
    return 0


def _allow_open_files() -> None:
    """A server of 800 clients has more files open than the usual soft limit of 1024; what we start inherits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > soft:
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


@contextmanager
def _prepared(spec: TrialSpec) -> Iterator[None]:
    """A lab kernel is fresh: nobody has allowed the trial's congestion control in it yet."""
    _allow_open_files()
    if kernel.current() == "host":
        yield
        return
    with congestion.allowed({spec.settings.congestion_control}):
        yield


if __name__ == "__main__":
    exit_status = main()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(exit_status)  # taking the interpreter apart takes as long as a quarter of its imports, and closes nothing
