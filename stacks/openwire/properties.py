"""Typed primitives, and maps of them: message properties, and the fields of Stream and Map messages.

Python's bool, int (as the smallest of Java's int and long), float (a double), str and bytes; bytes, shorts, chars and
floats are read too.  Lists and maps inside are read and written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from stacks.openwire import wire
from stacks.openwire.wire import Reader, WireError

Primitive = None | bool | int | float | str | bytes | list["Primitive"] | dict[str, "Primitive"]

NULL, BOOLEAN, BYTE, CHAR, SHORT, INTEGER, LONG, DOUBLE, FLOAT, STRING, BYTES, MAP, LIST, BIG_STRING = range(14)


class Long(int):
    """A number that is written as a long, however small."""


_INT32 = range(-(1 << 31), 1 << 31)
_SHORT_TEXT = 8191  # characters; above, ActiveMQ writes a length of four bytes
_MAX_DEPTH = 16

_READ: dict[int, Callable[[Reader], Primitive]] = {
    NULL: lambda _: None,
    BOOLEAN: Reader.boolean,
    BYTE: Reader.byte,
    CHAR: Reader.char,
    SHORT: Reader.short,
    INTEGER: Reader.int32,
    LONG: Reader.long,
    DOUBLE: Reader.double,
    FLOAT: Reader.float32,
    STRING: Reader.utf,
    BYTES: lambda reader: reader.take(reader.int32()),
    BIG_STRING: Reader.big_utf,
}


def write(value: Primitive) -> bytes:
    """One typed primitive; WireError for a value that none of the types can hold."""
    kind, data = _typed(value)
    return bytes((kind,)) + data


def _typed(value: Primitive) -> tuple[int, bytes]:
    found: tuple[int, bytes]
    match value:
        case None:
            found = NULL, b""
        case bool():
            found = BOOLEAN, wire.boolean(value)
        case int() if isinstance(value, Long) or value not in _INT32:
            found = LONG, wire.long(value)
        case int():
            found = INTEGER, wire.int32(value)
        case float():
            found = DOUBLE, wire.double(value)
        case str() if len(value) < _SHORT_TEXT:
            found = STRING, wire.utf(value)
        case str():
            found = BIG_STRING, wire.big_utf(value)
        case bytes():
            found = BYTES, wire.int32(len(value)) + value
        case dict():
            found = MAP, write_map(value)
        case list():
            found = LIST, b"".join((wire.int32(len(value)), *map(write, value)))
        case _:
            raise WireError(f"{value!r} is not a primitive")
    return found


def write_map(values: Mapping[str, Primitive]) -> bytes:
    """Names and values, in their order."""
    pairs = (part for name, value in values.items() for part in (wire.utf(name), write(value)))
    return b"".join((wire.int32(len(values)), *pairs))


def read(reader: Reader, *, depth: int = 0) -> Primitive:
    """One typed primitive; WireError for an unknown type, or one that nests deeper than any client of ours writes."""
    kind = reader.byte()
    simple = _READ.get(kind)
    if simple is not None:
        return simple(reader)
    if depth == _MAX_DEPTH:
        raise WireError(f"maps and lists nest deeper than {_MAX_DEPTH}")
    if kind == MAP:
        return cast(Primitive, read_map(reader, depth=depth + 1))
    if kind == LIST:
        return [read(reader, depth=depth + 1) for _ in range(_count(reader, least_bytes=1))]
    raise WireError(f"unknown primitive type {kind}")


def read_map(reader: Reader, *, depth: int = 0) -> dict[str, Primitive]:
    """Names and values, in their order on the wire; an absent map (count -1) is empty."""
    return {reader.utf(): read(reader, depth=depth) for _ in range(_count(reader, least_bytes=3))}


def _count(reader: Reader, *, least_bytes: int) -> int:
    count = reader.int32()
    if count * least_bytes > reader.left:
        raise WireError(f"{count} entries are announced in {reader.left} bytes")
    return max(count, 0)
