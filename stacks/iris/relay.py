"""The relay protocol v1.0-draft2, between an application and the node on its host: messages and their bytes.  Pure.

A message is an operation's code and its fields: a byte for a truth value, an unsigned number as seven bits a byte, the
least first, text and bytes behind their length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Union

from stacks.channel import LanguageError

VERSION = "v1.0-draft2"
CLIENT_MAGIC, RELAY_MAGIC = "iris-client-magic", "iris-relay-magic"
PORT = 55_555
MOST = 16 * 1024 * 1024  # bytes of a text or of a message's data
CHUNK_LIMIT = 64 * 1024


class RelayError(LanguageError):
    """The bytes are not of the relay protocol, or beyond its limits; the connection cannot go on."""


class Init(NamedTuple):
    """The application's first message.  cluster: the one that it is a member of, '' for none."""

    version: str
    cluster: str


class Welcome(NamedTuple):
    """The node's answer to Init."""

    version: str


class Denied(NamedTuple):
    """The node's answer to an Init that it does not take."""

    reason: str


class Close(NamedTuple):
    """The application leaves."""


class Closed(NamedTuple):
    """The node has nothing more to say."""

    reason: str


class Broadcast(NamedTuple):
    cluster: str
    data: bytes


class Broadcasted(NamedTuple):
    """A broadcast to the application's cluster."""

    data: bytes


class Request(NamedTuple):
    """id: the application's own number of it."""

    id: int
    cluster: str
    data: bytes
    timeout_ms: int


class Requested(NamedTuple):
    """A request that the application has to answer.  id: the node's number of it."""

    id: int
    data: bytes
    timeout_ms: int


class Reply(NamedTuple):
    """What the application answers a Requested.  data: the reply, or what went wrong."""

    id: int
    success: bool
    data: bytes


class Replied(NamedTuple):
    """How a Request ended.  success, data: as in Reply; of no meaning when it has timed out."""

    id: int
    timed_out: bool
    success: bool = False
    data: bytes = b""


class Subscribe(NamedTuple):
    topic: str


class Unsubscribe(NamedTuple):
    topic: str


class Publish(NamedTuple):
    topic: str
    data: bytes


class Published(NamedTuple):
    """An event of a topic that the application has subscribed to."""

    topic: str
    data: bytes


class TunnelOpen(NamedTuple):
    """id: the application's own number of the tunnel."""

    id: int
    cluster: str
    timeout_ms: int


class TunnelOffered(NamedTuple):
    """Somebody has opened a tunnel to this application.  build: what a TunnelAccept refers to."""

    build: int
    chunk_limit: int


class TunnelAccept(NamedTuple):
    """id: the application's own number of the tunnel."""

    build: int
    id: int


class TunnelOpened(NamedTuple):
    """How a TunnelOpen ended.  chunk_limit: of no meaning when it has timed out."""

    id: int
    timed_out: bool
    chunk_limit: int = 0


class TunnelAllow(NamedTuple):
    """So many bytes more may be sent over a tunnel; both ways."""

    id: int
    bytes: int


class TunnelData(NamedTuple):
    """A chunk of a message; both ways.  size: of the whole message with its first chunk, 0 with others."""

    id: int
    size: int
    data: bytes


class TunnelClose(NamedTuple):
    id: int


class TunnelClosed(NamedTuple):
    """reason: '' where the other end closed it."""

    id: int
    reason: str


Message = Union[  # noqa: UP007  (a chain of 23 names joined by | is slower to read)
    Init, Welcome, Denied, Close, Closed, Broadcast, Broadcasted, Request, Requested, Reply, Replied, Subscribe,
    Unsubscribe, Publish, Published, TunnelOpen, TunnelOffered, TunnelAccept, TunnelOpened, TunnelAllow, TunnelData,
    TunnelClose, TunnelClosed,
]  # fmt: skip

# What a field is: an unsigned number, a truth value, one behind which nothing follows where it is true, text, bytes, or
# a word that always stands there.
NUMBER, TRUTH, LATE, TEXT, DATA, CLIENT, RELAY = "number", "truth", "late", "text", "data", CLIENT_MAGIC, RELAY_MAGIC

