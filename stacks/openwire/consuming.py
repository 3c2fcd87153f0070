"""A JMS consumer: a listener that is called with each message, or messages that are received one by one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from records.messaging import Ack
from stacks.driver import Handler, StackError
from stacks.openwire import bodies
from stacks.openwire.acknowledging import Acknowledgement, Run
from stacks.openwire.connection import Connection
from stacks.openwire.dispatching import Arrived, Inlet, arrived
from stacks.openwire.structures import (
    QUEUE,
    TEMPORARY_QUEUE,
    ConsumerInfo,
    MessageDispatch,
    MessagePull,
    RemoveInfo,
)
from stacks.openwire.wire import WireError


class Consumer:
    """A subscription in force once `open` has returned.

    handler: the listener; without one there is `receive`.  on_arrival: a listener that needs to know more.
    """

    def __init__(
        self,
        connection: Connection,
        info: ConsumerInfo,
        *,
        ack: Ack,
        handler: Handler | None = None,
        on_arrival: Callable[[bytes, Arrived], None] | None = None,
    ) -> None:
        self._connection, self._info, self._handler, self._on_arrival = connection, info, handler, on_arrival
        self._inlet = Inlet(info)
        self._arrived: deque[Arrived] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._last_delivered = -1
        # Of queues ActiveMQ's client acknowledges each message with DUPS_OK, too (isAutoAcknowledgeEach).
        each = ack is Ack.DUPS_OK and info.destination.code in (QUEUE, TEMPORARY_QUEUE)
        self._acknowledgement = Acknowledgement(self._tell, ack=Ack.AUTO if each else ack, prefetch=info.prefetch)

    async def open(self) -> None:
        """Returns when the subscription is in force; StackError when refused."""
        self._connection.consumers[self._info.consumer] = self
        try:
            await self._connection.request(self._info)
        except StackError:
            del self._connection.consumers[self._info.consumer]
            raise

    async def receive(self) -> tuple[bytes, bool]:
        """The next message's body and whether it is marked as redelivered; StackError when the connection ends.

        With a prefetch of 0 the broker is asked for each message.  One at a time.
        """
        if self._connection.leaving:
            raise StackError(self._connection.why_over)
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

    def on_frame(self, frame: bytes) -> bool:
        """Called by the connection with a frame that holds a message; whether it is ours and plain."""
        found = self._inlet.read(frame)
        if found is not None:
            self._arrive(found)
        return found is not None

    def on_dispatch(self, dispatch: MessageDispatch) -> None:
        """Called by the connection with a message that is not plain."""
        if dispatch.message is not None:  # else a pull that found nothing
            self._arrive(arrived(dispatch, dispatch.message))

    def _arrive(self, found: Arrived) -> None:
        if self._handler is not None:
            self._take(found, self._handler)
            return
        if self._on_arrival is not None:
            on_arrival = self._on_arrival
            self._take(found, lambda body, _: on_arrival(body, found))
            return
        self._arrived.append(found)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _take(self, found: Arrived, handler: Handler | None = None) -> tuple[bytes, bool]:
        if found.compressed:
            raise WireError("a compressed message, which no client of ours sends")
        body = bodies.body(found.code, found.content)
        self._last_delivered = found.broker_sequence
        self._acknowledgement.taken(found.identity)
        if handler is not None:
            handler(body, found.redelivered)
        self._acknowledgement.handled(found.identity)
        return body, found.redelivered

    def _tell(self, kind: int, run: Run) -> None:
        self._connection.write(self._inlet.acknowledgement(self._connection.next_number(), kind, *run))
