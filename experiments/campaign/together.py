"""Trials of one turn: all of their servers stand, and all clients are connected, before the first one loads its link.

And what all of them have to measure is measured before the first one ends its clients and servers.  Starting a server
takes a processor for seconds, in another trial's window.  Two seconds after clients of three trials had ended, which is
when a guest tells its hypervisor of pages that became free, both virtual processors stood still for 21 to 44 ms, five
times in half a second, and a fourth trial's line was late (tracepoint `sched_switch`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from experiments.trial.others import WAITS, Wait
from records.campaign import Planned


class Together:
    """Who is still to come, and who waits for them.  Every trial is told about in a thread of its own."""

    def __init__(self, trials: Iterable[Planned] = ()) -> None:
        self._lock = threading.Lock()
        every = set(trials)
        self._coming: dict[Wait, set[Planned]] = {wait: set(every) for wait in WAITS}
        self._waiting: dict[Planned, Wait] = {}

    def phase(self, planned: Planned, name: str) -> None:
        """What a trial says of itself."""
        with self._lock:
            self._waiting.pop(planned, None)
            for wait in (one for one in WAITS if one == name):
                self._coming[wait].discard(planned)
                self._waiting[planned] = wait

    def ended(self, planned: Planned) -> None:
        """A trial comes no more, whatever became of it."""
        with self._lock:
            self._waiting.pop(planned, None)
            for coming in self._coming.values():
                coming.discard(planned)

    def begins(self, planned: Planned) -> Wait | None:
        """The phase in which a trial waits, when it may go on."""
        with self._lock:
            wait = self._waiting.get(planned)
            return wait if wait and not self._coming[wait] else None