FROM_CLIENT: Mapping[int, tuple[type[Any], tuple[str, ...]]] = {
    0x00: (Init, (CLIENT, TEXT, TEXT)),
    0x02: (Close, ()),
    0x03: (Broadcast, (TEXT, DATA)),
    0x04: (Request, (NUMBER, TEXT, DATA, NUMBER)),
    0x05: (Reply, (NUMBER, TRUTH, DATA)),
    0x06: (Subscribe, (TEXT,)),
    0x07: (Unsubscribe, (TEXT,)),
    0x08: (Publish, (TEXT, DATA)),
    0x09: (TunnelOpen, (NUMBER, TEXT, NUMBER)),
    0x0A: (TunnelAccept, (NUMBER, NUMBER)),
    0x0B: (TunnelAllow, (NUMBER, NUMBER)),
    0x0C: (TunnelData, (NUMBER, NUMBER, DATA)),
    0x0D: (TunnelClose, (NUMBER,)),
}
FROM_NODE: Mapping[int, tuple[type[Any], tuple[str, ...]]] = {
    0x00: (Welcome, (RELAY, TEXT)),
    0x01: (Denied, (RELAY, TEXT)),
    0x02: (Closed, (TEXT,)),
    0x03: (Broadcasted, (DATA,)),
    0x04: (Requested, (NUMBER, DATA, NUMBER)),
    0x05: (Replied, (NUMBER, LATE, TRUTH, DATA)),
    0x08: (Published, (TEXT, DATA)),
    0x09: (TunnelOffered, (NUMBER, NUMBER)),
    0x0A: (TunnelOpened, (NUMBER, LATE, NUMBER)),
    0x0B: (TunnelAllow, (NUMBER, NUMBER)),
    0x0C: (TunnelData, (NUMBER, NUMBER, DATA)),
    0x0D: (TunnelClosed, (NUMBER, TEXT)),
}
_CODES = {kind: (code, fields) for table in (FROM_CLIENT, FROM_NODE) for code, (kind, fields) in table.items()}


def encode(message: Message) -> bytes:
    """A message as it travels."""
    code, fields = _CODES[type(message)]
    parts, values = [bytes((code,))], iter(message)
    for field in fields:
        if field in (CLIENT, RELAY):
            parts += (number(len(field)), field.encode())
            continue
        value: Any = next(values)
        if field == NUMBER:
            parts.append(number(value))
        elif field in (TRUTH, LATE):
            parts.append(b"\1" if value else b"\0")
            if value and field == LATE:
                break
        else:
            data = value.encode() if field == TEXT else value
            parts += (number(len(data)), data)
    return b"".join(parts)


def number(value: int) -> bytes:
    """An unsigned number: seven bits a byte, the least first, the highest bit set where another byte follows."""
    if value < 0x80:
        return _SMALL[value]
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_SMALL = [bytes((value,)) for value in range(0x80)]


class _Short(Exception):
    """The message goes on behind what there is.  need: bytes from its start that it has at least."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


class Reader:
    """Takes messages out of a stream, however it is cut.  table: FROM_CLIENT in a node, FROM_NODE in an application."""

    def __init__(self, table: Mapping[int, tuple[type[Any], tuple[str, ...]]]) -> None:
        self._table = table
        self._held = bytearray()
        self._need = 1

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole with these bytes; RelayError where the stream is not one."""
        if self._held:
            self._held += data
            if len(self._held) < self._need:
                return
            data = bytes(self._held)
            self._held.clear()
        elif len(data) < self._need:
            self._held += data
            return
        at = 0
        try:
            while at < len(data):
                message, at = self._message(data, at)
                yield message
            self._need = 1
        except _Short as short:
            self._held += memoryview(data)[at:]
            self._need = short.need - at

    def _message(self, data: bytes, at: int) -> tuple[Message, int]:
        try:
            kind, fields = self._table[data[at]]
        except KeyError:
            raise RelayError(f"operation {data[at]:#04x} is none of {', '.join(map(hex, self._table))}") from None
        at += 1
        values: list[Any] = []
        for field in fields:
            value: Any
            if field == NUMBER:
                value, at = _number(data, at)
            elif field in (TRUTH, LATE):
                value, at = _truth(data, at)
            else:
                value, at = _bytes(data, at)
                if field != DATA:
                    value = _text(value)
                if field in (CLIENT, RELAY):
                    if value != field:
                        raise RelayError(f"it begins with {value[:40]!r} instead of {field!r}")
                    continue
            values.append(value)
            if field == LATE and value:
                break
        made: Message = kind(*values)
        return made, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
        shift += 7
        if shift > 63:
            break
    else:
        raise _Short(at + 1)
    raise RelayError("a number of more than 64 bits")


def _truth(data: bytes, at: int) -> tuple[bool, int]:
    if at >= len(data):
        raise _Short(at + 1)
    if data[at] > 1:
        raise RelayError(f"a truth value is {data[at]}, and has to be 0 or 1")
    return data[at] == 1, at + 1


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _number(data, at)
    if size > MOST:
        raise RelayError(f"a field of {size} bytes, where {MOST} are allowed")
    if len(data) - at < size:
        raise _Short(at + size)
    return data[at : at + size], at + size


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RelayError(f"a text that is not UTF-8: {error.reason}") from error
