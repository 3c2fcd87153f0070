"""What MQTT's packets are made of (MQTT 5, section 1.5): integers, strings, lengths."""

from __future__ import annotations

from stacks.channel import LanguageError

MOST = 268_435_455  # what four bytes of a variable length hold
_LONGEST = 0xFFFF


class PacketError(LanguageError):
    """The peer sent what is not MQTT, or is beyond the limits; its stream cannot be read further."""


def varint(number: int) -> bytes:
    """A variable byte integer; ValueError beyond what four bytes hold."""
    if 0 <= number < 0x80:
        return bytes((number,))
    if not 0 <= number <= MOST:
        raise ValueError(f"{number} is not from 0 to {MOST}")
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def binary(data: bytes) -> bytes:
    """Bytes behind their length; ValueError for more than two bytes can count."""
    if len(data) > _LONGEST:
        raise ValueError(f"{len(data)} bytes are more than the {_LONGEST} that fit")
    return len(data).to_bytes(2) + data


def text(string: str) -> bytes:
    """A string behind its length; ValueError for what MQTT does not carry."""
    if "\0" in string:
        raise ValueError(f"{string[:80]!r} holds U+0000, which MQTT does not carry")
    return binary(string.encode())


class Reader:
    """Reads a packet's content from its beginning.  Every read raises PacketError when the content is too short."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes | bytearray, at: int, end: int) -> None:
        self._data, self._at, self._end = data, at, end

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return self._end - self._at

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        begin = self._at
        if begin + size > self._end:
            raise PacketError(f"ends {begin + size - self._end} bytes too early")
        self._at = begin + size
        return bytes(self._data[begin : self._at])

    def integer(self, size: int) -> int:
        """An integer of so many bytes."""
        return int.from_bytes(self.take(size))

    def varint(self) -> int:
        """A variable byte integer; PacketError when it has more than four bytes, or more than it needs."""
        number = shift = 0
        while True:
            byte = self.integer(1)
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                if not byte and shift:
                    raise PacketError("has a length of more bytes than it needs")
                return number
            shift += 7
            if shift > 21:
                raise PacketError("has a length of more than four bytes")

    def binary(self) -> bytes:
        """Bytes behind their length."""
        return self.take(self.integer(2))

    def text(self) -> str:
        """A string behind its length."""
        return readable(self.binary())

    def part(self, size: int) -> Reader:
        """What reads the next `size` bytes, which are then read here."""
        begin = self._at
        self.take(size)
        return Reader(self._data, begin, begin + size)


def readable(data: bytes) -> str:
    """The string of these bytes; PacketError for what MQTT does not allow in one."""
    try:
        string = data.decode()
    except UnicodeDecodeError as error:
        raise PacketError(f"has a string that is not UTF-8: {data[:80]!r}") from error
    if "\0" in string:
        raise PacketError(f"has U+0000 in a string: {string[:80]!r}")
    return string
