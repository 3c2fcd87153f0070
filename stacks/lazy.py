"""Lazy, cumulative acknowledgement (JMS DUPS_OK): the last message stands for all before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

# After this many messages, half of ActiveMQ's prefetch for durable subscriptions, or half of a smaller one, as its JMS
# client does, or this long after the first unacknowledged one (its optimizeAcknowledgeTimeOut), and on close.
LAZY_MESSAGES, LAZY_S = 50, 0.3

T = TypeVar("T")


class LazyAcknowledgement(Generic[T]):
    """Calls `acknowledge` with the latest message's identity when enough are due.

    prefetch: how many the provider sends without an acknowledgement.
    """

    def __init__(self, acknowledge: Callable[[T], None], *, prefetch: int = 2 * LAZY_MESSAGES) -> None:
        self._acknowledge = acknowledge
        self._enough = min(LAZY_MESSAGES, max(1, prefetch // 2))
        self._due = 0
        self._timer: asyncio.TimerHandle | None = None

    def handled(self, identity: T) -> None:
        """Note that the message with this identity was handled."""
        self._latest = identity
        self._due += 1
        if self._due >= self._enough:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LAZY_S, self.flush)

    def flush(self) -> None:
        """Acknowledge what is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._due:
            self._due = 0
            self._acknowledge(self._latest)
