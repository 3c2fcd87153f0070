"""CPU-seconds of everything that a piece of work starts.

Spark's Python workers are children of a process that does not wait for them, so getrusage(RUSAGE_CHILDREN) never
has their time.  They are watched while they live, ten times a second; what is missed is below 0.1 s a process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

_EVERY_S = 0.1


@dataclass(slots=True)
class Use:
    """CPU-seconds by kind of process, and the peak memory of a Python worker and of any other process.

    Complete when the block has ended.
    """

    driver: float = 0.0
    java: float = 0.0
    workers: float = 0.0
    worker_peak_bytes: int = 0
    java_peak_bytes: int = 0
    _seen: dict[int, tuple[bool, float]] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """All of them."""
        return self.driver + self.java + self.workers

    def look(self, process: psutil.Process) -> None:
        """Note what every descendant of `process` has used by now."""
        for child in process.children(recursive=True):
            try:
                used, name = child.cpu_times(), child.name()
                is_python = name.startswith("python")
                self._seen[child.pid] = (is_python, used.user + used.system)
                peak = int(child.memory_info().rss - child.memory_info().shared)
                if is_python:
                    self.worker_peak_bytes = max(self.worker_peak_bytes, peak)
                else:
                    self.java_peak_bytes = max(self.java_peak_bytes, peak)
            except psutil.Error:
                continue
        self.workers = sum(used for is_python, used in self._seen.values() if is_python)
        self.java = sum(used for is_python, used in self._seen.values() if not is_python)


@contextmanager
def counted() -> Iterator[Use]:
    """Count what this process and all that it starts use inside the block."""
    use, done, me = Use(), threading.Event(), psutil.Process()

    def watch() -> None:
        while not done.wait(_EVERY_S):
            use.look(me)

    watcher = threading.Thread(target=watch, daemon=True)
    began = time.process_time()
    watcher.start()
    try:
        yield use
    finally:
        done.set()
        watcher.join()
        use.driver = time.process_time() - began
