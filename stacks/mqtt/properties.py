"""The properties of MQTT 5's packets (section 2.2.2)."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, NamedTuple

from stacks.mqtt import primitives
from stacks.mqtt.primitives import MOST, PacketError, Reader


class Kind(IntEnum):
    """Control packet types (section 2.1.2)."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14
    AUTH = 15


class Property(IntEnum):
    """Property identifiers (section 2.2.2.2); those of wills are left out."""

    PAYLOAD_FORMAT = 1
    MESSAGE_EXPIRY_S = 2
    CONTENT_TYPE = 3
    RESPONSE_TOPIC = 8
    CORRELATION_DATA = 9
    SUBSCRIPTION_IDENTIFIER = 11
    SESSION_EXPIRY_S = 17
    ASSIGNED_CLIENT_ID = 18
    SERVER_KEEP_ALIVE_S = 19
    AUTHENTICATION_METHOD = 21
    AUTHENTICATION_DATA = 22
    REQUEST_PROBLEMS = 23
    REQUEST_RESPONSE = 25
    RESPONSE_INFORMATION = 26
    SERVER_REFERENCE = 28
    REASON = 31
    RECEIVE_MAXIMUM = 33
    TOPIC_ALIAS_MAXIMUM = 34
    TOPIC_ALIAS = 35
    MAXIMUM_QOS = 36
    RETAIN_AVAILABLE = 37
    USER = 38
    MAXIMUM_PACKET_SIZE = 39
    WILDCARD_AVAILABLE = 40
    SUBSCRIPTION_IDENTIFIER_AVAILABLE = 41
    SHARED_AVAILABLE = 42


Value = int | str | bytes | tuple[str, str]
Properties = tuple[tuple[Property, Value], ...]
# All that have one byte say yes or no.
Shape = Literal["byte", "two bytes", "four bytes", "varint", "text", "binary", "pair"]
SIZES: dict[Shape, int] = {"byte": 1, "two bytes": 2, "four bytes": 4}


class Field(NamedTuple):
    """What a property holds, and in which packets it may stand."""

    shape: Shape
    kinds: frozenset[Kind]


_MESSAGE, _HELLO, _WELCOME = frozenset({Kind.PUBLISH}), frozenset({Kind.CONNECT}), frozenset({Kind.CONNACK})
_BOTH = _HELLO | _WELCOME
_ANSWERS = frozenset({Kind.PUBACK, Kind.PUBREC, Kind.PUBREL, Kind.PUBCOMP, Kind.SUBACK})
_END = frozenset({Kind.DISCONNECT})
FIELDS: dict[Property, Field] = {
    Property.PAYLOAD_FORMAT: Field("byte", _MESSAGE),
    Property.MESSAGE_EXPIRY_S: Field("four bytes", _MESSAGE),
    Property.CONTENT_TYPE: Field("text", _MESSAGE),
    Property.RESPONSE_TOPIC: Field("text", _MESSAGE),
    Property.CORRELATION_DATA: Field("binary", _MESSAGE),
    Property.SUBSCRIPTION_IDENTIFIER: Field("varint", _MESSAGE | {Kind.SUBSCRIBE}),
    Property.SESSION_EXPIRY_S: Field("four bytes", _BOTH | _END),
    Property.ASSIGNED_CLIENT_ID: Field("text", _WELCOME),
    Property.SERVER_KEEP_ALIVE_S: Field("two bytes", _WELCOME),
    Property.AUTHENTICATION_METHOD: Field("text", _BOTH),
    Property.AUTHENTICATION_DATA: Field("binary", _BOTH),
    Property.REQUEST_PROBLEMS: Field("byte", _HELLO),
    Property.REQUEST_RESPONSE: Field("byte", _HELLO),
    Property.RESPONSE_INFORMATION: Field("text", _WELCOME),
    Property.SERVER_REFERENCE: Field("text", _WELCOME | _END),
    Property.REASON: Field("text", _WELCOME | _ANSWERS | _END),
    Property.RECEIVE_MAXIMUM: Field("two bytes", _BOTH),
    Property.TOPIC_ALIAS_MAXIMUM: Field("two bytes", _BOTH),
    Property.TOPIC_ALIAS: Field("two bytes", _MESSAGE),
    Property.MAXIMUM_QOS: Field("byte", _WELCOME),
    Property.RETAIN_AVAILABLE: Field("byte", _WELCOME),
    Property.USER: Field("pair", _BOTH | _MESSAGE | _ANSWERS | _END | {Kind.SUBSCRIBE}),
    Property.MAXIMUM_PACKET_SIZE: Field("four bytes", _BOTH),
    Property.WILDCARD_AVAILABLE: Field("byte", _WELCOME),
    Property.SUBSCRIPTION_IDENTIFIER_AVAILABLE: Field("byte", _WELCOME),
    Property.SHARED_AVAILABLE: Field("byte", _WELCOME),
}
# Section 3 says of each that 0 is a protocol error.
NEVER_ZERO = {
    Property.SUBSCRIPTION_IDENTIFIER,
    Property.RECEIVE_MAXIMUM,
    Property.TOPIC_ALIAS,
    Property.MAXIMUM_PACKET_SIZE,
}
# A message carries the identifier of every subscription that it matches.
_REPEATED = {(Property.USER, kind) for kind in Kind} | {(Property.SUBSCRIPTION_IDENTIFIER, Kind.PUBLISH)}


