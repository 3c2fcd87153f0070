"""The way from the broker to one client that receives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from stacks.reference.faults import Lane


class NotAllowedError(Exception):
    """The broker refuses a request; the message goes to the client."""


class Outlet(Protocol):
    """A connected client, as the broker sees it."""

    def deliver(self, subscription: int, delivery: int, redelivered: bool, body: bytes) -> None: ...

    def answer(self, request: int, body: bytes) -> None:
        """A reply to what it has asked of a service."""

    def refuse(self, request: int, reason: str) -> None:
        """Nobody has it, and nobody will."""

    def give_up(self, request: int, reason: str) -> None:
        """There will be no reply, though somebody had it."""

    def behind_bytes(self) -> int:
        """How much is written and not yet taken by the network."""


@dataclass(slots=True)
class Kept:
    """A message that is kept until it is acknowledged."""

    body: bytes
    sent: bool = False


@dataclass(slots=True)
class Route:
    """One subscription.  keeps: whether messages are kept, by delivery number, until they are acknowledged.

    outlet is None while a durable one's client is away.
    """

    destination: str
    selector: tuple[int, int] | None
    durable: bool
    lane: Lane[bytes]
    keeps: bool
    number: int = 0
    outlet: Outlet | None = None
    next_delivery: int = 1
    kept: dict[int, Kept] = field(default_factory=dict)

    def wants(self, prop: int | None) -> bool:
        """Whether the selector takes a message with this property."""
        return self.selector is None or (prop is not None and self.selector[0] <= prop < self.selector[1])
