"""Queues: each message goes to one receiver, in turn, and to another one when that leaves before it acknowledges."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stacks.reference.faults import Every
from stacks.reference.routes import Kept, Route

Forward = Callable[[Route, bytes, bool], None]
"""Sends a message over a route; the last says whether it may have been received before."""


@dataclass(slots=True)
class Queue:
    """forward: what sends.  double: which messages are given to two receivers by mistake.

    held_bytes: what waits for a receiver.
    """

    forward: Forward
    double: Every
    held_bytes: int = 0
    _receivers: deque[Route] = field(default_factory=deque)
    _waiting: deque[tuple[bytes, bool]] = field(default_factory=deque)

    def put(self, body: bytes) -> None:
        """Give a message to the receiver whose turn it is; without any, it waits."""
        if not self._receivers:
            self._hold([(body, False)])
            return
        copies = 2 if self.double.due() and len(self._receivers) > 1 else 1
        for _ in range(copies):
            self._next(body, redelivered=False)

    def attach(self, receiver: Route) -> None:
        """A new receiver, which has what has waited."""
        self._receivers.append(receiver)
        waiting, self._waiting, self.held_bytes = self._waiting, deque(), 0
        for body, redelivered in waiting:
            self._next(body, redelivered=redelivered)

    def detach(self, receiver: Route, unacknowledged: Sequence[Kept]) -> None:
        """A receiver has gone: what it has not acknowledged is for others."""
        self._receivers.remove(receiver)
        if self._receivers:
            for kept in unacknowledged:
                self._next(kept.body, redelivered=True)
        else:
            self._hold([(kept.body, True) for kept in unacknowledged])

    def _hold(self, messages: Sequence[tuple[bytes, bool]]) -> None:
        self._waiting.extend(messages)
        self.held_bytes += sum(len(body) for body, _ in messages)

    def _next(self, body: bytes, *, redelivered: bool) -> None:
        self._receivers.rotate(-1)
        self.forward(self._receivers[-1], body, redelivered)
