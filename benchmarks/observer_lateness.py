"""How late a 10 ms sleeper wakes beside a trial of 800 connections: ordinary, at nice -20, and in a real-time class.

    python benchmarks/observer_lateness.py

Row 15 of the 2005 study's first set (400 publishers, 400 subscribers, 100 bytes) on the wire, where the broker has a
thread for each connection and the machine's processors are the limit.  Exit status 1 when the real-time sleeper was
100 ms late or more: experiments/trial/observers/priority.py would then not be what observers need.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_ALL_VALID = 3  # the trial was run, and something in it was not as it should be
BEAT_S = 0.01
LATE_S, TOO_LATE_S = 0.05, 0.1
_TRIAL = ("gaddah-kunz", "--quick", "--set", "1", "--tests", "15", "--only", "network=wireline-100m", "--new")


def _ordinary() -> None:
    pass


def _nice() -> None:
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def _real_time() -> None:
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


CLASSES: dict[str, Callable[[], None]] = {"ordinary": _ordinary, "nice -20": _nice, "real-time (RR 1)": _real_time}


def sleep(name: str) -> None:
    """Sleep on and on in this class, and print each time that was late."""
    CLASSES[name]()
    while True:
        due = time.monotonic() + BEAT_S
        time.sleep(BEAT_S)
        if (late := time.monotonic() - due) > LATE_S:
            print(late, flush=True)


@dataclass(slots=True)
class Watcher:
    """A sleeper in a process of its own, and how late it was each time that it was late."""

    name: str
    late: list[float] = field(default_factory=list)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Sleep beside what is done meanwhile.  RuntimeError when the sleeper did not live to its end."""
        with subprocess.Popen([sys.executable, __file__, self.name], stdout=subprocess.PIPE, text=True) as process:
            listener = threading.Thread(target=self._listen, args=(process,))
            listener.start()
            try:
                yield
                if process.poll() is not None:
                    raise RuntimeError(f"the {self.name} sleeper ended by itself, with status {process.returncode}")
            finally:
                process.terminate()
                listener.join()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.late += map(float, process.stdout)


def main() -> int:
    """Run the trial with all three watching; print a line for each."""
    watchers = [Watcher(name) for name in CLASSES]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as watched:
        for watcher in watchers:
            watched.enter_context(watcher.watching())
        command = [sys.executable, "-m", "lab", "paper", *_TRIAL, "--results", folder]
        status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, cwd=ROOT, timeout=600).returncode
        if status not in (0, NOT_ALL_VALID):
            raise RuntimeError(f"there was no trial to watch: {' '.join(command)} ended with status {status}")
    print(f"{time.monotonic() - began:.0f} s, of which 17 s are load")
    for watcher in watchers:
        worst = max(watcher.late, default=0.0)
        told = f"worst {worst:.2f} s" if watcher.late else f"never more than {LATE_S:g} s late"
        print(f"{watcher.name:>16}: {len(watcher.late)} times more than {LATE_S:g} s late, {told}")
    return int(max(watchers[-1].late, default=0.0) >= TOO_LATE_S)


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) == 1 else sleep(sys.argv[1]))
