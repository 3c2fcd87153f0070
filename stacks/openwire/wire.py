"""OpenWire's primitives, big-endian, and Java's modified UTF-8."""

from __future__ import annotations

import re
import struct
from typing import Any

from stacks.channel import LanguageError

_BOOL, _BYTE, _SHORT, _USHORT = struct.Struct(">?"), struct.Struct(">b"), struct.Struct(">h"), struct.Struct(">H")
_INT, _LONG, _FLOAT, _DOUBLE = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">f"), struct.Struct(">d")
_MAX_UTF = 0xFFFF
_BEYOND_16_BITS, _HALF = re.compile("[\U00010000-\U0010ffff]"), re.compile("[\ud800-\udfff]")

ABSENT, PRESENT = b"\0", b"\1"


class WireError(LanguageError):
    """The peer sent what is not OpenWire, or is beyond the limits; or a value that the format cannot carry."""


class Reader:
    """Reads one frame, front to back; WireError when it ends too early."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        """Bytes that are not yet read."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if not 0 <= count <= self.left:
            raise WireError(f"{count} bytes are announced and {self.left} are left")
        self._at += count
        return self._data[self._at - count : self._at]

    def _unpack(self, layout: struct.Struct) -> Any:
        if self.left < layout.size:
            raise WireError(f"{layout.size} bytes are needed and {self.left} are left")
        (value,) = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return value

    def boolean(self) -> bool:
        """One byte, true unless 0."""
        return bool(self._unpack(_BOOL))

    def byte(self) -> int:
        """A signed byte."""
        return int(self._unpack(_BYTE))

    def short(self) -> int:
        """A signed 16-bit number."""
        return int(self._unpack(_SHORT))

    def int32(self) -> int:
        """A signed 32-bit number."""
        return int(self._unpack(_INT))

    def long(self) -> int:
        """A signed 64-bit number."""
        return int(self._unpack(_LONG))

    def float32(self) -> float:
        """A 32-bit floating-point number."""
        return float(self._unpack(_FLOAT))

    def double(self) -> float:
        """A 64-bit floating-point number."""
        return float(self._unpack(_DOUBLE))

    def char(self) -> str:
        """A UTF-16 unit."""
        return chr(self._unpack(_USHORT))

    def utf(self) -> str:
        """Text of at most 65,535 encoded bytes."""
        return decode_text(self.take(self._unpack(_USHORT)))

    def big_utf(self) -> str:
        """Text of any length."""
        return decode_text(self.take(self.int32()))

    def string(self) -> str | None:
        """Text that may be absent."""
        return self.utf() if self.boolean() else None

    def sequence(self) -> bytes | None:
        """Bytes that may be absent."""
        return self.take(self.int32()) if self.boolean() else None


def boolean(value: bool) -> bytes:
    """One byte."""
    return PRESENT if value else ABSENT


def _packed(layout: struct.Struct, value: Any) -> bytes:
    try:
        return layout.pack(value)
    except (struct.error, OverflowError) as error:
        raise WireError(f"{value!r}: {error}") from None


def byte(value: int) -> bytes:
    """A signed byte."""
    return _packed(_BYTE, value)


def short(value: int) -> bytes:
    """A signed 16-bit number."""
    return _packed(_SHORT, value)


def int32(value: int) -> bytes:
    """A signed 32-bit number."""
    return _packed(_INT, value)


def long(value: int) -> bytes:
    """A signed 64-bit number."""
    return _packed(_LONG, value)


def double(value: float) -> bytes:
    """A 64-bit floating-point number."""
    return _packed(_DOUBLE, value)


def utf(text: str) -> bytes:
    """Text of at most 65,535 encoded bytes; WireError for more."""
    data = encode_text(text)
    if len(data) > _MAX_UTF:
        raise WireError(f"a text of {len(data)} encoded bytes; this field takes at most {_MAX_UTF}")
    return _USHORT.pack(len(data)) + data


def big_utf(text: str) -> bytes:
    """Text of any length."""
    data = encode_text(text)
    return int32(len(data)) + data


def string(text: str | None) -> bytes:
    """Text that may be absent."""
    return ABSENT if text is None else PRESENT + utf(text)


def sequence(data: bytes | bytearray | None) -> bytes:
    """Bytes that may be absent."""
    return ABSENT if data is None else b"".join((PRESENT, int32(len(data)), data))


def encode_text(text: str) -> bytes:
    """Modified UTF-8: UTF-16 units one by one, and never a NUL byte."""
    if _BEYOND_16_BITS.search(text):  # each half of a pair by itself
        units = text.encode("utf-16-be", "surrogatepass")
        text = "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units)))
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def decode_text(data: bytes) -> str:
    """The text of modified UTF-8; WireError when it is none."""
    try:
        text = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        if _HALF.search(text):
            text = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
        return text
    except UnicodeError as error:
        raise WireError(f"a text that is not modified UTF-8: {error}") from None
