"""A JMS consumer: a listener that is called with each message, or messages that are received one by one."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from stacks.driver import Ack, Handler, StackError
from stacks.openwire import bodies
from stacks.openwire.acknowledging import Acknowledgement, Run
from stacks.openwire.commands import (
    ConsumerInfo,
    Message,
    MessageAck,
    MessageDispatch,
    MessageId,
    MessagePull,
    RemoveInfo,
)
from stacks.openwire.connection import Connection
from stacks.openwire.wire import WireError


class _Arrived(NamedTuple):
    message: Message
    identity: MessageId
    redelivered: bool


class Consumer:
    """A subscription in force once `open` has returned.  handler: the listener; without one there is `receive`."""

    def __init__(self, connection: Connection, info: ConsumerInfo, *, ack: Ack, handler: Handler | None = None) -> None:
        self._connection, self._info, self._handler = connection, info, handler
        self._arrived: deque[_Arrived] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._last_delivered = -1
        self._acknowledgement = Acknowledgement(self._tell, ack=ack, prefetch=info.prefetch)

    async def open(self) -> None:
        """Returns when the subscription is in force; StackError when refused."""
        self._connection.consumers[self._info.consumer] = self._on_dispatch
        await self._connection.request(self._info)

    async def receive(self) -> tuple[bytes, bool]:
        """The next message's body and whether it is marked as redelivered; StackError when the connection ends.

        With a prefetch of 0 the broker is asked for each message.  One at a time.
        """
        if not self._arrived and self._info.prefetch == 0:
            self._connection.tell(MessagePull(self._info.consumer, self._info.destination, timeout=0))
        while not self._arrived:
            self._waiting = self._connection.waiter()
            await self._waiting
        try:
            return self._take(self._arrived.popleft())
        except WireError as error:
            raise StackError(self._connection.lose(f"the server does not speak OpenWire: {error}")) from error

    def acknowledge(self) -> None:
        """CLIENT acknowledgement: of every message that the application has had."""
        self._acknowledgement.acknowledge()

    def closing(self) -> RemoveInfo:
        """Acknowledge what is due; the request that ends the consumer."""
        self._acknowledgement.close()
        return RemoveInfo(self._info.consumer, self._last_delivered)

    def _on_dispatch(self, dispatch: MessageDispatch) -> None:
        message = dispatch.message
        if message is None:  # a pull that found nothing
            return
        if message.identity is None:
            raise WireError("a message without an identity")
        arrived = _Arrived(message, message.identity, dispatch.redeliveries > 0)
        if self._handler is not None:
            self._take(arrived, self._handler)
            return
        self._arrived.append(arrived)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _take(self, arrived: _Arrived, handler: Handler | None = None) -> tuple[bytes, bool]:
        message, identity, redelivered = arrived
        if message.compressed:
            raise WireError("a compressed message, which no client of ours sends")
        body = bodies.body(message.code, message.content)
        self._last_delivered = identity.broker_sequence
        self._acknowledgement.taken(identity)
        if handler is not None:
            handler(body, redelivered)
        self._acknowledgement.handled(identity)
        return body, redelivered

    def _tell(self, kind: int, run: Run) -> None:
        info = self._info
        self._connection.tell(MessageAck(info.destination, None, info.consumer, kind, *run))
