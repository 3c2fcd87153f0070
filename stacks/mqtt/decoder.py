"""Incremental decoding of a byte stream into MQTT's packets."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.mqtt import properties
from stacks.mqtt.packets import (
    ANSWERS,
    FLAGS,
    NAME,
    Answer,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Ping,
    Publish,
    Suback,
    Subscribe,
    Version,
)  # fmt: skip
from stacks.mqtt.primitives import MOST, PacketError, Reader, readable
from stacks.mqtt.properties import Kind, Properties

MAX_PACKET_BYTES = 64 * 1024 * 1024
_PUBLISH = Kind.PUBLISH
# Names of topics that have been read before are not checked again.
_MOST_KNOWN = 4096
_NAMES = {int(kind): kind.name for kind in Kind}
# By first byte: answers that say, with two bytes, that all is well.
_PLAIN = {kind << 4 | FLAGS[kind]: kind for kind in ANSWERS}
_new = tuple.__new__  # what a NamedTuple's own name calls, and half as long


class Decoder:
    """Turns chunks of a stream, however cut, into packets.

    max_packet_bytes: of a packet's content, beyond its first byte and its length.
    """

    def __init__(self, version: Version, *, max_packet_bytes: int = MAX_PACKET_BYTES) -> None:
        self._version, self._most = version, min(max_packet_bytes, MOST)
        self._buffer = bytearray()
        self._wanted = 0  # bytes without which the next packet is not whole
        self._topics: dict[bytes, str] = {}
        # By a message's flags: bytes between its topic and its body without properties; -1 = it cannot have them.
        self._behind = [
            -1 if flags & 6 == 6 or flags & 14 == 8 else 2 * (flags & 6 > 0) + (version == 5) for flags in range(16)
        ]

    def feed(self, chunk: bytes) -> Iterator[Packet]:
        """Yield the packets that `chunk` completes; PacketError after the good ones before the bad."""
        buffer, data = self._buffer, chunk
        if buffer:
            buffer += chunk
            if len(buffer) < self._wanted:
                return
            data = bytes(buffer)
        self._wanted = 0
        at, end, first = 0, len(data), 0
        try:
            while end - at >= 2:
                first, begin, size = data[at], at + 2, data[at + 1]
                if size > 0x7F:
                    begin, size = _length(data, at + 1, end)
                    if not begin:
                        break
                if size > self._most:
                    raise PacketError(f"of {size} bytes is beyond the limit of {self._most}")
                stop = begin + size
                if stop > end:
                    self._check(first)  # now, because what is no MQTT may never become whole
                    self._wanted = stop - at
                    break
                at = stop
                if first >> 4 == _PUBLISH:
                    yield self._publish(first, data, begin, stop)
                else:
                    yield self._other(first, data, begin, stop)
        except PacketError as error:
            raise PacketError(f"{_NAMES.get(first >> 4, 'a packet')} {error}") from None
        finally:
            if buffer or at < end:
                buffer[:] = data[at:]

    def _publish(self, first: int, data: bytes, at: int, end: int) -> Publish:
        """A message; at once where it has no properties and is as it should be, which is what counts for speed."""
        flags, begin = first & 15, at + 2
        behind = self._behind[flags]
        if behind >= 0 and begin <= end:
            stop = begin + (data[at] << 8 | data[at + 1])
            body = stop + behind
            if body <= end and not (self._version == 5 and data[body - 1]):
                topic = self._topics.get(data[begin:stop])
                number = data[stop] << 8 | data[stop + 1] if flags & 6 else 0
                if topic is not None and (number or not flags & 6):
                    return _new(Publish, (topic, data[body:end], flags >> 1 & 3, number, flags > 7, flags & 1 == 1, ()))
        self._check(first)
        return self._any_publish(flags, Reader(data, at, end))

    def _any_publish(self, flags: int, reader: Reader) -> Publish:
        given: Properties = ()
        qos, dup, retain, number = flags >> 1 & 3, flags > 7, flags & 1 == 1, 0
        topic = self._topic(reader.binary())
        if qos and not (number := reader.integer(2)):
            raise PacketError("has packet identifier 0")
        if self._version == 5:
            given = properties.decode(_PUBLISH, reader)
        return Publish(topic, reader.take(reader.left), qos, number, dup, retain, given)

    def _topic(self, name: bytes) -> str:
        topic = readable(name)
        if "+" in topic or "#" in topic:
            raise PacketError(f"has topic {topic[:80]!r}: a message's has no + or #")
        if len(self._topics) < _MOST_KNOWN:
            self._topics[name] = topic
        return topic

    def _other(self, first: int, data: bytes, at: int, end: int) -> Packet:
        """Another packet; at once where it is an answer that says that all is well."""
        if end - at == 2 and first in _PLAIN and (number := data[at] << 8 | data[at + 1]):
            return _new(Answer, (_PLAIN[first], number, 0, ()))
        self._check(first)
        reader = Reader(data, at, end)
        packet = self._read(Kind(first >> 4), reader)
        if reader.left:
            raise PacketError(f"has {reader.left} bytes too many")
        return packet

    def _check(self, first: int) -> None:
        """PacketError when no packet can begin so."""
        if first < 16:
            raise PacketError("is of type 0, which does not exist")
        kind, flags = Kind(first >> 4), first & 15
        if kind is Kind.PUBLISH:
            if self._behind[flags] < 0:
                raise PacketError(f"has QoS {flags >> 1 & 3}{' and DUP' if flags > 7 else ''}")
        elif flags != FLAGS[kind]:
            raise PacketError(f"has flags {flags}, not {FLAGS[kind]}")

    def _read(self, kind: Kind, reader: Reader) -> Packet:  # noqa: PLR0911 - one for each kind
        if kind in ANSWERS:
            return Answer(kind, _identifier(reader), *self._ending(kind, reader))
        match kind:
            case Kind.PINGREQ | Kind.PINGRESP:
                return Ping(kind)
            case Kind.SUBACK:
                number, given = _identifier(reader), self._properties(kind, reader)
                return Suback(number, tuple(_some(reader.take(reader.left))), given)
            case Kind.DISCONNECT:
                return Disconnect(*self._ending(kind, reader))
            case Kind.CONNACK:
                if (present := reader.integer(1)) > 1:
                    raise PacketError(f"has flags {present} in its content")
                return Connack(bool(present), reader.integer(1), self._properties(kind, reader))
            case Kind.SUBSCRIBE:
                number, given = _identifier(reader), self._properties(kind, reader)
                filters: list[tuple[str, int]] = []
                while reader.left or not filters:
                    filters.append((reader.text(), reader.integer(1)))
                return Subscribe(number, tuple(filters), given)
            case Kind.CONNECT:
                return self._connect(reader)
            case _:
                raise PacketError("is not spoken here")

    def _connect(self, reader: Reader) -> Connect:
        if (name := reader.take(len(NAME))) != NAME or (version := reader.integer(1)) != self._version:
            raise PacketError(f"is for protocol {name!r}, version {version}" if name == NAME else f"is of {name!r}")
        if (flags := reader.integer(1)) & ~2:
            raise PacketError(f"has flags {flags:#x}: a will, a user name and a password are not spoken here")
        keep_alive_s, given = reader.integer(2), self._properties(Kind.CONNECT, reader)
        return Connect(reader.text(), flags == 2, keep_alive_s, given)

    def _properties(self, kind: Kind, reader: Reader) -> Properties:
        return properties.decode(kind, reader) if self._version == 5 else ()

    def _ending(self, kind: Kind, reader: Reader) -> tuple[int, Properties]:
        """How something ended: all is well where the packet does not say it (version 5, section 3.4.2.1)."""
        if self._version == 4 or not reader.left:
            return 0, ()
        return reader.integer(1), properties.decode(kind, reader) if reader.left else ()


def _length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where a packet's content begins, and its size; zeros while its length is not complete."""
    for place in range(at, min(at + 4, end)):
        if data[place] < 0x80:
            return place + 1, Reader(data, at, end).varint()
    if end - at < 4:
        return 0, 0
    raise PacketError("has a length of more than four bytes")


def _identifier(reader: Reader) -> int:
    if not (number := reader.integer(2)):
        raise PacketError("has packet identifier 0")
    return number


def _some(codes: bytes) -> bytes:
    if not codes:
        raise PacketError("has no code")
    return codes
