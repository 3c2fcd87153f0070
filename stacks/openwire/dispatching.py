"""Messages for one consumer, read without decoding what all of them have in common.

A load generator reads thousands a second; the tables of `commands` take ten times as long for one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from stacks.openwire import wire
from stacks.openwire.commands import CONSUMER, DESTINATION, MESSAGE_ID, marshalled
from stacks.openwire.structures import ConsumerInfo, Destination, Message, MessageDispatch, MessageId, ProducerId
from stacks.openwire.wire import WireError

DISPATCH = 21
_ACK = 22
_BASE = 5  # code and number of a command
_PLAIN_PRODUCER = wire.PRESENT + marshalled(ProducerId("", 0, 0))[:2]  # one that has a name
_NO_IDENTITY = MessageId(None, None, 0, 0)
_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">iBi?")  # size, code, number, answer wanted
# A ProducerId: present, code, name present, its length; the name; two numbers.
_NAME_AT, _NUMBERS = 5, 16
# Of a message from its identity's numbers on: the two of them; original transaction, group, the group's sequence,
# correlation, persistent, expiration, priority, reply-to, timestamp, type, content present.
_MIDDLE = struct.Struct(">qq??i??qb?q??")
# Behind the properties: structure, target, compressed, redeliveries, path, arrival, user, bridge, droppable, cluster,
# times in and out of the broker, first of its group; the dispatch's redeliveries.
_TAIL = struct.Struct(">???i?q????qq?i")


class Arrived(NamedTuple):
    """A message as a consumer has it.  code: its body's type.  identity: as it is acknowledged, marshalled.

    correlation, reply_to: of a request; of a reply the first, as in the request.
    """

    code: int
    content: bytes | None
    identity: bytes
    broker_sequence: int
    redelivered: bool
    compressed: bool
    correlation: str | None = None
    reply_to: Destination | None = None


class Inlet:
    """Reads the messages of the consumer that `info` describes, and writes its acknowledgements."""

    def __init__(self, info: ConsumerInfo) -> None:
        destination = DESTINATION.write(info.destination)
        self._head = wire.ABSENT + CONSUMER.write(info.consumer) + destination + wire.PRESENT
        # No transaction, no original destination; the identity: present, its code, no text view.
        identity = MESSAGE_ID.write(_NO_IDENTITY)[:3]
        self._between = destination + wire.ABSENT * 2 + identity
        self._identity = len(identity)
        self._acknowledging = destination + wire.ABSENT + CONSUMER.write(info.consumer)

    def read(self, frame: bytes) -> Arrived | None:
        """A message in a frame that is plain in every respect, else None: then the tables read it."""
        if not frame.startswith(self._head, _BASE):
            return None
        code_at = _BASE + len(self._head)
        producer_at = code_at + 1 + 4 + 1
        try:
            between_at = producer_at + _NAME_AT + _NUMBERS + (frame[producer_at + 3] << 8 | frame[producer_at + 4])
            producer = frame[producer_at:between_at]
            numbers_at = between_at + len(self._between) + len(producer)
            if not (
                producer.startswith(_PLAIN_PRODUCER)
                and frame.startswith(self._between, between_at)
                and frame.startswith(producer, numbers_at - len(producer))
            ):
                return None
            middle = _MIDDLE.unpack_from(frame, numbers_at)
            _, broker_sequence, transaction, group, _, correlation, _, _, _, reply, _, kind, present = middle
            at = numbers_at + _MIDDLE.size
            content = None
            if present:
                content, at = _sequence(frame, at)
            if frame[at]:
                _, at = _sequence(frame, at + 1)
            else:
                at += 1
            if at + _TAIL.size != len(frame):
                return None
            structure, target, compressed, _, path, _, user, _, _, cluster, _, _, _, again = _TAIL.unpack_from(
                frame, at
            )
        except (IndexError, struct.error):
            return None
        if transaction or group or correlation or reply or kind or structure or target or path or user or cluster:
            return None
        identity = frame[numbers_at - len(producer) - self._identity : numbers_at + 16]
        return Arrived(frame[code_at], content, identity, broker_sequence, again > 0, compressed)

    def acknowledgement(self, number: int, kind: int, first: bytes, last: bytes, messages: int) -> bytes:
        """A MessageAck's frame."""
        rest = b"".join((self._acknowledging, wire.byte(kind), first, last, _SIZE.pack(messages), wire.ABSENT))
        return _HEAD.pack(_HEAD.size - 4 + len(rest), _ACK, number, False) + rest


def arrived(dispatch: MessageDispatch, message: Message) -> Arrived:
    """The same of a message that the tables have read; WireError when it has no identity."""
    if message.identity is None:
        raise WireError("a message without an identity")
    return Arrived(
        code=message.code,
        content=message.content,
        identity=MESSAGE_ID.write(message.identity),
        broker_sequence=message.identity.broker_sequence,
        redelivered=dispatch.redeliveries > 0,
        compressed=message.compressed,
        correlation=message.correlation,
        reply_to=message.reply_to,
    )


def _sequence(frame: bytes, at: int) -> tuple[bytes, int]:
    """Bytes behind their length, and where they end; IndexError when the frame ends before them."""
    (size,) = _SIZE.unpack_from(frame, at)
    end = at + _SIZE.size + size
    if not at + _SIZE.size <= end <= len(frame):
        raise IndexError
    return frame[at + _SIZE.size : end], end
