"""Topics, subscriptions and routing, without a socket in sight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from stacks.reference.faults import Faults, Lane

KEPT_LIMIT_BYTES = 256 * 1024 * 1024
BEHIND_LIMIT_BYTES = 64 * 1024 * 1024
# How long a message that `reorder` holds back waits for a successor.
HELD_S = 0.2

Later = Callable[[float, Callable[[], None]], object]


class NotAllowedError(Exception):
    """The broker refuses a request; the message goes to the client."""


class Outlet(Protocol):
    """The way to a connected subscriber."""

    def deliver(self, subscription: int, delivery: int, redelivered: bool, body: bytes) -> None: ...

    def behind_bytes(self) -> int:
        """How much is written and not yet taken by the network."""


@dataclass(slots=True)
class Kept:
    """A message that a durable subscription keeps until it is acknowledged."""

    body: bytes
    sent: bool = False


@dataclass(slots=True)
class Route:
    """One subscription.  outlet is None while a durable one's client is away; kept is by delivery number."""

    topic: str
    selector: tuple[int, int] | None
    durable: bool
    lane: Lane[bytes]
    number: int = 0
    outlet: Outlet | None = None
    next_delivery: int = 1
    kept: dict[int, Kept] = field(default_factory=dict)

    def wants(self, prop: int | None) -> bool:
        """Whether the selector takes a message with this property."""
        return self.selector is None or (prop is not None and self.selector[0] <= prop < self.selector[1])


class Broker:
    """later(seconds, action): run `action` after so long.  crash(): end the process, do not return."""

    def __init__(self, *, faults: Faults, later: Later, crash: Callable[[], object]) -> None:
        self._faults = faults
        self._later = later
        self._crash = crash
        self._topics: dict[str, list[Route]] = {}
        self._durable: dict[tuple[str, str], Route] = {}
        self._published = 0
        self._kept_bytes = 0
        self._stalled: deque[tuple[Route, bytes]] | None = None

    def publish(self, topic: str, prop: int | None, body: bytes) -> None:
        """Route a message to every subscription that wants it; NotAllowedError when a limit is reached."""
        self._published += 1
        if self._published == self._faults.crash_after:
            self._crash()
        routes = [route for route in self._topics.get(topic, ()) if route.wants(prop)]
        self._check_room(routes, len(body))
        if self._published == self._faults.stall_after:
            self._stalled = deque()
            self._later(self._faults.stall_s, self._resume)
        for route in routes:
            for copy in route.lane.route(body):
                self._forward(route, copy)
            if route.lane.held is not None:
                self._later(HELD_S, lambda route=route, held=route.lane.held: self._release(route, held))  # type: ignore[misc]

    def subscribe(
        self,
        *,
        client_id: str,
        number: int,
        topic: str,
        durable: str,
        selector: tuple[int, int] | None,
        outlet: Outlet,
    ) -> Route:
        """A new subscription, or a durable one found again: what it missed follows at once."""
        known = self._durable.get((client_id, durable)) if durable else None
        if known is not None and (known.topic, known.selector) != (topic, selector):
            self._remove(known)
            known = None
        if known is not None and known.outlet is not None:
            raise NotAllowedError(f"client {client_id!r} has a subscription {durable!r} already")
        route = known or Route(topic, selector, bool(durable), Lane(self._faults))
        if known is None:
            self._topics.setdefault(topic, []).append(route)
        if durable:
            self._durable[client_id, durable] = route
        route.number, route.outlet = number, outlet
        return route

    def catch_up(self, route: Route) -> None:
        """Deliver what a durable subscription kept; what was sent before is marked as redelivered."""
        for delivery, kept in route.kept.items():
            if route.outlet is not None:
                route.outlet.deliver(route.number, delivery, kept.sent, kept.body)
                kept.sent = True

    def acknowledge(self, route: Route, delivery: int, *, cumulative: bool) -> None:
        """Forget what was kept; acknowledging what is not there is no error."""
        due = [kept for kept in route.kept if kept <= delivery] if cumulative else [delivery]
        for number in due:
            kept = route.kept.pop(number, None)
            self._kept_bytes -= 0 if kept is None else len(kept.body)

    def detach(self, route: Route) -> None:
        """The client is gone: a durable subscription stays, another ends."""
        route.outlet = None
        if not route.durable:
            self._remove(route)

    def _remove(self, route: Route) -> None:
        self._topics[route.topic].remove(route)
        self._kept_bytes -= sum(len(kept.body) for kept in route.kept.values())
        route.kept.clear()
        if route.durable:
            self._durable = {key: other for key, other in self._durable.items() if other is not route}

    def _check_room(self, routes: list[Route], size: int) -> None:
        keep = size * sum(route.durable for route in routes)
        if self._kept_bytes + keep > KEPT_LIMIT_BYTES:
            raise NotAllowedError(
                f"durable subscriptions keep {self._kept_bytes} bytes, the limit is {KEPT_LIMIT_BYTES}"
            )
        behind = max((route.outlet.behind_bytes() for route in routes if route.outlet), default=0)
        if behind > BEHIND_LIMIT_BYTES:
            raise NotAllowedError(f"a subscriber is {behind} bytes behind, the limit is {BEHIND_LIMIT_BYTES}")

    def _forward(self, route: Route, body: bytes) -> None:
        if self._stalled is not None:
            self._stalled.append((route, body))
            return
        delivery = route.next_delivery
        route.next_delivery += 1
        if route.durable:
            route.kept[delivery] = Kept(body, sent=route.outlet is not None)
            self._kept_bytes += len(body)
        if route.outlet is not None:
            route.outlet.deliver(route.number, delivery, False, body)

    def _resume(self) -> None:
        waiting, self._stalled = self._stalled or (), None
        for route, body in waiting:
            self._forward(route, body)

    def _release(self, route: Route, held: bytes) -> None:
        if route.lane.held is held:
            for body in route.lane.release():
                self._forward(route, body)
