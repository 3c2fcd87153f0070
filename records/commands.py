"""Any program as a load: which commands a scenario names, and what is read from what the client prints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PositiveFloat, model_validator

from records.record import Record

PLACEHOLDERS = ("server", "seed", "station", "duration")
_BRACES = re.compile(r"\{\{|\}\}|\{(\w*)\}|[{}]")


class PrintedError(ValueError):
    """What a client printed is not what the scenario declares; the message names metric, value and way out."""


def fill(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The words with `{name}` replaced by its value; `{{` and `}}` are braces.

    ValueError for a name that `values` does not have, and for a brace alone.
    """

    def one(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found[1] in values:
            return values[found[1]]
        known = ", ".join(f"{{{name}}}" for name in values)
        raise ValueError(f"{found[0]!r} in {found.string!r} is not one of {known}; a brace itself is written twice")

    return tuple(_BRACES.sub(one, word) for word in words)


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in words):
        raise ValueError("a word has a NUL in it, which no program can be given")
    first = fill(words, dict.fromkeys(PLACEHOLDERS, ""))[0]
    if first != words[0] or not first:
        raise ValueError(f"{words[0]!r}: the first word is the program, without placeholders")
    if "/" in first and not first.startswith("/"):
        raise ValueError(f"{first!r}: give the program's name, or its whole path from / on")
    return words


Words = Annotated[tuple[str, ...], Field(min_length=1, strict=False), AfterValidator(_words)]


class ServerCommand(Record):
    """The command on the server's node.  Ready when it listens on `ready_port` (TCP), or `ready_s` after its start.

    limit_s: how long the port may take.
    """

    command: Words
    ready_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    ready_s: PositiveFloat | None = None
    limit_s: PositiveFloat = 10.0

    @model_validator(mode="after")
    def _one_criterion(self) -> ServerCommand:
        if (self.ready_port is None) == (self.ready_s is None):
            raise ValueError("say when the server is ready, by one of ready_port and ready_s")
        return self


class ClientCommand(Record):
    """The command on every station.  limit_s: when it is killed."""

    command: Words
    limit_s: PositiveFloat


class Printed(Record):
    """A number that the client prints in JSON.

    path: its keys from the outermost on, with dots between; a list's elements by number.
    """

    path: Annotated[str, Field(pattern=r"^[^.]+(\.[^.]+)*$")]
    unit: Literal["1/s", "bit/s", "s", "share", "B", "count"]
    better: Literal["higher", "lower"] | None = None
    about: str = ""


def printed(text: str, wanted: Mapping[str, Printed]) -> dict[str, float]:
    """The declared metrics, from standard output that is one JSON document, or has JSON objects as lines.

    Lines that are no JSON are the program's own words.  Of several objects with the path, the last holds.
    PrintedError when a metric is not there, or is no finite number.
    """
    documents = list(_documents(text))
    return {name: _value(name, one, documents) for name, one in wanted.items()}


def _documents(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        for line in text.splitlines():
            if line.lstrip().startswith(("{", "[")):
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    continue


def _value(name: str, wanted: Printed, documents: Sequence[Any]) -> float:
    if not documents:
        raise PrintedError(f"metric {name!r}: the client printed no JSON; have it print {wanted.path!r} so")
    found = [value for one in documents if (value := _at(one, wanted.path.split("."))) is not None]
    if not found:
        raise PrintedError(f"metric {name!r}: no JSON that the client printed has {wanted.path!r}; correct its path")
    value = found[-1]
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass  # an integer too large for a float
    shown = json.dumps(value)[:80]
    raise PrintedError(f"metric {name!r}: {wanted.path!r} is {shown}, not a finite number; correct its path")


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document
