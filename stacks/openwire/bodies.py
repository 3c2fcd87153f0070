"""The five bodies of JMS messages as ActiveMQ lays them out, made from a body's bytes and read back into them.

What a JMS client pays for a body happens here: a Text body is one character per byte (Latin-1), encoded as modified
UTF-8; Stream and Map bodies are fields: the first 24 bytes whole (a marker stays findable in packets), then a long for
each eight, then what is left over; an Object body is a `byte[]` as Java serialises it.  In Text bodies markers stand
encoded, see records.marker.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from itertools import chain, repeat

from records.marker import SIZE as HEAD
from records.messaging import BodyType
from stacks.openwire import properties, wire
from stacks.openwire.properties import LONG, Primitive
from stacks.openwire.wire import Reader, WireError

# Java Object Serialization Specification, 6.4: stream header, array, class [B with its serialVersionUID, no fields,
# no superclass; the array's length and bytes follow.
# ActiveMQ's client resets its stream behind each object.
_BYTE_ARRAY = bytes.fromhex("aced0005 75 72 0002 5b42 acf317f8060854e0 02 0000 78 70")
_RESET = b"\x79"
_FIRST, _REST = wire.utf("0"), "rest"
_LONG = struct.Struct(">q")
_LONG_FIELD = 9  # with its type
_MAP_HEAD = 4 + 3 + 5 + HEAD  # bytes of a map's count and first field

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


@lru_cache(maxsize=4)
def _fields(size: int) -> tuple[struct.Struct, struct.Struct, int]:
    """How a body's part after its head is read as longs and written as typed ones, and where they end."""
    longs = max(size - HEAD, 0) // 8
    return struct.Struct(f">{longs}q"), struct.Struct(">" + "bq" * longs), min(size, HEAD) + 8 * longs


def _stream(body: bytes | bytearray) -> bytes:
    plain, typed, end = _fields(len(body))
    numbers = plain.unpack_from(body, min(len(body), HEAD))
    parts = [properties.write(bytes(body[:HEAD])), typed.pack(*chain.from_iterable(zip(repeat(LONG), numbers)))]
    if end < len(body):
        parts.append(properties.write(bytes(body[end:])))
    return b"".join(parts)


def _from_stream(content: bytes) -> bytes:
    parts, reader = [], Reader(content)
    while reader.left:
        if longs := _run(content[len(content) - reader.left :: _LONG_FIELD]):
            longs = min(longs, reader.left // _LONG_FIELD) or 1
            plain, typed, _ = _fields(HEAD + _LONG.size * longs)
            parts.append(plain.pack(*typed.unpack(reader.take(typed.size))[1::2]))
        else:
            parts.append(_field(properties.read(reader)))
    return b"".join(parts)


def _run(types: bytes) -> int:
    """How many fields from here on are longs: the types that would stand where each of them begins."""
    return len(types) - len(types.lstrip(bytes((LONG,))))


@lru_cache(maxsize=4)
def _named(longs: int) -> tuple[struct.Struct, tuple[bytes, ...]]:
    """How a map's longs are written with their names, and these, a long's type behind each."""
    names = tuple(wire.utf(str(number)) + bytes((LONG,)) for number in range(1, longs + 1))
    return struct.Struct(">" + "".join(f"{len(name)}sq" for name in names)), names


def _map(body: bytes | bytearray) -> bytes:
    plain, _, end = _fields(len(body))
    numbers = plain.unpack_from(body, min(len(body), HEAD))
    named, names = _named(len(numbers))
    rest = [wire.utf(_REST), properties.write(bytes(body[end:]))] if end < len(body) else []
    count = 1 + len(numbers) + len(rest) // 2
    fields = named.pack(*chain.from_iterable(zip(names, numbers, strict=True)))
    return b"".join((wire.int32(count), _FIRST, properties.write(bytes(body[:HEAD])), fields, *rest))


def _from_map(content: bytes) -> bytes:
    """By name: a JMS map has no order."""
    reader = Reader(content)
    if (longs := _in_order(content)) is not None:
        reader.take(_MAP_HEAD - HEAD)
        head, named = reader.take(HEAD), _named(longs)[0]
        plain = _fields(HEAD + _LONG.size * longs)[0]
        numbers = plain.pack(*named.unpack(reader.take(named.size))[1::2])
        rest = _field(properties.read(reader)) if reader.left and reader.utf() == _REST else b""
        return _whole(reader, head + numbers + rest)
    fields = properties.read_map(reader)
    rest = _field(fields.pop(_REST, b""))
    try:
        numbered = b"".join([_field(fields[str(number)]) for number in range(len(fields))])
    except KeyError as error:
        raise WireError(f"a map without field {error}; it has {', '.join(list(fields)[:8])}") from None
    return _whole(reader, numbered + rest)


def _in_order(content: bytes) -> int | None:
    """How many longs a map has whose fields stand in the order in which they are written here, else None."""
    start = _FIRST + properties.write(bytes(HEAD))[:-HEAD]
    count = int.from_bytes(content[:4])
    if not content.startswith(start, 4) or count * _LONG_FIELD > len(content):
        return None
    for longs in (count - 1, count - 2):  # without and with a rest
        if longs >= 0:
            named, names = _named(longs)
            found = _MAP_HEAD + named.size <= len(content) and named.unpack_from(content, _MAP_HEAD)[::2] == names
            ends = _MAP_HEAD + named.size == len(content)
            if found and ends == (longs == count - 1):
                return longs
    return None


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
