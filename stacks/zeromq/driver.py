"""ZeroMQ through pyzmq: PUB/SUB, PUSH/PULL, and requests over DEALER and ROUTER, from client to client.

Each client has one port of its own, at which it listens or from which it connects: producers listen, but for callers,
which connect to their services.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import zmq

from records.messaging import Ack, Delivery, Guarantee
from records.workload import Pattern
from stacks.driver import (
    Endpoint,
    Handler,
    Here,
    Peer,
    Publisher,
    RequestHandler,
    Service,
    Socket,
    StackError,
    Subscription,
)
from stacks.zeromq.knobs import ZeroMQKnobs
from stacks.zeromq.wire import Wire

_NUMBER = 8  # bytes of a request's number


@dataclass(frozen=True, slots=True)
class _Pushing:
    """Sends each message to the next receiver that has room; waits while none has."""

    wire: Wire

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Ends when ZeroMQ has taken it."""
        del prop
        return self.wire.send([bytes(body)])


@dataclass(frozen=True, slots=True)
class _Topic:
    """Sends to every subscriber that has room; what another has no room for is gone."""

    wire: Wire
    name: bytes

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Ends when ZeroMQ has taken it."""
        del prop
        return self.wire.send([self.name, bytes(body)])


class _Calling:
    """Requests and their replies, by number."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._next = wire, 0
        self._asked: dict[bytes, asyncio.Future[bytes]] = {}
        wire.take = self._replied

    def call(self, body: bytes | bytearray) -> asyncio.Future[bytes]:
        """Ends with the reply; never, when the request or its reply was lost with a connection."""
        number = self._next.to_bytes(_NUMBER, "big")
        self._next += 1
        reply = self._asked[number] = asyncio.get_running_loop().create_future()
        self._wire.send([number, bytes(body)])
        return reply

    def end(self, why: str) -> None:
        """No reply comes any more."""
        for reply in self._asked.values():
            if not reply.done():
                reply.set_exception(StackError(why))
                reply.exception()
        self._asked.clear()

    def _replied(self, parts: list[bytes]) -> None:
        reply = self._asked.pop(parts[0], None)
        if reply is not None and not reply.done() and len(parts) == 2:
            reply.set_result(parts[1])


