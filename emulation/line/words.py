"""The words that a line's process understands, a line each: a name, and a number where it needs one.  Pure."""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 256  # bytes of a line
_NUMBERS = {"counts": 0, "late": 0, "steps": 0, "renumber": 0, "here": 0, "start": 1, "enter": 1}


class Word(NamedTuple):
    """number: what `start` and `enter` need, 0 of any other."""

    name: str
    number: int = 0


def parse(line: bytes, *, states: int) -> Word:
    """A line without its end.  states: how many the plan has.  ValueError says what is wrong with it."""
    text = line[:LONGEST].decode("ascii", "backslashreplace")
    name, *numbers = text.split() or [""]
    if len(line) > LONGEST or name not in _NUMBERS:
        raise ValueError(f"{text[:40]!r} is none of {', '.join(_NUMBERS)}")
    if len(numbers) != _NUMBERS[name]:
        raise ValueError(f"{text[:40]!r}: {name} needs {_NUMBERS[name]} numbers")
    if not all(one.isdecimal() and len(one) < 20 for one in numbers):
        raise ValueError(f"{text[:40]!r}: {numbers[0][:20]!r} is no number")
    word = Word(name, *map(int, numbers))
    if name == "enter" and word.number >= states:
        raise ValueError(f"{text[:40]!r}: the plan has {states} states, counted from 0")
    return word
