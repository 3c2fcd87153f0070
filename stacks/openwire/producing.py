"""A JMS producer: one message, one send, one answer."""

from __future__ import annotations

import asyncio
import struct
import time

from records.messaging import BodyType
from stacks.openwire import bodies, properties, wire
from stacks.openwire.commands import MESSAGE_FIELDS, PRODUCER, TRANSACTION, marshalled
from stacks.openwire.connection import Connection
from stacks.openwire.structures import Destination, LocalTransactionId, Message, MessageId, ProducerId
from stacks.openwire.transactions import Transactions

PRIORITY = 4  # JMS's default
_HEAD = struct.Struct(">iBi?")  # size, code, number, answer wanted
_LONG = struct.Struct(">q")
_NO_TYPE = wire.string(None)
_TRANSACTION, _IDENTITY, _TIMESTAMP, _REST = 2, 4, 13, 17  # places among the fields


class Template:
    """What all messages of a producer have in common, marshalled once."""

    def __init__(self, *, code: int, producer: ProducerId, destination: Destination, persistent: bool) -> None:
        identity = MessageId(None, producer, 0, 0)
        fields = message(code, identity, destination, persistent=persistent)[1:]
        written = [field.write(value) for field, value in zip(MESSAGE_FIELDS, fields, strict=True)]
        # Present, code, no text view, producer; then the sequence number, which changes.
        start = b"\1" + marshalled(identity)[:2] + PRODUCER.write(producer)
        broker_sequence = wire.long(0)
        self._code = code
        self._before = b"".join(written[:_TRANSACTION])
        self._start = b"".join(written[_TRANSACTION + 1 : _IDENTITY]) + start
        self._between = broker_sequence + b"".join(written[_IDENTITY + 1 : _TIMESTAMP])
        self._after = b"".join(written[_REST:])

    def frame(
        self,
        *,
        number: int,
        sequence: int,
        timestamp_ms: int,
        content: bytes,
        chosen_by: bytes,
        transaction: LocalTransactionId | None = None,
    ) -> bytes:
        """A message as it goes over the wire.  chosen_by: its properties, marshalled as an optional byte sequence."""
        rest = b"".join(
            (
                self._before,
                wire.ABSENT if transaction is None else TRANSACTION.write(transaction),
                self._start,
                _LONG.pack(sequence),
                self._between,
                _LONG.pack(timestamp_ms),
                _NO_TYPE,
                wire.sequence(content),
                chosen_by,
                self._after,
            )
        )
        return _HEAD.pack(_HEAD.size - 4 + len(rest), self._code, number, True) + rest


class Producer:
    """Sends to one destination.  Each send is answered: persistent or not, the provider has then taken the message.

    transactions: of the connection, where each message is committed by itself.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        identity: ProducerId,
        destination: Destination,
        persistent: bool,
        kind: BodyType,
        transactions: Transactions | None = None,
    ) -> None:
        self._connection, self._kind, self._sequence = connection, kind, 0
        self._transactions = transactions
        self._template = Template(
            code=bodies.CODES[kind], producer=identity, destination=destination, persistent=persistent
        )

    def send(self, body: bytes | bytearray, prop: int | None = None) -> asyncio.Future[None]:
        """Hand one message over; the future ends with the broker's response, to its commit if it has one, StackError or
        FullError.
        """
        content = bodies.content(self._kind, body)
        chosen_by = wire.sequence(None if prop is None else properties.write_map({"n": prop}))
        number, answer = self._connection.expect()
        if answer.done():
            return answer
        self._sequence += 1
        transaction = None if self._transactions is None else self._transactions.begin()
        self._connection.write(
            self._template.frame(
                number=number,
                sequence=self._sequence,
                timestamp_ms=time.time_ns() // 1_000_000,
                content=content,
                chosen_by=chosen_by,
                transaction=transaction,
            )
        )
        if self._transactions is None or transaction is None:
            return answer
        return self._transactions.commit_behind(answer, transaction)


def message(code: int, identity: MessageId, destination: Destination, *, persistent: bool) -> Message:
    """A message without content, as a producer makes it."""
    return Message(
        code=code,
        producer=identity.producer,
        destination=destination,
        transaction=None,
        original_destination=None,
        identity=identity,
        original_transaction=None,
        group=None,
        group_sequence=0,
        correlation=None,
        persistent=persistent,
        expiration=0,
        priority=PRIORITY,
        reply_to=None,
        timestamp=0,
        kind=None,
        content=None,
        properties=None,
        structure=None,
        target=None,
        compressed=False,
        redeliveries=0,
        broker_path=None,
        arrival=0,
        user=None,
        received_by_bridge=False,
        droppable=False,
        cluster=None,
        broker_in=0,
        broker_out=0,
        first_of_group=False,
    )
