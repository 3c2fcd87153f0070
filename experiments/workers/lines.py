"""Records as lines of JSON, the way our processes talk to each other."""

from __future__ import annotations

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from records.record import Record

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class ProtocolError(ValueError):
    """A line is not what whoever reads it expects; the message says why, and how the line begins."""


def line(message: Record) -> bytes:
    """The message as one line."""
    return message.model_dump_json().encode() + b"\n"


def read(text: bytes | str, kind: type[R]) -> R:
    """A line as a record; ProtocolError when it is no `kind`."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise ProtocolError(_explain(text, error)) from None


def read_any(text: bytes | str, kinds: TypeAdapter[T]) -> T:
    """A line as one of several records; ProtocolError when it is none of them."""
    try:
        return kinds.validate_json(text)
    except ValidationError as error:
        raise ProtocolError(_explain(text, error)) from None


def _explain(text: bytes | str, error: ValidationError) -> str:
    reasons = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'line'}: {item['msg']}" for item in error.errors())
    return f"{reasons} (in {text[:200]!r})"
