"""Conditions on cells: factor to the level, or the levels, that it has there, as printed.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_lists(value: Any) -> Any:
    """A condition with a tuple of levels for each factor, where one level alone may stand; what is none as it is."""
    if not isinstance(value, dict):
        return value
    return {
        factor: tuple(str(level) for level in (levels if isinstance(levels, list | tuple) else (levels,)))
        for factor, levels in value.items()
    }


def holds(when: Mapping[str, tuple[str, ...]], levels: Mapping[str, str]) -> bool:
    """Whether a cell of these levels is meant; nobody is by a condition without factors."""
    return bool(when) and all(levels.get(factor) in allowed for factor, allowed in when.items())
