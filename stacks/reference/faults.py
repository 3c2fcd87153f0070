"""What the broker can be told to do wrong.  Faults count messages: the same run goes wrong the same way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")


class FaultError(ValueError):
    """A fault as written on the command line makes no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """drop, duplicate, reorder: every K-th message to a subscriber, or of a flow, 0 = never.

    double: every K-th message of a queue is given to two receivers.  misreply: every K-th reply goes to a caller that
    waits for another one, cross: it answers another request of its caller.  omit: every K-th message to a group leaves
    its last member out.  swap: every K-th message of a flow changes places with the next.  split: every
    K-th message after the first of a flow goes to another receiving end than the others.
    stall_after, stall_s: from that published message on, forwarding pauses once for so long; 0 = never.
    crash_after: the server dies on receiving that message, before answering it; 0 = never.
    """

    drop: int = 0
    duplicate: int = 0
    reorder: int = 0
    double: int = 0
    misreply: int = 0
    cross: int = 0
    omit: int = 0
    swap: int = 0
    split: int = 0
    stall_after: int = 0
    stall_s: float = 0.0
    crash_after: int = 0


Fault = Literal[
    "drop", "duplicate", "reorder", "double", "misreply", "cross", "omit", "swap", "split", "stall", "crash"
]
_EVERY = re.compile(r"(drop|duplicate|reorder|double|misreply|cross|omit|swap|split|crash)=([1-9]\d{0,8})")
_STALL = re.compile(r"stall=([1-9]\d{0,8}):(\d{1,6}(?:\.\d{1,6})?)")
USAGE = (
    "drop=K, duplicate=K, reorder=K, double=K, misreply=K, cross=K, omit=K, swap=K, split=K, stall=AFTER:SECONDS, "
    "crash=AFTER"
)


def parse(words: Iterable[str]) -> Faults:
    """Faults from words like drop=10 and stall=100:2.5; FaultError names the word that is none."""
    fields: dict[str, int | float] = {}
    for word in words:
        if every := _EVERY.fullmatch(word):
            name, count = every.groups()
            fields["crash_after" if name == "crash" else name] = int(count)
        elif stall := _STALL.fullmatch(word):
            fields |= {"stall_after": int(stall[1]), "stall_s": float(stall[2])}
        else:
            raise FaultError(f"fault {word!r} is not one of {USAGE} (K and AFTER from 1)")
    return Faults(**fields)  # type: ignore[arg-type]


class Every:
    """Says of each message in turn whether it is a K-th one; never with K = 0."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._count = 0

    def due(self) -> bool:
        """Whether this one is."""
        self._count += 1
        return self._every > 0 and self._count % self._every == 0


class Lane(Generic[T]):
    """The way to one subscriber: what is routed to it goes in, what it is really sent comes out."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._count = 0
        self.held: T | None = None

    def route(self, item: T) -> list[T]:
        """What to forward now that `item` was routed here; it may be nothing, or more than one."""
        self._count += 1
        sent = [item]
        if self._due(self._faults.drop):
            sent = []
        elif self._due(self._faults.duplicate):
            sent = [item, item]
        if self.held is not None and sent:
            sent.append(self.held)
            self.held = None
        elif sent and self._due(self._faults.reorder):
            self.held = sent.pop()
        return sent

    def release(self) -> list[T]:
        """What was held back for a successor that never came."""
        held, self.held = self.held, None
        return [] if held is None else [held]

    def _due(self, every: int) -> bool:
        return every > 0 and self._count % every == 0
