"""Incremental decoding of a byte stream into frames."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.channel import LanguageError
from stacks.stomp.frame import COMMANDS, UNESCAPED, Frame

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024

_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_MEANING = {"\\": "\\", "r": "\r", "n": "\n", "c": ":"}
_DIGITS = re.compile(r"[0-9]{1,18}")
_CR, _LF = 0x0D, 0x0A


class FrameError(LanguageError):
    """The peer sent what is not STOMP, or is beyond the limits; its stream cannot be read further."""


class Decoder:
    """Turns chunks of a stream, however cut, into frames.  Line ends between frames are skipped."""

    def __init__(self, *, max_head_bytes: int = MAX_HEAD_BYTES, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_head, self._max_body = max_head_bytes, max_body_bytes
        self._buffer = bytearray()
        self._start = 0  # of what is not yet decoded
        self._open: Frame | None = None  # head of a frame whose body has not ended
        self._length: int | None = None  # its content-length
        self._searched = 0  # up to here there is no NUL

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yield the frames that `chunk` completes; FrameError after the good ones before the bad."""
        self._buffer += chunk
        try:
            while frame := self._next():
                yield frame
        finally:
            # One move per chunk, not per frame.
            del self._buffer[: self._start]
            self._searched -= self._start
            self._start = 0

    def _next(self) -> Frame | None:
        if self._open is None and not self._read_head():
            return None
        end = self._body_end()
        if end < 0 or self._open is None:
            return None
        command, headers, _ = self._open
        with memoryview(self._buffer) as view:
            frame = Frame(command, headers, bytes(view[self._start : end]))
        self._start = end + 1
        self._open = None
        return frame

    def _read_head(self) -> bool:
        buffer, start = self._buffer, self._start
        size = len(buffer)
        while start < size and buffer[start] in (_LF, _CR):
            start += 1
        self._start = start
        limit = start + self._max_head
        end = buffer.find(b"\n\n", start, limit + 2)
        after = end + 2
        with_cr = buffer.find(b"\n\r\n", start, end + 1 if end >= 0 else limit + 2)
        if with_cr >= 0:
            end, after = with_cr, with_cr + 3
        if end < 0:
            if size >= limit + 2:
                raise FrameError(f"a frame's header is longer than {self._max_head} bytes")
            return False
        self._open = _parse_head(buffer[start:end])
        self._length = self._content_length(self._open)
        self._start = self._searched = after
        return True

    def _content_length(self, frame: Frame) -> int | None:
        text = frame.headers.get("content-length")
        if text is None:
            return None
        if not _DIGITS.fullmatch(text):
            raise FrameError(f"{frame.command}: content-length {text!r} is not a number of bytes")
        if (length := int(text)) > self._max_body:
            raise FrameError(f"{frame.command}: a body of {length} bytes is beyond the limit of {self._max_body}")
        return length

    def _body_end(self) -> int:
        buffer, start = self._buffer, self._start
        if self._length is not None:
            end = start + self._length
            if end >= len(buffer):
                return -1
            if buffer[end]:
                raise FrameError(f"a body of content-length {self._length} is not followed by NUL")
            return end
        limit = start + self._max_body + 1
        end = buffer.find(0, self._searched, limit)
        if end < 0:
            if len(buffer) >= limit:
                raise FrameError(f"a body has no NUL within the limit of {self._max_body} bytes")
            self._searched = len(buffer)
        return end


def _parse_head(raw: bytearray) -> Frame:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise FrameError(f"a frame's header is not UTF-8: {bytes(raw[:80])!r}") from error
    command, *lines = [line.removesuffix("\r") for line in text.split("\n")] if "\r" in text else text.split("\n")
    if command not in COMMANDS:
        raise FrameError(f"{command[:80]!r} is not a STOMP command")
    headers: dict[str, str] = {}
    escaped = "\\" in text and command not in UNESCAPED
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise FrameError(f"{command}: header line {line[:80]!r} has no colon")
        if escaped:
            name, value = _unescape(name), _unescape(value)
        headers.setdefault(name, value)
    return Frame(command, headers)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_meaning, text) if "\\" in text else text


def _meaning(found: re.Match[str]) -> str:
    try:
        return _MEANING[found[1]]
    except KeyError:
        raise FrameError(f"header escape {found[0]!r} is not defined in STOMP") from None
