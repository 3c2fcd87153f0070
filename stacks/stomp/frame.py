"""STOMP frames and their header encoding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_CLIENT = ("CONNECT", "STOMP", "SEND", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT")
_SERVER = ("CONNECTED", "MESSAGE", "RECEIPT", "ERROR")
COMMANDS = frozenset((*_CLIENT, "DISCONNECT", *_SERVER))
UNESCAPED = frozenset(("CONNECT", "CONNECTED"))  # as in STOMP 1.0, so that any version can read them

_ESCAPES = {"\\": r"\\", "\r": r"\r", "\n": r"\n", ":": r"\c"}
_ESCAPED = re.compile(r"[\\\r\n:]")


class Frame(NamedTuple):
    """One frame.  headers: unescaped; of a repeated header the first, as STOMP demands."""

    command: str
    headers: dict[str, str]
    body: bytes = b""


def head(command: str, headers: Mapping[str, str]) -> bytes:
    """All of a frame before its body, the blank line included; ValueError for what cannot be written."""
    if command not in COMMANDS:
        raise ValueError(f"{command!r} is not a STOMP command")
    write = _plain if command in UNESCAPED else escape
    lines = [command, *(f"{write(name)}:{write(value)}" for name, value in headers.items()), "", ""]
    return "\n".join(lines).encode()


def encode(frame: Frame) -> bytes:
    """A frame's bytes.  ValueError for a body that holds NUL without a content-length header to match."""
    if b"\0" in frame.body and frame.headers.get("content-length") != str(len(frame.body)):
        raise ValueError(f"{frame.command}: a body with NUL bytes needs content-length {len(frame.body)}")
    return b"".join((head(frame.command, frame.headers), frame.body, b"\0"))


def escape(text: str) -> str:
    """A header's name or value as it is written in a frame."""
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text)


def _plain(text: str) -> str:
    if any(sign in text for sign in "\r\n\0"):
        raise ValueError(f"header text {text!r}: CONNECT cannot carry line ends")
    return text