def find(properties: Properties, wanted: Property) -> Value | None:
    """A property's value, the first of several; None without one."""
    return next((value for name, value in properties if name is wanted), None)


def encode(kind: Kind, properties: Properties) -> bytes:
    """All properties behind their length; ValueError for one that such a packet cannot have, or of another type."""
    written = b"".join(varied for name, value in properties for varied in _written(kind, name, value))
    return primitives.varint(len(written)) + written


def decode(kind: Kind, reader: Reader) -> Properties:
    """Read all properties; PacketError for unknown ones, repeated ones and those of other packets."""
    inside = reader.part(reader.varint())
    found: list[tuple[Property, Value]] = []
    seen: set[Property] = set()
    while inside.left:
        number = inside.varint()
        try:
            name = Property(number)
        except ValueError:
            raise PacketError(f"has property {number}, which does not exist") from None
        field = FIELDS[name]
        if kind not in field.kinds:
            raise PacketError(f"has property {name.name}, which it cannot have")
        if name in seen and (name, kind) not in _REPEATED:
            raise PacketError(f"has property {name.name} twice")
        seen.add(name)
        value = _value(field.shape, inside)
        if not _allowed(name, value):
            raise PacketError(f"has property {name.name} {value!r}, which is not allowed")
        found.append((name, value))
    return tuple(found)


def _allowed(name: Property, value: Value) -> bool:
    if not isinstance(value, int):
        return True
    return value < 2 if FIELDS[name].shape == "byte" else value > 0 or name not in NEVER_ZERO


def _value(shape: Shape, reader: Reader) -> Value:
    if shape == "text":
        return reader.text()
    if shape == "binary":
        return reader.binary()
    if shape == "pair":
        return reader.text(), reader.text()
    return reader.varint() if shape == "varint" else reader.integer(SIZES[shape])


def _written(kind: Kind, name: Property, value: Value) -> tuple[bytes, bytes]:
    shape, kinds = FIELDS[name]
    if kind not in kinds:
        raise ValueError(f"a {kind.name} packet cannot have property {name.name}")
    if not _allowed(name, value):
        raise ValueError(f"property {name.name}: {value!r} is not allowed")
    identifier = primitives.varint(name)
    if shape == "text" and isinstance(value, str):
        return identifier, primitives.text(value)
    if shape == "binary" and isinstance(value, bytes):
        return identifier, primitives.binary(value)
    if shape == "pair" and isinstance(value, tuple):
        return identifier, primitives.text(value[0]) + primitives.text(value[1])
    if shape == "varint" and isinstance(value, int):
        return identifier, primitives.varint(value)
    if shape in SIZES and isinstance(value, int) and 0 <= value < 1 << 8 * SIZES[shape]:
        return identifier, value.to_bytes(SIZES[shape])
    raise ValueError(f"property {name.name}: {value!r} is not {shape}" + (f" up to {MOST}" * (shape == "varint")))
