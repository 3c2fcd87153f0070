"""When a JMS consumer acknowledges, as ActiveMQ's own client does it (ActiveMQMessageConsumer, 5.17)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from records.messaging import Ack
from stacks.openwire.structures import DELIVERED, STANDARD


class Run(NamedTuple):
    """Messages that one acknowledgement covers.  first, last: identities, marshalled."""

    first: bytes
    last: bytes
    messages: int


Tell = Callable[[int, Run], None]
"""Called with the kind of acknowledgement and what it covers."""


class Acknowledgement:
    """AUTO tells after each message.  DUPS_OK tells of all since the last time at half the prefetch, and on close.
    CLIENT tells when the application says so; at half the prefetch it asks the broker for more, acknowledging nothing.
    """

    def __init__(self, tell: Tell, *, ack: Ack, prefetch: int) -> None:
        self._tell, self._ack = tell, ack
        self._enough = max(1, (prefetch + 1) // 2)
        self._due: Run | None = None  # neither acknowledged nor, for CLIENT, told to be delivered
        self._delivered: Run | None = None  # CLIENT: not acknowledged

    def taken(self, identity: bytes) -> None:
        """Before the application has the message."""
        if self._ack is Ack.CLIENT:
            self._delivered = _longer(self._delivered, identity)

    def handled(self, identity: bytes) -> None:
        """After the application is done with it."""
        if self._ack is Ack.AUTO:
            self._tell(STANDARD, Run(identity, identity, 1))
            return
        if self._ack is Ack.CLIENT and self._delivered is None:
            return  # acknowledged by its own handler
        self._due = _longer(self._due, identity)
        if self._due.messages >= self._enough:
            self._tell(DELIVERED if self._ack is Ack.CLIENT else STANDARD, self._due)
            self._due = None

    def acknowledge(self) -> None:
        """CLIENT: acknowledge every message that the application has had.  Nothing to the others."""
        if self._ack is not Ack.CLIENT:
            return
        if self._delivered is not None:
            self._tell(STANDARD, self._delivered)
        self._delivered = self._due = None

    def close(self) -> None:
        """Acknowledge what is due without the application's word."""
        if self._ack is Ack.DUPS_OK and self._due is not None:
            self._tell(STANDARD, self._due)
            self._due = None


def _longer(run: Run | None, identity: bytes) -> Run:
    return Run(identity, identity, 1) if run is None else Run(run.first, identity, run.messages + 1)
