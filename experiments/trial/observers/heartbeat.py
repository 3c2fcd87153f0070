"""A heartbeat: a 10 ms sleeper whose worst lateness tells a stalled machine from a fault."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_BEAT_S = 0.01


class Heartbeat:
    """worst_s: longest that the sleeper woke late, since the last `taken`."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        self.stop = threading.Event()

    def beat(self) -> None:
        """The thread."""
        while not self.stop.is_set():
            due = time.monotonic() + _BEAT_S
            time.sleep(_BEAT_S)
            self.worst_s = max(self.worst_s, time.monotonic() - due)

    def taken(self) -> float:
        """The worst lateness (s), which is forgotten with that."""
        worst, self.worst_s = self.worst_s, 0.0
        return worst


@contextmanager
def heartbeat() -> Iterator[Heartbeat]:
    """A heart that beats as long as the context lasts."""
    heart = Heartbeat()
    thread = threading.Thread(target=heart.beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield heart
    finally:
        heart.stop.set()
        thread.join()
