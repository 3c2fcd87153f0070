"""A stack inside the load generator's own process: what is sent is delivered before send() returns.

It costs next to nothing, so what a run against it costs is the load generator's own.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from records.messaging import Ack, Delivery, Guarantee
from records.workload import MESSAGE_PATTERNS, Pattern
from stacks.driver import Endpoint, Handler, Here, RequestHandler, Selector, Service, Socket, StackError, Subscription

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Ends(Generic[R]):
    """Who receives, by the name of a topic, queue, service, group or flow."""

    by_name: defaultdict[str, deque[R]] = field(default_factory=lambda: defaultdict(deque))

    def attach(self, name: str, end: R) -> Callable[[], None]:
        """A new receiver, and what ends it."""
        self.by_name[name].append(end)
        return lambda: self.by_name[name].remove(end)


@dataclass(frozen=True, slots=True)
class Hub:
    """What the connections of one instance share."""

    topics: Ends[tuple[Handler, Selector | None]] = field(default_factory=Ends)
    queues: Ends[Handler] = field(default_factory=Ends)
    services: Ends[RequestHandler] = field(default_factory=Ends)
    groups: Ends[Handler] = field(default_factory=Ends)
    flows: Ends[Handler] = field(default_factory=Ends)


class NullPublisher:
    """Hands each message to `deliver`."""

    def __init__(self, deliver: Callable[[bytes, int | None], None]) -> None:
        self._deliver = deliver
        self._answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer.set_result(None)

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Deliver at once; the answer is there already."""
        self._deliver(bytes(body), prop)
        return self._answer


class NullCaller:
    """Calls a service's servers in turn."""

    def __init__(self, service: str, servers: deque[RequestHandler]) -> None:
        self._service = service
        self._servers = servers

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Ends when the server has replied; StackError when there is none."""
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if not self._servers:
            raise StackError(f"nobody in this process serves {self._service}")
        self._servers.rotate(-1)
        self._servers[-1](bytes(body), lambda answer: None if reply.done() else reply.set_result(answer))
        return reply


class NullConnection:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._ends: list[Callable[[], None]] = []

    async def publisher(self, topic: str, *, delivery: Delivery) -> NullPublisher:
        """A publisher on one topic; nothing is ever on a disk, whatever `delivery` says."""
        del delivery
        subscribers = self._hub.topics.by_name[topic]

        def deliver(body: bytes, prop: int | None) -> None:
            for handler, selector in subscribers:
                if selector is None or (prop is not None and selector.low <= prop < selector.high):
                    handler(body, False)

        return NullPublisher(deliver)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """In force at once, until the connection is cut or the process ends."""
        del ack
        self._ends.append(self._hub.topics.attach(topic, (handler, subscription.selector)))

    async def sender(self, queue: str, *, delivery: Delivery) -> NullPublisher:
        """What hands each message to the next receiver; without one it is gone."""
        del delivery
        receivers = self._hub.queues.by_name[queue]

        def deliver(body: bytes, prop: int | None) -> None:
            del prop
            if receivers:
                receivers.rotate(-1)
                receivers[-1](body, False)

        return NullPublisher(deliver)

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """In force at once."""
        del subscription, ack
        self._ends.append(self._hub.queues.attach(queue, handler))

    async def caller(self, service: str) -> NullCaller:
        """What calls one service."""
        return NullCaller(service, self._hub.services.by_name[service])

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """In force at once."""
        self._ends.append(self._hub.services.attach(service, handler))

    async def broadcaster(self, group: str) -> NullPublisher:
        """What sends to every member."""
        return _to_all(self._hub.groups.by_name[group])

    async def join(self, group: str, handler: Handler) -> None:
        """In force at once."""
        self._ends.append(self._hub.groups.attach(group, handler))

    async def stream(self, flow: str) -> NullPublisher:
        """The sending end of a flow."""
        return _to_one(self._hub.flows.by_name[flow])

    async def accept(self, flow: str, handler: Handler) -> None:
        """In force at once."""
        self._ends.append(self._hub.flows.attach(flow, handler))

    @property
    def lost(self) -> str | None:
        """Nothing to lose."""
        return None

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """None."""
        return ()

    async def close(self) -> None:
        """Nothing to close."""

    def abort(self) -> None:
        """What it receives ends."""
        for end in self._ends:
            end()
        self._ends.clear()

    def vanish(self) -> None:
        """As abort."""
        self.abort()


def _to_all(receivers: deque[Handler]) -> NullPublisher:
    def deliver(body: bytes, prop: int | None) -> None:
        del prop
        for handler in receivers:
            handler(body, False)

    return NullPublisher(deliver)


def _to_one(receivers: deque[Handler]) -> NullPublisher:
    """To the same one, as long as it is there."""
    own: Handler | None = None

    def deliver(body: bytes, prop: int | None) -> None:
        del prop
        nonlocal own
        if own not in receivers:
            receivers.rotate(-1)
            own = receivers[-1] if receivers else None
        if own is not None:
            own(body, False)

    return NullPublisher(deliver)


@dataclass(frozen=True, slots=True)
class Null:
    """No network: what is sent is delivered inside the load generator's own process.

    Connections of one instance reach each other.
    """

    name: str = "null"
    patterns: frozenset[Pattern] = MESSAGE_PATTERNS
    guarantees: frozenset[Guarantee] = frozenset(
        {Guarantee.ACK_AUTO, Guarantee.ACK_DUPS_OK, Guarantee.SELECTOR, Guarantee.ORDERED, Guarantee.SHARED_STREAMS}
    )
    in_client: bool = True
    _hub: Hub = field(default_factory=Hub, repr=False)

    def services(self) -> tuple[Service, ...]:
        """No servers."""
        return ()

    def why_not(self, wanted: Subscription) -> str:
        """Any will do."""
        del wanted
        return ""

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> NullConnection:
        """Always succeeds."""
        del here, services, client_id
        return NullConnection(self._hub)
