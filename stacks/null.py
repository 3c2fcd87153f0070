"""A stack inside the load generator's own process: what is sent is delivered before send() returns.

It costs next to nothing, so what a run against it costs is the load generator's own.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from stacks.driver import (
    Ack,
    Delivery,
    Endpoint,
    Guarantee,
    Handler,
    Pattern,
    Selector,
    Service,
    Subscription,
)

Topics = defaultdict[str, list[tuple[Handler, Selector | None]]]


class NullPublisher:
    """Calls the handlers of one topic."""

    def __init__(self, subscribers: list[tuple[Handler, Selector | None]]) -> None:
        self._subscribers = subscribers
        self._answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer.set_result(None)

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Deliver at once; the answer is there already."""
        copy = bytes(body)
        for handler, selector in self._subscribers:
            if selector is None or (prop is not None and selector.low <= prop < selector.high):
                handler(copy, False)
        return self._answer


class NullConnection:
    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._subscriptions: list[tuple[str, tuple[Handler, Selector | None]]] = []

    async def publisher(self, topic: str, *, delivery: Delivery) -> NullPublisher:
        """A publisher on one topic; nothing is ever on a disk, whatever `delivery` says."""
        del delivery
        return NullPublisher(self._topics[topic])

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """In force at once, until the connection is cut or the process ends."""
        del ack
        one = (handler, subscription.selector)
        self._topics[topic].append(one)
        self._subscriptions.append((topic, one))

    @property
    def lost(self) -> str | None:
        """Nothing to lose."""
        return None

    @property
    def local(self) -> tuple[str, int] | None:
        """No socket."""
        return None

    async def close(self) -> None:
        """Nothing to close."""

    def abort(self) -> None:
        """Its subscriptions end."""
        for topic, one in self._subscriptions:
            self._topics[topic].remove(one)
        self._subscriptions.clear()

    def vanish(self) -> None:
        """As abort."""
        self.abort()


@dataclass(frozen=True, slots=True)
class Null:
    """Topics live in the instance: connections of one instance reach each other."""

    name: str = "null"
    patterns: frozenset[Pattern] = frozenset({Pattern.PUBSUB})
    guarantees: frozenset[Guarantee] = frozenset(
        {Guarantee.ACK_AUTO, Guarantee.ACK_DUPS_OK, Guarantee.SELECTOR, Guarantee.ORDERED}
    )
    _topics: Topics = field(default_factory=lambda: defaultdict(list), repr=False)

    def services(self) -> tuple[Service, ...]:
        """No servers."""
        return ()

    def why_not(self, wanted: Subscription) -> str:
        """Any will do."""
        del wanted
        return ""

    async def connect(self, at: Endpoint, client_id: str) -> NullConnection:
        """Always succeeds."""
        del at, client_id
        return NullConnection(self._topics)
