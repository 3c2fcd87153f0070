"""Destinations, subscriptions and routing, without a socket in sight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from stacks.reference.calls import Calls, Mistakes
from stacks.reference.destinations import Kind, read
from stacks.reference.faults import Every, Faults, Lane
from stacks.reference.flows import Flows
from stacks.reference.queues import Queue
from stacks.reference.routes import Kept, NotAllowedError, Outlet, Route

KEPT_LIMIT_BYTES = 256 * 1024 * 1024
BEHIND_LIMIT_BYTES = 64 * 1024 * 1024
# How long a message that `reorder` or `swap` holds back waits for a successor.
HELD_S = 0.2

Later = Callable[[float, Callable[[], None]], object]


class Broker:
    """later(seconds, action): run `action` after so long.  crash(): end the process, do not return."""

    def __init__(self, *, faults: Faults, later: Later, crash: Callable[[], object]) -> None:
        self._faults = faults
        self._later = later
        self._crash = crash
        self._routes: dict[str, list[Route]] = {}
        self._queues: dict[str, Queue] = {}
        astray = ((faults.misreply, False), (faults.cross, True))
        self._calls = Calls(tuple(Mistakes(Every(every), same_caller=same) for every, same in astray))
        self._omit = Every(faults.omit)
        self._flows = Flows(faults)
        self._durable: dict[tuple[str, str], Route] = {}
        self._published = 0
        self._kept_bytes = 0
        self._stalled: deque[Callable[[], None]] | None = None

    def publish(self, destination: str, prop: int | None, body: bytes, *, sender: object = None) -> None:
        """Route a message to whom it is for; NotAllowedError when a limit is reached.  sender: whose, if of a flow."""
        kind = _kind(destination)
        if kind is Kind.SERVICE:
            raise NotAllowedError(f"{destination} is called, not published to")
        self._count()
        if kind is Kind.QUEUE:
            self._check_room((), len(body), kept=1)
            self._queue(destination).put(body)
            return
        if kind is Kind.FLOW:
            if way := self._flows.way(destination, sender):
                self._check_room(way[:1], len(body), kept=0)
                self._send(way[0], body, lane=way[1])
            return
        routes = [route for route in self._routes.get(destination, ()) if route.wants(prop)]
        self._check_room(routes, len(body), kept=sum(route.keeps for route in routes))
        if kind is Kind.GROUP and self._omit.due():
            routes = routes[:-1]
        for route in routes:
            self._send(route, body)

    def call(self, destination: str, caller: Outlet, request: int, body: bytes) -> None:
        """Have a service answer a request; NotAllowedError when nobody serves it."""
        if _kind(destination) is not Kind.SERVICE:
            raise NotAllowedError(f"{destination} is published to, not called")
        self._calls.check(destination)
        self._count()
        self._unless_stalled(lambda: self._calls.call(destination, caller, request, body))

    def reply(self, route: Route, delivery: int, body: bytes) -> None:
        """A server's answer."""
        self._calls.reply(route, delivery, body)

    def client_gone(self, client: Outlet) -> None:
        """Its replies are for nobody, its flows have ended."""
        self._calls.caller_gone(client)
        self._flows.sender_gone(client)

    def subscribe(
        self,
        *,
        client_id: str,
        number: int,
        destination: str,
        durable: str,
        selector: tuple[int, int] | None,
        outlet: Outlet,
    ) -> Route:
        """A new subscription, or a durable one found again: what it missed follows at once."""
        kind = _kind(destination)
        if kind is not Kind.TOPIC and (durable or selector is not None):
            raise NotAllowedError(f"{destination}: only a topic has durable subscriptions and selectors")
        known = self._durable.get((client_id, durable)) if durable else None
        if known is not None and (known.destination, known.selector) != (destination, selector):
            self._remove(known)
            known = None
        if known is not None and known.outlet is not None:
            raise NotAllowedError(f"client {client_id!r} has a subscription {durable!r} already")
        route = known or self._route(kind, destination, selector, durable=bool(durable))
        if durable:
            self._durable[client_id, durable] = route
        route.number, route.outlet = number, outlet
        if known is None:
            self._attach(kind, route)
        return route

    def catch_up(self, route: Route) -> None:
        """Deliver what a durable subscription kept; what was sent before is marked as redelivered."""
        for delivery, kept in route.kept.items() if route.durable else ():
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

    def _count(self) -> None:
        self._published += 1
        if self._published == self._faults.crash_after:
            self._crash()
        if self._published == self._faults.stall_after:
            self._stalled = deque()
            self._later(self._faults.stall_s, self._resume)

    def _queue(self, destination: str) -> Queue:
        if destination not in self._queues:
            self._queues[destination] = Queue(self._send, Every(self._faults.double))
        return self._queues[destination]

    def _route(self, kind: Kind, destination: str, selector: tuple[int, int] | None, *, durable: bool) -> Route:
        return Route(destination, selector, durable, Lane(self._faults), keeps=durable or kind is Kind.QUEUE)

    def _attach(self, kind: Kind, route: Route) -> None:
        match kind:
            case Kind.QUEUE:
                self._queue(route.destination).attach(route)
            case Kind.SERVICE:
                self._calls.attach(route)
            case Kind.FLOW:
                self._flows.attach(route)
            case _:
                self._routes.setdefault(route.destination, []).append(route)

    def _remove(self, route: Route) -> None:
        kept = list(route.kept.values())
        self._kept_bytes -= sum(len(one.body) for one in kept)
        route.kept.clear()
        match _kind(route.destination):
            case Kind.QUEUE:
                self._queue(route.destination).detach(route, kept)
            case Kind.SERVICE:
                self._calls.detach(route)
            case Kind.FLOW:
                self._flows.detach(route)
            case _:
                self._routes[route.destination].remove(route)
        if route.durable:
            self._durable = {key: other for key, other in self._durable.items() if other is not route}

    def _check_room(self, routes: Sequence[Route], size: int, *, kept: int) -> None:
        held = self._kept_bytes + sum(queue.held_bytes for queue in self._queues.values())
        if held + size * kept > KEPT_LIMIT_BYTES:
            raise NotAllowedError(
                f"queues and durable subscriptions keep {held} bytes, the limit is {KEPT_LIMIT_BYTES}"
            )
        behind = max((route.outlet.behind_bytes() for route in routes if route.outlet), default=0)
        if behind > BEHIND_LIMIT_BYTES:
            raise NotAllowedError(f"a subscriber is {behind} bytes behind, the limit is {BEHIND_LIMIT_BYTES}")

    def _send(self, route: Route, body: bytes, redelivered: bool = False, *, lane: Lane[bytes] | None = None) -> None:
        lane = route.lane if lane is None else lane
        for copy in lane.route(body):
            self._forward(route, copy, redelivered)
        if lane.held is not None:
            self._later(HELD_S, lambda held=lane.held: self._release(route, lane, held))  # type: ignore[misc]

    def _forward(self, route: Route, body: bytes, redelivered: bool) -> None:
        self._unless_stalled(lambda: self._deliver(route, body, redelivered))

    def _deliver(self, route: Route, body: bytes, redelivered: bool) -> None:
        if route.outlet is None and not route.durable:  # it has left while this waited: others have what is a queue's
            if _kind(route.destination) is Kind.QUEUE:
                self._queue(route.destination).put(body)
            return
        delivery = route.next_delivery
        route.next_delivery += 1
        if route.keeps:
            route.kept[delivery] = Kept(body, sent=route.outlet is not None)
            self._kept_bytes += len(body)
        if route.outlet is not None:
            route.outlet.deliver(route.number, delivery, redelivered, body)

    def _unless_stalled(self, action: Callable[[], None]) -> None:
        if self._stalled is None:
            action()
        else:
            self._stalled.append(action)

    def _resume(self) -> None:
        waiting, self._stalled = self._stalled or (), None
        for action in waiting:
            action()

    def _release(self, route: Route, lane: Lane[bytes], held: bytes) -> None:
        if lane.held is held:
            for body in lane.release():
                self._forward(route, body, False)


def _kind(destination: str) -> Kind:
    try:
        return read(destination)[0]
    except ValueError as error:
        raise NotAllowedError(str(error)) from None
