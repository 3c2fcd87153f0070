"""The wire format: u32 length (of what follows), u8 kind, fields.  Big-endian.

Strings are u16 length + UTF-8; a body is what remains of its frame.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from stacks.channel import LanguageError

MAX_FRAME = 16 * 1024 * 1024 + 2 * 0x10000 + 64  # the largest body, with two strings and numbers
_LENGTH = struct.Struct("!I")
_U16 = struct.Struct("!H")


class FrameError(LanguageError):
    """The bytes are not what a peer of this protocol sends; the connection cannot go on."""


class Connect(NamedTuple):
    client_id: str


class Subscribe(NamedTuple):
    """destination: as in stacks.reference.destinations.  durable: the subscription's name, empty = not durable.

    selector: [low, high) of the property.
    """

    request: int
    subscription: int
    destination: str
    durable: str
    selector: tuple[int, int] | None


class Publish(NamedTuple):
    """Answered by Accepted or Refused; what goes to a service, by Answer, Refused or Unanswered."""

    request: int
    destination: str
    prop: int | None
    body: bytes


class Acknowledge(NamedTuple):
    """cumulative: this delivery and all before it."""

    subscription: int
    delivery: int
    cumulative: bool


class Leave(NamedTuple):
    request: int


class Accepted(NamedTuple):
    request: int


class Refused(NamedTuple):
    request: int
    reason: str


class Unanswered(NamedTuple):
    """The server that had the request has gone, and may have served it."""

    request: int
    reason: str


class Message(NamedTuple):
    subscription: int
    delivery: int
    redelivered: bool
    body: bytes


class Reply(NamedTuple):
    """A server's answer to the request that it had as this delivery."""

    subscription: int
    delivery: int
    body: bytes


class Answer(NamedTuple):
    """A reply on its way to the caller whose request it answers."""

    request: int
    body: bytes


Frame = Connect | Subscribe | Publish | Acknowledge | Leave | Accepted | Refused | Unanswered | Message | Reply | Answer

_SUBSCRIBE = struct.Struct("!IIBii")
_PUBLISH = struct.Struct("!IBi")
_ACKNOWLEDGE = struct.Struct("!IQB")
_REQUEST = struct.Struct("!I")
_REPLY = struct.Struct("!IQ")
_MESSAGE = struct.Struct("!IQB")


class _Cursor:
    """Reads fields off a payload; FrameError when they are not there."""

    def __init__(self, payload: memoryview) -> None:
        self._payload = payload
        self._at = 0

    def fields(self, layout: struct.Struct) -> tuple[int, ...]:
        end = self._at + layout.size
        if end > len(self._payload):
            raise FrameError(f"a frame ends after {len(self._payload)} bytes, inside a field")
        values = layout.unpack_from(self._payload, self._at)
        self._at = end
        return values

    def text(self) -> str:
        (size,) = self.fields(_U16)
        raw = bytes(self._payload[self._at : self._at + size])
        if len(raw) != size:
            raise FrameError(f"a string of {size} bytes has only {len(raw)}")
        self._at += size
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise FrameError(f"a string is not UTF-8: {error}") from None

    def rest(self) -> bytes:
        body = bytes(self._payload[self._at :])
        self._at = len(self._payload)
        return body

    def end(self) -> None:
        if self._at != len(self._payload):
            raise FrameError(f"a frame has {len(self._payload) - self._at} bytes too many")


def _flag(value: int) -> bool:
    if value > 1:
        raise FrameError(f"a flag is {value}, neither 0 nor 1")
    return bool(value)


def _connect(cursor: _Cursor) -> Connect:
    return Connect(cursor.text())


def _subscribe(cursor: _Cursor) -> Subscribe:
    request, subscription, selects, low, high = cursor.fields(_SUBSCRIBE)
    selector = (low, high) if _flag(selects) else None
    return Subscribe(request, subscription, cursor.text(), cursor.text(), selector)


def _publish(cursor: _Cursor) -> Publish:
    request, has_prop, prop = cursor.fields(_PUBLISH)
    destination = cursor.text()
    return Publish(request, destination, prop if _flag(has_prop) else None, cursor.rest())


def _acknowledge(cursor: _Cursor) -> Acknowledge:
    subscription, delivery, cumulative = cursor.fields(_ACKNOWLEDGE)
    return Acknowledge(subscription, delivery, _flag(cumulative))


