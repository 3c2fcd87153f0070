"""The words that the line's process understands, a line each: a name, and a link and a number where it needs one.

`late` and `here` are about the process; all others are about a link that it has been given with `add`.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

LONGEST = 256  # bytes of a line, but for the request behind `add`
ADD = b"add"
_OF_THE_PROCESS = ("late", "here")
_NUMBERS = {"counts": 0, "steps": 0, "renumber": 0, "remove": 0, "start": 1, "enter": 1}  # of a link
_ALL = (*_OF_THE_PROCESS, ADD.decode(), *_NUMBERS)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


class Word(NamedTuple):
    """link: '' where a word is about the process.  number: what `start` and `enter` need, 0 of any other."""

    name: str
    link: str = ""
    number: int = 0


def parse(line: bytes, *, states: Mapping[str, int]) -> Word:
    """A line without its end, which does not give a link.  ValueError says what is wrong with it.

    states: the links that there are, and how many states the plan of each has.
    """
    text = line[:LONGEST].decode("ascii", "backslashreplace")
    name, *rest = text.split() or [""]
    if len(line) > LONGEST or name not in {*_OF_THE_PROCESS, *_NUMBERS}:
        raise ValueError(f"{text[:40]!r} is none of {', '.join(_ALL)}")
    if name in _OF_THE_PROCESS:
        if rest:
            raise ValueError(f"{text[:40]!r}: {name} is about no link")
        return Word(name)
    link, *numbers = rest or [""]
    if link not in states:
        raise ValueError(f"{text[:40]!r}: {name} needs one of the links {', '.join(states) or '(there is none)'}")
    if len(numbers) != _NUMBERS[name]:
        raise ValueError(f"{text[:40]!r}: {name} needs {_NUMBERS[name]} numbers")
    if not all(one.isdecimal() and len(one) < 20 for one in numbers):
        raise ValueError(f"{text[:40]!r}: {numbers[0][:20]!r} is no number")
    word = Word(name, link, *map(int, numbers))
    if name == "enter" and word.number >= states[link]:
        raise ValueError(f"{text[:40]!r}: the plan has {states[link]} states, counted from 0")
    return word


def gives_a_link(line: bytes) -> bool:
    """Whether a line, or the beginning of one, gives the process a link."""
    return line.partition(b" ")[0] == ADD


def new_link(line: bytes, *, there: Mapping[str, object]) -> tuple[str, bytes]:
    """Of a line that gives a link: its name, and the request.  there: the links that there are.

    ValueError says what is wrong with the name.
    """
    named, _, request = line.removeprefix(ADD).lstrip().partition(b" ")
    name = named[:LONGEST].decode("ascii", "backslashreplace")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is no name of a link: up to 32 letters, digits and any of _.-")
    if name in there:
        raise ValueError(f"there is a link {name!r} already")
    return name, request
