"""Options of our data sources."""

from __future__ import annotations

from collections.abc import Mapping

from records.errors import WrongInput


class BadOption(WrongInput):
    """An option has a value that it cannot have; the message names both."""


def flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    """The value of an option that is true or false.  Raises BadOption."""
    value = str(options.get(name, default)).lower()
    if value not in ("true", "false"):
        raise BadOption(f"{name}: {value!r} is neither true nor false")
    return value == "true"


def whole_number(options: Mapping[str, str], name: str, *, default: int) -> int:
    """The value of an option that is a whole number from 1 on.  Raises BadOption."""
    value = str(options.get(name, default))
    if not value.isdecimal() or int(value) < 1:
        raise BadOption(f"{name}: {value!r} is no whole number from 1 on")
    return int(value)
