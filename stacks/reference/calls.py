"""Requests and replies: each request goes to one server, in turn, and its reply back to who has asked."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from stacks.reference.faults import Every
from stacks.reference.routes import NotAllowedError, Outlet, Route

_NOBODY = "nobody serves {}"


@dataclass(slots=True)
class Asked:
    """A request under way: whom its reply is for."""

    caller: Outlet
    request: int


@dataclass(slots=True)
class Mistakes:
    """Which replies are taken for another's, of the same caller or of another one; one that finds none is owed."""

    every: Every
    same_caller: bool
    owed: int = 0


@dataclass(slots=True)
class Calls:
    """mistakes: in which replies go astray."""

    mistakes: tuple[Mistakes, ...]
    _servers: dict[str, deque[Route]] = field(default_factory=dict)
    _asked: dict[tuple[int, int], Asked] = field(default_factory=dict)  # by route (its id) and delivery

    def attach(self, server: Route) -> None:
        """A new server of its service."""
        self._servers.setdefault(server.destination, deque()).append(server)

    def detach(self, server: Route) -> None:
        """A server has gone, and with it the replies to what it had been asked."""
        self._servers[server.destination].remove(server)
        for key in [key for key in self._asked if key[0] == id(server)]:
            asked = self._asked.pop(key)
            asked.caller.give_up(asked.request, f"the server of {server.destination} has gone")

    def caller_gone(self, caller: Outlet) -> None:
        """Nobody waits for these replies any more."""
        self._asked = {key: asked for key, asked in self._asked.items() if asked.caller is not caller}

    def check(self, destination: str) -> None:
        """NotAllowedError for a service that nobody serves."""
        if not self._servers.get(destination):
            raise NotAllowedError(_NOBODY.format(destination))

    def call(self, destination: str, caller: Outlet, request: int, body: bytes) -> None:
        """Hand a request to the server whose turn it is, or refuse it when the last one has gone."""
        servers = self._servers[destination]
        if not servers:
            caller.refuse(request, _NOBODY.format(destination))
            return
        servers.rotate(-1)
        server = servers[-1]
        delivery = server.next_delivery
        server.next_delivery += 1
        self._asked[id(server), delivery] = Asked(caller, request)
        if server.outlet is not None:
            server.outlet.deliver(server.number, delivery, False, body)

    def reply(self, server: Route, delivery: int, body: bytes) -> None:
        """Hand a reply to its caller; one that nobody waits for is forgotten."""
        key = id(server), delivery
        if key not in self._asked:
            return
        for mistake in self.mistakes:
            mistake.owed += mistake.every.due()
            if mistake.owed and (other := self._other(key, mistake.same_caller)) is not None:
                self._asked[key], self._asked[other] = self._asked[other], self._asked[key]
                mistake.owed -= 1
        asked = self._asked.pop(key)
        asked.caller.answer(asked.request, body)

    def _other(self, key: tuple[int, int], same_caller: bool) -> tuple[int, int] | None:
        mine = self._asked[key].caller
        others = (other for other, asked in self._asked.items() if (asked.caller is mine) is same_caller)
        return next((other for other in others if other != key), None)
