"""Writers and readers of a protocol's messages, made from a table of their fields.  Pure.

As `collections.namedtuple` does, each is made as source once: a loop over a table's fields would take several times as
long for every message, and this is most of what an application and its node have to do for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from stacks.channel import LanguageError

MOST = 16 * 1024 * 1024  # bytes of a text or of a message's data

# What a field is: an unsigned number, a truth value, one behind which nothing follows where it is true, text, bytes.
# Any other word always stands there as text.
NUMBER, TRUTH, LATE, TEXT, DATA = "number", "truth", "late", "text", "data"

Table = Mapping[int, tuple[type[Any], tuple[str, ...]]]
Write = Callable[[Any], list[bytes]]
Read = Callable[[bytes, int], tuple[Any, int]]

_VIEWED = 32 * 1024  # of what has come in so many bytes, data that is at least half of it need not be copied


class RelayError(LanguageError):
    """The bytes are not of the relay protocol, or beyond its limits; the connection cannot go on."""


class _Short(Exception):
    """The message goes on behind what there is.  need: bytes from the start of these that it has at least."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


def number(value: int) -> bytes:
    """An unsigned number: seven bits a byte, the least first, the highest bit set where another byte follows."""
    if value < 0x80:
        return _SMALL[value]
    if value < 0x4000:
        return (value & 0x7F | 0x80 | value >> 7 << 8).to_bytes(2, "little")
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_SMALL = [bytes((value,)) for value in range(0x80)]


def writers(*tables: Table) -> dict[type[Any], Write]:
    """For each message what makes the parts of its bytes."""
    return {kind: _writer(code, kind, fields) for table in tables for code, (kind, fields) in table.items()}


def readers(table: Table) -> dict[int, Read]:
    """For each code what makes a message of bytes behind it and says where it ends."""
    return {code: _reader(kind, fields) for code, (kind, fields) in table.items()}


class Reader:
    """Takes messages out of a stream, however it is cut.  reads: by `readers`.

    views: whether data of many bytes may be a view of what has come.
    """

    def __init__(self, reads: Mapping[int, Read], *, views: bool = False) -> None:
        self._reads = reads
        self._pieces: list[bytes] = []
        self._held, self._need = 0, 1
        self._views = views

    def feed(self, data: bytes) -> Iterator[Any]:
        """The messages that are whole with these bytes; RelayError where the stream is not one."""
        if self._pieces or len(data) < self._need:
            self._pieces.append(data)
            self._held += len(data)
            if self._held < self._need:
                return
            data = b"".join(self._pieces)
            self._pieces.clear()
        at, end, reads = 0, len(data), self._reads
        source: Any = memoryview(data) if self._views and end > _VIEWED else data
        self._held, self._need = 0, 1
        try:
            while at < end:
                read = reads.get(data[at])
                if read is None:
                    raise RelayError(f"operation {data[at]:#04x} is none of {', '.join(map(hex, reads))}")
                message, behind = read(source, at + 1)
                at = behind
                yield message
        except _Short as short:
            self._hold(data[at:], short.need - at)
        except IndexError:  # it ends within a number or before a truth value
            self._hold(data[at:], end + 1 - at)

    def _hold(self, rest: bytes, need: int) -> None:
        self._pieces.append(rest)
        self._held, self._need = len(rest), need


def _writer(code: int, kind: type[Any], fields: tuple[str, ...]) -> Write:
    names = [f"v{at}" for at, field in enumerate(fields) if field in (NUMBER, TRUTH, LATE, TEXT, DATA)]
    lines, parts, rest = [f"{', '.join(names)}, = message" if names else "pass"], [repr(bytes((code,)))], iter(names)
    for field in fields:
        if field == NUMBER:
            name = next(rest)
            parts.append(f"small[{name}] if {name} < 128 else number({name})")
        elif field == TRUTH:
            parts.append(f"b'\\1' if {next(rest)} else b'\\0'")
        elif field == LATE:
            lines += [f"if {next(rest)}:", f"    return [{', '.join(parts)}, b'\\1']"]
            parts.append(r"b'\0'")
        elif field == TEXT:
            parts.append(f"text({next(rest)})")
        elif field == DATA:
            name = next(rest)
            parts += [f"number(len({name}))", name]
        else:
            parts.append(repr(_written(field)))
    lines.append(f"return [{', '.join(parts)}]")
    made: Write = _made(kind.__name__, "message", lines, number=number, small=_SMALL, text=_written)
    return made


def _reader(kind: type[Any], fields: tuple[str, ...]) -> Read:
    lines, names = [], []
    for place, field in enumerate(fields):
        name = f"v{place}"
        if field in (TRUTH, LATE):
            lines += [f"{name} = truth(data[at])", "at += 1"]
        else:
            lines += [f"{name} = data[at]", "at += 1", f"if {name} > 127:", f"    {name}, at = number(data, at)"]
        if field not in (NUMBER, TRUTH, LATE):
            lines += [f"end = at + {name}", "if end > len(data):", f"    raise short({name}, end)"]
            lines += [f"{name} = data[at:end]", "at = end"]
            if field == DATA:
                lines += [f"if type({name}) is view and 2 * len({name}) < len(data):", f"    {name} = bytes({name})"]
            else:
                lines.append(f"{name} = text(bytes({name}))")
        if field not in (NUMBER, TRUTH, LATE, TEXT, DATA):
            lines.append(f"same({name}, {field!r})")
            continue
        names.append(name)
        if field == LATE:
            lines += [f"if {name}:", f"    return kind({', '.join(names)}), at"]
    lines.append(f"return new(kind, ({', '.join(names)}{',' if names else ''})), at")
    tools = {"number": _number, "truth": _truth, "short": _short, "text": _read_text, "same": _same}
    made: Read = _made(kind.__name__, "data, at", lines, kind=kind, new=tuple.__new__, view=memoryview, **tools)
    return made


def _made(name: str, arguments: str, lines: list[str], **tools: Any) -> Any:
    source = "\n    ".join([f"def made({arguments}):", *lines])
    exec(compile(source, f"<{__name__}: {name}>", "exec"), tools)  # noqa: S102  (of our own tables)
    return tools["made"]


def _written(text: str) -> bytes:
    return _written_again(text) if len(text) <= _REPEATED else _encoded(text)


def _encoded(text: str) -> bytes:
    data = text.encode()
    return number(len(data)) + data


def _read_text(data: bytes) -> str:
    return _read_again(data) if len(data) <= _REPEATED else _decoded(data)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RelayError(f"a text that is not UTF-8: {error.reason}") from error


# Of texts so long at most, clusters' and topics' names, those are kept that have come up last.
_REPEATED = 256
_written_again, _read_again = lru_cache(maxsize=1024)(_encoded), lru_cache(maxsize=1024)(_decoded)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number whose first byte, before `at`, is not its last."""
    value, shift = data[at - 1] & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            break
    if byte >= 0x80 or value >> 64:
        raise RelayError("a number of more than 64 bits")
    return value, at


def _truth(byte: int) -> bool:
    if byte > 1:
        raise RelayError(f"a truth value is {byte}, and has to be 0 or 1")
    return byte == 1


def _short(size: int, end: int) -> Exception:
    return RelayError(f"a field of {size} bytes, where {MOST} are allowed") if size > MOST else _Short(end)


def _same(found: str, wanted: str) -> None:
    if found != wanted:
        raise RelayError(f"it begins with {found[:40]!r} instead of {wanted!r}")
