"""Trials of one turn: all of their servers stand, and all clients are connected, before the first one loads its link.

Starting a server takes a processor for seconds; in another trial's window it would be measured there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from experiments.trial.others import READY
from records.campaign import Planned


class Together:
    """Who is still to come, and who waits for them.  Every trial is told about in a thread of its own."""

    def __init__(self, trials: Iterable[Planned] = ()) -> None:
        self._lock = threading.Lock()
        self._coming, self._waiting = set(trials), set[Planned]()

    def phase(self, planned: Planned, name: str) -> None:
        """What a trial says of itself."""
        with self._lock:
            self._coming -= {planned} if name == READY else set()
            self._waiting = self._waiting | {planned} if name == READY else self._waiting - {planned}

    def ended(self, planned: Planned) -> None:
        """A trial comes no more, whatever became of it."""
        with self._lock:
            self._coming.discard(planned)
            self._waiting.discard(planned)

    def begins(self, planned: Planned) -> bool:
        """Whether a trial that waits may go on."""
        with self._lock:
            return planned in self._waiting and not self._coming
