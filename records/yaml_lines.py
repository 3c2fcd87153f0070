"""YAML with line numbers, so that a complaint about a value can say where it stands."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

Key = tuple[str | int, ...]
_MERGE = "tag:yaml.org,2002:merge"
_STR = "tag:yaml.org,2002:str"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
# 0100 is 64 to YAML 1.1, and 08 a word, which pydantic takes for 8.
_LEADING_0 = re.compile(r"[-+]?0_*[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?")
_MAX_SHOWN = 60  # letters of a value that is refused
_MAX_VALUES = 100_000  # aliases can make a short file say more than memory holds


class YamlError(ValueError):
    """The file is not YAML of the plain kind; the message has file and line."""


def read(path: Path) -> tuple[Any, dict[Key, int]]:
    """The document as plain values, and the line (from 1) of every path in it.  YamlError when that fails."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise YamlError(f"{path}: {error.strerror or error}") from error
    return parse(source, path)


def parse(source: bytes, path: Path) -> tuple[Any, dict[Key, int]]:
    """The same of what a file has been found to say; path: as messages name it."""
    loader = None
    try:
        loader = yaml.CSafeLoader(source.decode())
        node = loader.get_single_node()
        lines: dict[Key, int] = {}
        return (None if node is None else _value(loader, node, (), lines, path)), lines
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        raise YamlError(f"{path}{where}: not YAML: {getattr(error, 'problem', None) or error}") from error
    finally:
        if loader is not None:
            loader.dispose()


class _Quoting(yaml.SafeDumper):
    """Words that `parse` refuses where they stand without quotes have them."""


_Quoting.add_implicit_resolver(_NUMBERS[0], re.compile(f"(?:{_LEADING_0.pattern})$"), list("-+0"))


def text_of(data: Any, *, width: int = 80) -> str:
    """YAML of which `parse` makes the same data."""
    found: str = yaml.dump(data, Dumper=_Quoting, sort_keys=False, allow_unicode=True, width=width)
    return found


def line_of(lines: Mapping[Key, int], at: Key) -> int:
    """The line of a path, or of the nearest one above it that the document has."""
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at, 1)


def _value(loader: yaml.CSafeLoader, node: yaml.Node, at: Key, lines: dict[Key, int], path: Path) -> Any:
    lines[at] = node.start_mark.line + 1
    if len(lines) > _MAX_VALUES:
        raise YamlError(f"{path}:{lines[at]}: more than {_MAX_VALUES} values; is that an alias of an alias?")
    if isinstance(node, yaml.MappingNode):
        inherited: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                inherited |= _merged(loader, value_node, at, lines, path)
        lines[at] = node.start_mark.line + 1
        found: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            line = key_node.start_mark.line + 1
            key = _scalar(loader, key_node, path)
            if type(key) is int:  # of a mapping of numbers, such as sizes to shares; not bool, which is an int, too
                key = str(key)
            if not isinstance(key, str):
                raise YamlError(f"{path}:{line}: the key {key!r} is not a word")
            if key in found:
                raise YamlError(f"{path}:{line}: the key {key!r} is given twice")
            found[key] = _value(loader, value_node, (*at, key), lines, path)
            lines[(*at, key)] = line
        return inherited | found
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, (*at, number), lines, path) for number, item in enumerate(node.value)]
    return _scalar(loader, node, path)


def _scalar(loader: yaml.CSafeLoader, node: yaml.Node, path: Path) -> Any:
    """YamlError for a value that YAML has a way to read, although it cannot be (a date that is none, say, or what a tag
    asks for), and for a number that would be read as another one than it looks like.
    """
    if why := _misleading(node):
        raise YamlError(f"{path}:{node.start_mark.line + 1}: {_shown(node)}: {why}")
    try:
        return loader.construct_object(node, deep=True)
    except (ValueError, LookupError, AttributeError) as error:
        line = node.start_mark.line + 1
        raise YamlError(f"{path}:{line}: {_shown(node)}: {error}; put it in quotes if it is text") from error


def _misleading(node: Any) -> str:
    """Why a number does not say what it seems to; '' for those that do, and for all else."""
    number = node.tag in _NUMBERS
    if not number and (node.tag != _STR or node.style):  # a word in quotes is meant as it stands
        return ""
    way_out = "write it in decimal, or in quotes if it is text"
    if _LEADING_0.fullmatch(node.value):
        return f"to YAML a number that begins with 0 is not decimal: {way_out}"
    return f"to YAML a number with ':' is in sixtieths: {way_out}" if number and ":" in node.value else ""


def _shown(node: yaml.Node) -> str:
    text = repr(node.value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _merged(
    loader: yaml.CSafeLoader, node: yaml.Node, at: Key, lines: dict[Key, int], path: Path
) -> dict[Hashable, Any]:
    """What `<<: *other` brings along; the mapping's own keys go before it."""
    found = _value(loader, node, at, lines, path)
    if not isinstance(found, dict):
        raise YamlError(f"{path}:{node.start_mark.line + 1}: << takes a mapping, as in <<: *other")
    return found
