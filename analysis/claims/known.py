"""What is wrong with a study's files, in words: names that mean nothing there, and values that cannot stand there."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from records.refusals import in_words

_MOST = 12


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """As in `'tow' is no case: did you mean 'two'? there are one, two`; empty for a name that is known."""
    if name in known:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    names = list(known)
    some = ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
    return f"{name!r} is no {kind}: {hint}there are {some or 'none'}"


def refused(detail: Mapping[str, Any], *, keys: str) -> str:
    """One of pydantic's errors, with the value.  keys: where to find which keys there are."""
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "extra_forbidden":
        return f"unknown key; {keys}"
    value = detail["input"]
    return in_words(detail) if isinstance(value, dict | list | tuple) else f"{value!r}: {in_words(detail)}"
