"""How commands are written and read, as tables: fields in the order of the wire, each with how it is marshalled.

The tables are those of version 12.  Commands that a client only hears and need not understand are not in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stacks.openwire import wire
from stacks.openwire.structures import (
    MAGIC,
    QUEUE,
    TEMPORARY_QUEUE,
    TOPIC,
    BrokerId,
    ConnectionFailure,
    ConnectionId,
    ConnectionInfo,
    ConsumerControl,
    ConsumerId,
    ConsumerInfo,
    Destination,
    DestinationInfo,
    ExceptionResponse,
    KeepAliveInfo,
    LocalTransactionId,
    Message,
    MessageAck,
    MessageDispatch,
    MessageId,
    MessagePull,
    ProducerAck,
    ProducerId,
    ProducerInfo,
    RemoveInfo,
    Response,
    SessionId,
    SessionInfo,
    ShutdownInfo,
    Structure,
    Throwable,
    TransactionInfo,
    WireFormatInfo,
)
from stacks.openwire.wire import ABSENT, PRESENT, Reader, WireError


class Field(NamedTuple):
    """How one field is written and read."""

    write: Callable[[Any], bytes]
    read: Callable[[Reader], Any]


def nested(*kinds: type[Any]) -> Field:
    """A structure of one of these kinds, or none; naming the kinds keeps a peer from nesting without end."""

    def read(reader: Reader) -> Any:
        return _read(reader, kinds) if reader.boolean() else None

    return Field(lambda value: ABSENT if value is None else PRESENT + marshalled(value), read)


def _read_path(reader: Reader) -> tuple[BrokerId | None, ...] | None:
    if not reader.boolean():
        return None
    return tuple(_BROKER.read(reader) for _ in range(reader.short()))


def _write_path(path: tuple[BrokerId | None, ...] | None) -> bytes:
    return ABSENT if path is None else b"".join((PRESENT, wire.short(len(path)), *map(_BROKER.write, path)))


def _read_throwable(reader: Reader) -> Throwable | None:
    """Without its stack trace, which is not asked for."""
    return Throwable(reader.string(), reader.string()) if reader.boolean() else None


def _write_throwable(value: Throwable | None) -> bytes:
    return ABSENT if value is None else PRESENT + wire.string(value.kind) + wire.string(value.message)


def _read_magic(reader: Reader) -> int:
    """The magic bytes, then the version."""
    if (found := reader.take(len(MAGIC))) != MAGIC:
        raise WireError(f"the first command has {found!r} where {MAGIC!r} belongs")
    return reader.int32()


BOOL, BYTE = Field(wire.boolean, Reader.boolean), Field(wire.byte, Reader.byte)
INT, LONG = Field(wire.int32, Reader.int32), Field(wire.long, Reader.long)
STRING, SEQUENCE = Field(wire.string, Reader.string), Field(wire.sequence, Reader.sequence)
NONE = nested()
_BROKER, PATH = nested(BrokerId), Field(_write_path, _read_path)
THROWABLE = Field(_write_throwable, _read_throwable)
MAGIC_VERSION = Field(lambda version: MAGIC + wire.int32(version), _read_magic)
DESTINATION, CONNECTION, SESSION = nested(Destination), nested(ConnectionId), nested(SessionId)
CONSUMER, PRODUCER, MESSAGE_ID = nested(ConsumerId), nested(ProducerId), nested(MessageId)
TRANSACTION = nested(LocalTransactionId)

# Whether it is a command (its number and whether an answer is wanted come first), the codes of the wire, the fields.
_Table = tuple[bool, tuple[int, ...], tuple[Field, ...]]

MESSAGE_FIELDS = (
    PRODUCER, DESTINATION, TRANSACTION, DESTINATION, MESSAGE_ID, NONE, STRING, INT, STRING, BOOL, LONG, BYTE,
    DESTINATION, LONG, STRING, SEQUENCE, SEQUENCE, NONE, CONSUMER, BOOL, INT, PATH, LONG, STRING, BOOL, BOOL, PATH,
    LONG, LONG, BOOL,
)  # fmt: skip

_TABLES: dict[type[Any], _Table] = {
    ConnectionId: (False, (120,), (STRING,)),
    SessionId: (False, (121,), (STRING, LONG)),
    ConsumerId: (False, (122,), (STRING, LONG, LONG)),
    ProducerId: (False, (123,), (STRING, LONG, LONG)),
    BrokerId: (False, (124,), (STRING,)),
    LocalTransactionId: (False, (111,), (LONG, CONNECTION)),
    MessageId: (False, (110,), (STRING, PRODUCER, LONG, LONG)),
    Destination: (False, (QUEUE, TOPIC, TEMPORARY_QUEUE, 103), (STRING,)),
    WireFormatInfo: (False, (1,), (MAGIC_VERSION, SEQUENCE)),
    ConnectionInfo: (True, (3,), (CONNECTION, STRING, STRING, STRING, PATH, *(BOOL,) * 5, STRING)),
    SessionInfo: (True, (4,), (SESSION,)),
    ConsumerInfo: (True, (5,), (
        CONSUMER, BOOL, DESTINATION, INT, INT, BOOL, STRING, STRING, STRING, BOOL, BOOL, BOOL, BYTE, PATH, NONE, BOOL,
        BOOL, BOOL, PATH,
    )),
    ProducerInfo: (True, (6,), (PRODUCER, DESTINATION, PATH, BOOL, INT)),
    TransactionInfo: (True, (7,), (CONNECTION, TRANSACTION, BYTE)),
    DestinationInfo: (True, (8,), (CONNECTION, DESTINATION, BYTE, LONG, PATH)),
    KeepAliveInfo: (True, (10,), ()),
    ShutdownInfo: (True, (11,), ()),
    RemoveInfo: (True, (12,), (nested(ConnectionId, SessionId, ConsumerId, ProducerId), LONG)),
    ConnectionFailure: (True, (16,), (THROWABLE, CONNECTION)),
    ConsumerControl: (True, (17,), (DESTINATION, BOOL, CONSUMER, INT, BOOL, BOOL, BOOL)),
    ProducerAck: (True, (19,), (PRODUCER, INT)),
    MessagePull: (True, (20,), (CONSUMER, DESTINATION, LONG, STRING, MESSAGE_ID)),
    MessageDispatch: (True, (21,), (CONSUMER, DESTINATION, nested(Message), INT)),
    MessageAck: (True, (22,), (DESTINATION, NONE, CONSUMER, BYTE, MESSAGE_ID, MESSAGE_ID, INT, THROWABLE)),
    Message: (True, (23, 24, 25, 26, 27, 28), MESSAGE_FIELDS),
    Response: (True, (30,), (INT,)),
    ExceptionResponse: (True, (31,), (INT, THROWABLE)),
}  # fmt: skip
_KINDS = {code: kind for kind, (_, codes, _) in _TABLES.items() for code in codes}


class Received(NamedTuple):
    """A command with its number; `respond`: the peer wants an answer."""

    command: Structure
    number: int
    respond: bool


def frame(command: Structure, *, number: int = 0, respond: bool = False) -> bytes:
    """A command as it goes over the wire, its size in front."""
    data = marshalled(command, number=number, respond=respond)
    return wire.int32(len(data)) + data


def marshalled(value: Any, *, number: int = 0, respond: bool = False) -> bytes:
    """A structure: its code, what every command has, its fields."""
    command, codes, fields = _TABLES[type(value)]
    code = codes[0]
    if len(codes) > 1:
        code, *value = value
    base = wire.int32(number) + wire.boolean(respond) if command else b""
    written = (field.write(one) for field, one in zip(fields, value, strict=True))
    return b"".join((bytes((code,)), base, *written))


def decode(data: bytes) -> Received | None:
    """A command from a frame without its size; None for one that is not in the tables; WireError when malformed."""
    reader = Reader(data)
    kind = _KINDS.get(code := reader.byte())
    if kind is None:
        return None
    command, _, fields = _TABLES[kind]
    number, respond = (reader.int32(), reader.boolean()) if command else (0, False)
    return Received(_structure(kind, code, reader, fields), number, respond)


def _read(reader: Reader, kinds: tuple[type[Any], ...]) -> Any:
    kind = _KINDS.get(code := reader.byte())
    if kind is None or kind not in kinds:
        raise WireError(f"a structure of type {code} stands where it does not belong")
    command, _, fields = _TABLES[kind]
    if command:
        reader.int32(), reader.boolean()
    return _structure(kind, code, reader, fields)


def _structure(kind: type[Any], code: int, reader: Reader, fields: tuple[Field, ...]) -> Any:
    values = [field.read(reader) for field in fields]
    return kind(code, *values) if len(_TABLES[kind][1]) > 1 else kind(*values)
