"""The five bodies of JMS messages as ActiveMQ lays them out, made from a body's bytes and read back into them.

What a JMS client pays for a body happens here: a Text body is one character per byte (Latin-1), encoded as modified
UTF-8; Stream and Map bodies are fields: the first 24 bytes whole (a marker stays findable in packets), then a long for
each eight, then what is left over; an Object body is a `byte[]` as Java serialises it.  In Text bodies markers stand
encoded, see results.marker.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

from results.marker import SIZE as HEAD
from stacks.driver import BodyType
from stacks.openwire import properties, wire
from stacks.openwire.properties import LONG, Primitive
from stacks.openwire.wire import Reader, WireError

# Java Object Serialization Specification, 6.4: stream header, array, class [B with its serialVersionUID, no fields,
# no superclass; the array's length and bytes follow.
# ActiveMQ's client resets its stream behind each object.
_BYTE_ARRAY = bytes.fromhex("aced0005 75 72 0002 5b42 acf317f8060854e0 02 0000 78 70")
_RESET = b"\x79"
_REST = "rest"
_LONG = struct.Struct(">q")

CODES = {BodyType.BYTES: 24, BodyType.MAP: 25, BodyType.OBJECT: 26, BodyType.STREAM: 27, BodyType.TEXT: 28}


def content(kind: BodyType, body: bytes | bytearray) -> bytes:
    """A message's content from its body."""
    return _WRITE[kind](body)


def body(code: int, content: bytes | None) -> bytes:
    """A message's body from its type's code and content; WireError when it is none that `content` makes."""
    read = _READ.get(code)
    if read is None:
        raise WireError(f"a message of type {code}, which has no body that can be read")
    return b"" if content is None else read(content)


def _text(body: bytes | bytearray) -> bytes:
    return wire.big_utf(body.decode("latin-1"))


def _from_text(content: bytes) -> bytes:
    reader = Reader(content)
    try:
        text = reader.big_utf().encode("latin-1")
    except UnicodeEncodeError as error:
        raise WireError(f"a text with {error.object[error.start]!r}; bodies of ours are one byte a character") from None
    return _whole(reader, text)


@lru_cache(maxsize=16)
def _fields(size: int) -> tuple[struct.Struct, struct.Struct, int]:
    """How a body's part after its head is read as longs and written as typed ones, and where they end."""
    longs = max(size - HEAD, 0) // 8
    return struct.Struct(f">{longs}q"), struct.Struct(">" + "bq" * longs), min(size, HEAD) + 8 * longs


def _stream(body: bytes | bytearray) -> bytes:
    plain, typed, end = _fields(len(body))
    numbers = plain.unpack_from(body, min(len(body), HEAD))
    parts = [properties.write(bytes(body[:HEAD])), typed.pack(*(part for one in numbers for part in (LONG, one)))]
    if end < len(body):
        parts.append(properties.write(bytes(body[end:])))
    return b"".join(parts)


def _from_stream(content: bytes) -> bytes:
    reader = Reader(content)
    parts = []
    while reader.left:
        parts.append(_field(properties.read(reader)))
    return b"".join(parts)


@lru_cache(maxsize=16)
def _names(count: int) -> tuple[bytes, ...]:
    """Names of the first `count` fields as they are written, a long's type behind each but the first."""
    return (wire.utf("0"), *(wire.utf(str(number)) + bytes((LONG,)) for number in range(1, count)))


def _map(body: bytes | bytearray) -> bytes:
    plain, _, end = _fields(len(body))
    numbers = plain.unpack_from(body, min(len(body), HEAD))
    head, *names = _names(1 + len(numbers))
    rest = [wire.utf(_REST), properties.write(bytes(body[end:]))] if end < len(body) else []
    count = 1 + len(numbers) + len(rest) // 2
    fields = (part for name, one in zip(names, numbers, strict=True) for part in (name, _LONG.pack(one)))
    return b"".join((wire.int32(count), head, properties.write(bytes(body[:HEAD])), *fields, *rest))


def _from_map(content: bytes) -> bytes:
    """By name: a JMS map has no order."""
    reader = Reader(content)
    fields = properties.read_map(reader)
    rest = _field(fields.pop(_REST, b""))
    try:
        numbered = b"".join([_field(fields[str(number)]) for number in range(len(fields))])
    except KeyError as error:
        raise WireError(f"a map without field {error}; it has {', '.join(list(fields)[:8])}") from None
    return _whole(reader, numbered + rest)


def _field(value: Primitive) -> bytes:
    """A field's bytes: a byte array's own, or a long's (small ones come as any integer type)."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return _LONG.pack(value)
    raise WireError(f"field {value!r}: bodies of ours have byte arrays and longs")


def _object(body: bytes | bytearray) -> bytes:
    return b"".join((_BYTE_ARRAY, wire.int32(len(body)), body, _RESET))


def _from_object(content: bytes) -> bytes:
    reader = Reader(content)
    if not content.startswith(_BYTE_ARRAY):
        raise WireError(f"a serialised object that is not a byte[]: it starts with {content[:32].hex()}")
    reader.take(len(_BYTE_ARRAY))
    body = reader.take(reader.int32())
    if (behind := reader.take(reader.left)) not in (b"", _RESET):
        raise WireError(f"{behind[:32].hex()} stands behind a serialised byte[]")
    return body


def _whole(reader: Reader, found: bytes) -> bytes:
    if reader.left:
        raise WireError(f"{reader.left} bytes stand behind the body")
    return found


_WRITE: dict[BodyType, Callable[[bytes | bytearray], bytes]] = {
    BodyType.BYTES: bytes,
    BodyType.TEXT: _text,
    BodyType.STREAM: _stream,
    BodyType.MAP: _map,
    BodyType.OBJECT: _object,
}
_READ: dict[int, Callable[[bytes], bytes]] = {
    CODES[BodyType.BYTES]: bytes,
    CODES[BodyType.TEXT]: _from_text,
    CODES[BodyType.STREAM]: _from_stream,
    CODES[BodyType.MAP]: _from_map,
    CODES[BodyType.OBJECT]: _from_object,
}
