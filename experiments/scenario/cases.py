"""Combinations that are no full product: `cases`, a list of named overrides, each a level of the one factor `case`.

    cases:
      - {case: few, workload: {clients: {publishers: 1, subscribers: 50}}}
      - {case: many, workload: {clients: {publishers: 50, subscribers: 1}, body_bytes: 100}}

A case is laid over the rest of the scenario, mapping into mapping.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from experiments.scenario.overlay import laid_into, misplaced
from records.yaml_lines import Key

_LIST = "cases"
KEY: Key = (_LIST,)
NAME = "case"  # the factor's name, and the key of a case's own
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}")


def problems(
    levels: Iterable[Any], factors: Iterable[Key], *, whole: Container[str] = (), lists: Container[str] = ()
) -> Iterator[tuple[Key, str]]:
    """What is wrong with the cases: where, and what.

    factors: the keys of the scenario's other factors.  whole: keys that hold for the whole campaign.  lists: keys whose
    lists are no levels.
    """
    others = [key for key in factors if key != KEY]
    for number, level in enumerate(levels):
        at = (*KEY, number)
        if not isinstance(level, dict) or NAME not in level:
            yield at, f"{level!r}: a case is a mapping with its name, as in {{case: first, stations: 2}}"
            continue
        name = level[NAME]
        if isinstance(name, bool) or not isinstance(name, str | int) or not _WORD.fullmatch(str(name)):
            yield (*at, NAME), f"{name!r}: a case's name is one word of letters, digits, '.', '_' and '-', or quoted"
        for path, problem in misplaced(level, others, whole=whole, lists=lists, what="a case"):
            yield (*at, *path), problem


def name_of(level: Any) -> str:
    """The printed level of a case; of what is no case, what it looks like."""
    return str(level[NAME]) if isinstance(level, dict) and NAME in level else repr(level)


def laid_over(data: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with its one chosen case (under key `cases`) laid over it."""
    rest = {key: value for key, value in data.items() if key != _LIST}
    merged: dict[str, Any] = laid_into(rest, {key: value for key, value in data[_LIST].items() if key != NAME})
    return merged