class ZeroMQConnection:
    """One client: the one socket that its part in the conversation takes."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], here: Here, own: Peer, knobs: ZeroMQKnobs) -> None:
        self._context, self._here, self._own, self._knobs = context, here, own, knobs
        self._wire: Wire | None = None
        self._calling: _Calling | None = None
        self._gone: str | None = None

    async def publisher(self, topic: str, *, delivery: Delivery) -> Publisher:
        """Returns when all subscribers of the topic have said so, so that none of them comes too late."""
        _in_memory(delivery)
        wire, name = self._made(zmq.XPUB), topic.encode()
        wanted = len(self._others("consumer", topic))
        ready = wire.awaited()
        subscribed = 0

        def take(parts: list[bytes]) -> None:
            nonlocal subscribed
            subscribed += parts[0] == b"\1" + name
            if subscribed >= wanted and not ready.done():
                ready.set_result(None)

        wire.take = take
        wire.bind(self._own)
        if wanted:
            await ready
        return _Topic(wire, name)

    async def subscribe(self, topic: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """In force when a publisher has heard of it, which waits for that."""
        del ack, subscription
        wire = self._made(zmq.SUB)
        wire.take = lambda parts: handler(parts[1], False) if len(parts) == 2 else None
        wire.subscribe(topic.encode())
        self._connect(wire, "producer", topic)

    async def sender(self, queue: str, *, delivery: Delivery) -> Publisher:
        """Returns when all receivers are there."""
        _in_memory(delivery)
        wire = self._made(zmq.PUSH)
        wire.bind(self._own)
        await wire.met(len(self._others("consumer", queue)))
        return _Pushing(wire)

    async def receive(self, queue: str, handler: Handler, *, subscription: Subscription, ack: Ack) -> None:
        """A share of what each sender has; senders wait for their receivers."""
        del ack, subscription
        wire = self._made(zmq.PULL)
        wire.take = lambda parts: handler(parts[0], False)
        self._connect(wire, "producer", queue)

    async def caller(self, service: str) -> _Calling:
        """Calls each of the service's servers in turn; returns when all are there."""
        wire = self._made(zmq.DEALER)
        self._calling = _Calling(wire)
        await wire.met(self._connect(wire, "consumer", service))
        return self._calling

    async def serve(self, service: str, handler: RequestHandler) -> None:
        """A reply to a caller that has gone is gone as well."""
        del service
        wire = self._made(zmq.ROUTER)

        def reply_to(caller: bytes, number: bytes) -> Callable[[bytes], None]:
            return lambda body: None if self._gone else _drop(wire.send([caller, number, body]))

        def take(parts: list[bytes]) -> None:
            if len(parts) == 3:
                caller, number, body = parts
                handler(body, reply_to(caller, number))

        wire.take = take
        wire.bind(self._own)

    @property
    def lost(self) -> str | None:
        """ZeroMQ connects again by itself and says nothing, so only what was done to the client itself."""
        return self._gone

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """All of its connections begin or end at its port."""
        return (Socket(protocol="tcp", address=self._own.address, port=self._own.port),)

    async def close(self) -> None:
        """What is unsent is still sent for the time that the knob linger_s says."""
        self._end(self._knobs.linger_s, "the client has left")

    def abort(self) -> None:
        """What is unsent is gone."""
        self._end(0.0, "it was cut")

    def vanish(self) -> None:
        """Without FIN or RST; StackError without root."""
        if self._wire is not None:
            self._wire.vanish()
        self._end(0.0, "it was cut without a word")

    def _end(self, linger_s: float, why: str) -> None:
        self._gone = self._gone or why
        if self._calling is not None:
            self._calling.end(why)
        if self._wire is not None:
            self._wire.close(linger_s, why=why)

    def _made(self, kind: int) -> Wire:
        if self._wire is not None:
            raise StackError("a client of ZeroMQ has one socket, and this one has it already")
        self._wire = Wire(self._context, kind, self._knobs)
        return self._wire

    def _others(self, role: str, channel: str) -> list[Peer]:
        return [one for one in self._here.peers if (one.role, one.channel) == (role, channel)]

    def _connect(self, wire: Wire, role: str, channel: str) -> int:
        others = self._others(role, channel)
        for other in others:
            wire.connect(self._own, other)
        return len(others)


def _in_memory(delivery: Delivery) -> None:
    if delivery is not Delivery.NONPERSISTENT:
        raise StackError(f"delivery {delivery}: ZeroMQ keeps messages in memory only")


def _drop(answer: asyncio.Future[None]) -> None:
    del answer


class ZeroMQ:
    """ZeroMQ between the clients themselves, without a server: nothing is acknowledged, kept or sent again."""

    name = "zeromq"
    KNOBS = ZeroMQKnobs
    patterns = frozenset({Pattern.PUBSUB, Pattern.QUEUE, Pattern.REQUEST_REPLY})
    guarantees = frozenset({Guarantee.ACK_NONE, Guarantee.ORDERED})
    in_client = find_each_other = True

    def __init__(self, knobs: ZeroMQKnobs | None = None) -> None:
        self._knobs = knobs or ZeroMQKnobs()
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None

    def services(self) -> tuple[Service, ...]:
        """None: its clients speak to each other."""
        return ()

    def why_not(self, wanted: Subscription) -> str:
        """A prefetch: a peer's high-water mark does not count what is under way to the application."""
        return (
            "" if wanted.prefetch is None else "ZeroMQ has no prefetch; its knob receive_high_water is the like of it"
        )

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> ZeroMQConnection:
        """A client that is one of `here.peers`; StackError when it is not."""
        del services
        own = next((one for one in here.peers if one.client_id == client_id), None)
        if own is None:
            raise StackError(f"client {client_id!r} is none of the conversation's {len(here.peers)}")
        if self._context is None:
            self._context = zmq.Context()
            self._context.set(zmq.MAX_SOCKETS, 65_535)
        return ZeroMQConnection(self._context, here, own, self._knobs)
