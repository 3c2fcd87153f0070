"""Processor time of every thread of the servers: a broker with one busy thread is at its limit on any machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from experiments.trial.observers.processes import PROC, parse_process, read

# A broker of 800 connections has 1,600 threads: 25 ms of a core to read, and more in the lab kernel.
_SHORTEST_S = 1.0
_MOST_OF_THE_TIME = 0.01
_AT_ONCE = 64
_PAUSE_S = 0.001
_KEPT = 5

Row = tuple[int, str, str, float]


class Threads:
    """Reads them now and then, as often as that costs at most 1 % of the time.  servers: service to its process."""

    def __init__(self, servers: Mapping[str, int], *, proc: Path = PROC, pause: Callable[[float], None] = time.sleep):
        self._servers, self._proc, self._pause = servers, proc, pause
        self._due = 0.0
        self._read: dict[tuple[str, int, float], list[tuple[int, str, float]]] = {}

    def take(self) -> None:
        """Read all threads when it is time."""
        began = time.monotonic()
        if began < self._due:
            return
        for service, pid in self._servers.items():
            with suppress(OSError):  # it has ended; who owns it says so
                self._take(service, f"{self._proc}/{pid}/task")
        done = time.monotonic()
        self._due = done + max(_SHORTEST_S, (done - began) / _MOST_OF_THE_TIME)

    def _take(self, service: str, folder: str) -> None:
        for number, name in enumerate(os.listdir(folder), 1):
            with suppress(OSError, ValueError, IndexError):
                thread = parse_process(read(f"{folder}/{name}/stat"))
                key = service, thread.pid, thread.started_s
                self._read.setdefault(key, []).append((time.monotonic_ns(), thread.name, thread.own_s))
            if number % _AT_ONCE == 0:
                self._pause(_PAUSE_S)  # this thread goes before the load, which has to have its turn

    def rows(self) -> list[Row]:
        """Rows of the resources table for the threads of each server that used most."""
        found: list[Row] = []
        for service in self._servers:
            mine = {key: read for key, read in self._read.items() if key[0] == service and len(read) > 1}
            most = sorted(mine, key=lambda key: mine[key][0][2] - mine[key][-1][2])[:_KEPT]
            for key in most:
                subject = f"thread:{service}/{key[1]} {mine[key][-1][1]}"
                found += [(t_ns, subject, "cpu_seconds", used_s) for t_ns, _, used_s in mine[key]]
        return found
