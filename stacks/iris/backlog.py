"""What an application's threads have not come to yet, bounded."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger("airwire.iris")
ROOM_BYTES = 64 * 1024 * 1024


class Backlog:
    """Work that waits for threads, with at most `room` bytes in all; what does not fit is dropped and counted.

    Something is taken whatever its size where nothing waits.
    """

    def __init__(self, workers: int, name: str, *, room: int = ROOM_BYTES) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._room, self._waiting = room, 0
        self.dropped = 0

    def add(self, size: int, work: Callable[[], None]) -> bool:
        """Have a thread do the work, which keeps `size` bytes until it begins; whether there was room."""
        with self._lock:
            if self._waiting and self._waiting + size > self._room:
                self.dropped += 1
                return False
            self._waiting += size
        self._threads.submit(self._begin, size, work)
        return True

    def _begin(self, size: int, work: Callable[[], None]) -> None:
        with self._lock:
            self._waiting -= size
        try:
            work()
        except Exception:
            log.exception("%s: a handler has failed", threading.current_thread().name)

    def end(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