def _message(cursor: _Cursor) -> Message:
    subscription, delivery, redelivered = cursor.fields(_MESSAGE)
    return Message(subscription, delivery, _flag(redelivered), cursor.rest())


def _reply(cursor: _Cursor) -> Reply:
    subscription, delivery = cursor.fields(_REPLY)
    return Reply(subscription, delivery, cursor.rest())


_KINDS: dict[int, Callable[[_Cursor], Frame]] = {
    1: _connect,
    2: _subscribe,
    3: _publish,
    4: _acknowledge,
    5: lambda cursor: Leave(*cursor.fields(_REQUEST)),
    6: lambda cursor: Accepted(*cursor.fields(_REQUEST)),
    7: lambda cursor: Refused(cursor.fields(_REQUEST)[0], cursor.text()),
    8: _message,
    9: _reply,
    10: lambda cursor: Answer(cursor.fields(_REQUEST)[0], cursor.rest()),
    11: lambda cursor: Unanswered(cursor.fields(_REQUEST)[0], cursor.text()),
}


def decode(frame: memoryview) -> Frame:
    """One frame without its length; FrameError when it is none."""
    if not frame:
        raise FrameError("a frame is empty")
    parse = _KINDS.get(frame[0])
    if parse is None:
        raise FrameError(f"a frame is of kind {frame[0]}, kinds are {min(_KINDS)} to {max(_KINDS)}")
    cursor = _Cursor(frame[1:])
    result = parse(cursor)
    cursor.end()
    return result


class FrameReader:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes; FrameError ends the stream."""
        self._buffer += data
        frames: list[Frame] = []
        at = 0
        with memoryview(self._buffer) as view:
            while len(view) - at >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(view, at)
                if length > MAX_FRAME:
                    raise FrameError(f"a frame of {length} bytes is longer than {MAX_FRAME}")
                start, at_next = at + _LENGTH.size, at + _LENGTH.size + length
                if at_next > len(view):
                    break
                with view[start:at_next] as frame:
                    frames.append(decode(frame))
                at = at_next
        del self._buffer[:at]
        return frames


def _text(text: str) -> bytes:
    raw = text.encode()
    if len(raw) > 0xFFFF:
        raise ValueError(f"a string of {len(raw)} bytes does not fit a frame: at most {0xFFFF}")
    return _U16.pack(len(raw)) + raw


def _framed(kind: int, *parts: bytes | bytearray) -> bytes:
    length = 1 + sum(map(len, parts))
    if length > MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes is longer than {MAX_FRAME}")
    return b"".join((_LENGTH.pack(length), bytes((kind,)), *parts))


def publish(request: int, destination: bytes, prop: int | None, body: bytes | bytearray) -> bytes:
    """A Publish frame; `destination` comes from `destination_field`, made once per publisher."""
    return _framed(3, _PUBLISH.pack(request, prop is not None, prop or 0), destination, body)


destination_field = _text


def encode(frame: Frame) -> bytes:  # noqa: PLR0911  (one return per kind)
    """The frame's bytes, its length included; ValueError when a field does not fit."""
    match frame:
        case Connect(client_id):
            return _framed(1, _text(client_id))
        case Subscribe(request, subscription, destination, durable, selector):
            low, high = selector or (0, 0)
            fixed = _SUBSCRIBE.pack(request, subscription, selector is not None, low, high)
            return _framed(2, fixed, _text(destination), _text(durable))
        case Publish(request, destination, prop, body):
            return publish(request, _text(destination), prop, body)
        case Acknowledge(subscription, delivery, cumulative):
            return _framed(4, _ACKNOWLEDGE.pack(subscription, delivery, cumulative))
        case Leave(request):
            return _framed(5, _REQUEST.pack(request))
        case Accepted(request):
            return _framed(6, _REQUEST.pack(request))
        case Refused(request, reason):
            return _framed(7, _REQUEST.pack(request), _text(reason))
        case Message(subscription, delivery, redelivered, body):
            return _framed(8, _MESSAGE.pack(subscription, delivery, redelivered), body)
        case Reply(subscription, delivery, body):
            return _framed(9, _REPLY.pack(subscription, delivery), body)
        case Answer(request, body):
            return _framed(10, _REQUEST.pack(request), body)
        case Unanswered(request, reason):
            return _framed(11, _REQUEST.pack(request), _text(reason))
