"""A scenario laid over another: `based_on: matrix.yaml` takes all of that file, but for what this one says itself.

A mapping is laid into a mapping; anything else (a list, a word, a number, a mix of sizes) takes the other's place.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records import yaml_lines
from records.yaml_lines import Key

KEY = "based_on"
_DEEPEST = 5
Place = tuple[Path, int]


class OverlayError(ValueError):
    """A scenario that cannot be read, or laid over what it names; the message has file, line and way out."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a scenario says in all, and where (file and line, from 1) each of its paths stands.

    source: the file's bytes; of one that is based on others, all that they say together, as one file.
    """

    data: dict[str, Any]
    places: dict[Key, Place]
    source: bytes


def read(path: Path) -> Text:
    """The scenario at `path` with those that it is based on."""
    return _read(path, ())


def laid_into(below: Any, above: Any) -> Any:
    """Mapping into mapping; else what is above.  A mapping of numbers, as of sizes to shares, is one value."""
    if isinstance(below, dict) and isinstance(above, dict) and not is_of_numbers(above):
        return below | {key: laid_into(below.get(key), value) for key, value in above.items()}
    return above


def is_of_numbers(value: dict[Any, Any]) -> bool:
    """Whether all keys of a mapping are numbers, of which there are some."""
    return bool(value) and all(str(key).isdecimal() for key in value)


def says(said: Any, location: Key) -> bool:
    """Whether what is laid over the rest gives the value at `location` itself."""
    for part in location:
        among = range(len(said)) if isinstance(said, list) else said if isinstance(said, dict) else ()
        if part not in among:
            return False
        said = said[part]
    return bool(location)


def _leaves(said: Any, at: Key = ()) -> Iterator[tuple[Key, Any]]:
    """All that is said, by its path."""
    if isinstance(said, dict) and said:
        for key, inner in said.items():
            yield from _leaves(inner, (*at, key))
    else:
        yield at, said


def misplaced(
    said: Any, factors: Iterable[Key], *, whole: Container[str], lists: Container[str], what: str
) -> Iterator[tuple[Key, str]]:
    """What cannot be laid over one combination of levels: its path, and why.

    factors: their keys.  whole: keys that hold for the whole campaign.  lists: keys whose lists are no levels.
    what: is laid over it, as in `a case`.
    """
    others = list(factors)
    for path, value in _leaves(said):
        if path and path[0] in whole:
            yield path, f"holds for the whole campaign: say it at the top of the file, not in {what}"
        if isinstance(value, list) and path[0] not in lists:
            yield path, f"a list cannot stand in {what}, which gives one value: write two"
        for other in others:
            if path == other[: len(path)] or path[: len(other)] == other:
                yield path, f"{'.'.join(map(str, other))} is a factor already; {what} cannot set it too"


def _read(path: Path, above: tuple[Path, ...]) -> Text:
    try:
        source = path.read_bytes()  # once: a pipe has nothing for a second look
        data, lines = yaml_lines.parse(source, path)
    except OSError as error:
        raise OverlayError(f"{path}: {error.strerror or error}") from error
    except yaml_lines.YamlError as error:
        raise OverlayError(str(error)) from error
    if not isinstance(data, dict):
        raise OverlayError(f"{path}: a scenario is a mapping of keys, see README.md")
    places = {key: (path, line) for key, line in lines.items()}
    if KEY not in data:
        return Text(data, places, source)
    name = data.pop(KEY)
    where = f"{path}:{lines[(KEY,)]}: {KEY}"
    if not isinstance(name, str):
        raise OverlayError(f"{where}: {name!r} is no file; as in {KEY}: matrix.yaml, beside this one")
    base = path.parent / name
    if not base.is_file():
        raise OverlayError(f"{where}: there is no file {base}")
    if len(above) >= _DEEPEST or base.resolve() in above:
        raise OverlayError(f"{where}: {name} is based on this one in turn, or on more than {_DEEPEST} others")
    below = _read(base, (*above, path.resolve()))
    whole = laid_into(below.data, data)
    head = f"# {path.name}, laid over {base.name}\n"
    return Text(
        data=whole,
        places=_still(below.places, data) | places,
        source=(head + yaml_lines.text_of(whole)).encode(),
    )


def _still(places: dict[Key, Place], above: dict[str, Any]) -> dict[Key, Place]:
    """The places below that what is above leaves standing."""

    def replaced(key: Key) -> bool:
        level: Any = above
        for part in key:
            if not isinstance(level, dict):
                return True
            if part not in level:
                return False
            level = level[part]
        return False

    return {key: place for key, place in places.items() if not replaced(key)}
