"""The broker behind a TCP socket."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import Callable
from typing import cast

from stacks.reference.broker import Broker
from stacks.reference.destinations import Kind
from stacks.reference.faults import Faults
from stacks.reference.frames import (
    Accepted,
    Acknowledge,
    Answer,
    Connect,
    Frame,
    FrameError,
    FrameReader,
    Leave,
    Message,
    Publish,
    Refused,
    Reply,
    Subscribe,
    Unanswered,
    encode,
)
from stacks.reference.routes import NotAllowedError, Route
from stacks.tls import HANDSHAKE_LIMIT_S

CRASH_STATUS = 70


class Clients:
    """Which client ids are connected."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.sessions: dict[str, Session] = {}


class Session(asyncio.Protocol):
    """One client's connection, and the outlet of its subscriptions."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._reader = FrameReader()
        self._routes: dict[int, Route] = {}
        self._client_id: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast: the transports of uvloop are no subclasses.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._detach()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._handle(frame)
        except FrameError as error:
            print(f"client {self._client_id or self._peer()} is disconnected: {error}", file=sys.stderr)
            self._detach()
            self._transport.abort()

    def deliver(self, subscription: int, delivery: int, redelivered: bool, body: bytes) -> None:
        self._transport.write(encode(Message(subscription, delivery, redelivered, body)))

    def answer(self, request: int, body: bytes) -> None:
        self._transport.write(encode(Answer(request, body)))

    def refuse(self, request: int, reason: str) -> None:
        self._transport.write(encode(Refused(request, reason)))

    def give_up(self, request: int, reason: str) -> None:
        self._transport.write(encode(Unanswered(request, reason)))

    def behind_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    def _handle(self, frame: Frame) -> None:
        if self._client_id is None:
            self._connect(frame)
            return
        match frame:
            case Publish(request, destination, _, body) if destination.startswith(f"{Kind.SERVICE}/"):
                self._call(request, destination, body)
            case Publish(request, destination, prop, body):
                self._take(request, lambda: self._clients.broker.publish(destination, prop, body, sender=self))
            case Reply(subscription, delivery, body) if subscription in self._routes:
                self._clients.broker.reply(self._routes[subscription], delivery, body)
            case Acknowledge(subscription, delivery, cumulative) if subscription in self._routes:
                route = self._routes[subscription]
                self._clients.broker.acknowledge(route, delivery, cumulative=cumulative)
            case Subscribe():
                self._take(frame.request, lambda: self._subscribe(frame))
                if (new := self._routes.get(frame.subscription)) is not None:
                    self._clients.broker.catch_up(new)
            case Leave(request):
                self._detach()
                self._transport.write(encode(Accepted(request)))
                self._transport.close()
            case _:
                raise FrameError(f"a {type(frame).__name__} frame is out of place")

    def _connect(self, frame: Frame) -> None:
        if not isinstance(frame, Connect) or not frame.client_id:
            raise FrameError("a connection starts with a Connect frame that names the client")
        if frame.client_id in self._clients.sessions:
            self._transport.write(encode(Refused(0, f"client {frame.client_id!r} is connected already")))
            self._transport.close()
            return
        self._client_id = frame.client_id
        self._clients.sessions[frame.client_id] = self
        self._transport.write(encode(Accepted(0)))

    def _subscribe(self, frame: Subscribe) -> None:
        if frame.subscription in self._routes:
            raise NotAllowedError(f"subscription number {frame.subscription} is in use")
        self._routes[frame.subscription] = self._clients.broker.subscribe(
            client_id=self._client_id or "",
            number=frame.subscription,
            destination=frame.destination,
            durable=frame.durable,
            selector=frame.selector,
            outlet=self,
        )

    def _call(self, request: int, destination: str, body: bytes) -> None:
        try:
            self._clients.broker.call(destination, self, request, body)
        except NotAllowedError as error:
            self.refuse(request, str(error))

    def _take(self, request: int, action: Callable[[], None]) -> None:
        try:
            action()
        except NotAllowedError as error:
            self.refuse(request, str(error))
        else:
            self._transport.write(encode(Accepted(request)))

    def _detach(self) -> None:
        for route in self._routes.values():
            self._clients.broker.detach(route)
        self._routes.clear()
        self._clients.broker.client_gone(self)
        if self._client_id is not None:
            self._clients.sessions.pop(self._client_id, None)

    def _peer(self) -> str:
        return str(self._transport.get_extra_info("peername"))


async def listen(*, host: str, port: int, faults: Faults, tls: ssl.SSLContext | None = None) -> asyncio.Server:
    """A listening server on `host`:`port` (0: any free port); OSError when it cannot be had.  tls: what it speaks."""
    loop = asyncio.get_running_loop()
    broker = Broker(faults=faults, later=loop.call_later, crash=lambda: os._exit(CRASH_STATUS))
    clients = Clients(broker)
    limit_s = None if tls is None else HANDSHAKE_LIMIT_S  # asyncio takes none without TLS
    return await loop.create_server(
        lambda: Session(clients), host, port, backlog=1024, ssl=tls, ssl_handshake_timeout=limit_s
    )
