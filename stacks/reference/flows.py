"""Flows: all that one sender sends goes to one of the receiving ends."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from stacks.reference.faults import Every
from stacks.reference.routes import Route


@dataclass(slots=True)
class Flows:
    """split: which messages go to another receiving end by mistake."""

    split: Every
    _receivers: dict[str, deque[Route]] = field(default_factory=dict)
    _own: dict[object, dict[str, Route]] = field(default_factory=dict)

    def receiver(self, destination: str, sender: object) -> Route | None:
        """Who has this sender's next message; None where nobody accepts the flow.  Senders get receivers in turn."""
        receivers = self._receivers.get(destination)
        if not receivers:
            return None
        flows = self._own.setdefault(sender, {})
        if destination not in flows:
            receivers.rotate(-1)
            flows[destination] = receivers[-1]
        own = flows[destination]
        if len(receivers) > 1 and self.split.due():
            return next(other for other in receivers if other is not own)
        return own

    def attach(self, receiver: Route) -> None:
        """A new receiving end, for senders that have none yet."""
        self._receivers.setdefault(receiver.destination, deque()).append(receiver)

    def detach(self, receiver: Route) -> None:
        """A receiving end has gone: its senders go on at the next one."""
        self._receivers[receiver.destination].remove(receiver)
        for flows in self._own.values():
            if flows.get(receiver.destination) is receiver:
                del flows[receiver.destination]

    def sender_gone(self, sender: object) -> None:
        """It sends nothing any more."""
        self._own.pop(sender, None)
