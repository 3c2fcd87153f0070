"""Flows: all that one sender sends goes to one of the receiving ends."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from stacks.reference.faults import Every, Faults, Lane
from stacks.reference.routes import Route


@dataclass(slots=True)
class Flow:
    """What one sender sends.  lane: of its own, as is its order.  split: which messages go elsewhere by mistake."""

    receiver: Route
    lane: Lane[bytes]
    split: Every


@dataclass(slots=True)
class Flows:
    faults: Faults
    _receivers: dict[str, deque[Route]] = field(default_factory=dict)
    _flows: dict[object, dict[str, Flow]] = field(default_factory=dict)

    def way(self, destination: str, sender: object) -> tuple[Route, Lane[bytes]] | None:
        """Who has this sender's next message, and by which lane; None where nobody accepts the flow.

        Those who accept it have senders in turn.  The first message of a flow goes to its own receiver always.
        """
        receivers = self._receivers.get(destination)
        if not receivers:
            return None
        mine = self._flows.setdefault(sender, {})
        flow = mine.get(destination)
        if flow is None:
            receivers.rotate(-1)
            flow = mine[destination] = self._flow(receivers[-1])
        elif flow.receiver not in receivers:
            receivers.rotate(-1)
            flow.receiver = receivers[-1]
        elif len(receivers) > 1 and flow.split.due():
            return next(other for other in receivers if other is not flow.receiver), flow.lane
        return flow.receiver, flow.lane

    def attach(self, receiver: Route) -> None:
        """A new receiving end, for senders that have none yet."""
        self._receivers.setdefault(receiver.destination, deque()).append(receiver)

    def detach(self, receiver: Route) -> None:
        """A receiving end has gone: its senders go on at the next one."""
        self._receivers[receiver.destination].remove(receiver)

    def sender_gone(self, sender: object) -> None:
        """It sends nothing any more."""
        self._flows.pop(sender, None)

    def _flow(self, receiver: Route) -> Flow:
        faults = self.faults
        swapped = replace(faults, reorder=faults.swap or faults.reorder)
        return Flow(receiver, Lane(swapped), Every(faults.split))
