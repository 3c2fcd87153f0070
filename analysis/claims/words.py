"""The rule by which a file of claims reads words: `much more` is the same band in every claim that says it.

A file may begin with `words`: word to band.  A test that names one (`word`) has that band and gives none of its own;
`of: number` and `of: range` make the band from the number (or the two) that the text gives (`number`).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from analysis.claims.vocabulary import Bound, Share
from records.written import Written

BAND = ("above", "below", "within_percent", "tolerance_percent")
_TAKES = {
    "ratio": ("above", "below"), "totals": ("above", "below"), "difference": ("above", "below"),
    "between": ("above", "below"), "no_difference": ("within_percent",), "linear": ("within_percent",),
    "monotone": ("tolerance_percent",), "sum": ("above", "below", "within_percent"), "slope": ("above", "below"),
    "fitted_knee": ("above", "below"), "knee": (), "straight": (), "within_percent": (),
}  # fmt: skip


class Word(Written):
    """A band; of: whether it is as it stands, or times the number, or times the two ends of the range."""

    above: Bound | None = None
    below: Bound | None = None
    within_percent: Share | None = None
    tolerance_percent: Annotated[float, Field(ge=0, lt=100)] | None = None
    of: Literal["", "number", "range"] = ""

    @model_validator(mode="after")
    def _says_something(self) -> Word:
        if not self.model_fields_set & set(BAND):
            raise ValueError(f"a word needs a band: {', '.join(BAND)}")
        if self.of and self.model_fields_set & {"within_percent", "tolerance_percent"}:
            raise ValueError("only above and below are of a number")
        return self


class WordError(ValueError):
    """A test whose word gives it no band; the message says why."""


def banded(test: Mapping[str, Any], words: Mapping[str, Word]) -> dict[str, Any]:
    """The test with the band of its word, as keys of the vocabulary; without a word, as it is."""
    name = test.get("word")
    if name is None:
        if "number" in test:
            raise WordError("number belongs to a word; which one does the text say?")
        return dict(test)
    if (word := words.get(name) if isinstance(name, str) else None) is None:
        close = difflib.get_close_matches(str(name), list(words), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise WordError(f"{name!r} is no word of this file: {hint}there are {', '.join(words) or 'none'}")
    if own := [key for key in BAND if test.get(key) is not None]:
        raise WordError(f"{name!r} says what {own[0]} is; leave one of the two out")
    kind = test.get("test")
    band = _band(name, word, test.get("number"))
    takes = _TAKES.get(str(kind))
    if takes is not None and (wrong := [key for key in band if key not in takes]):
        raise WordError(f"{name!r} gives {wrong[0]}, and {kind} takes {', '.join(takes) or 'no word'}")
    return {key: value for key, value in test.items() if key not in BAND} | band


def _band(name: str, word: Word, number: Any) -> dict[str, float]:
    plain = {key: value for key in BAND if (value := getattr(word, key)) is not None}
    if not word.of:
        if number is not None:
            raise WordError(f"{name!r} is of no number")
        return plain
    wanted = 2 if word.of == "range" else 1
    given = number if isinstance(number, list) else [number]
    if len(given) != wanted or not all(type(one) in (int, float) and one > 0 for one in given):
        raise WordError(f"{name!r} needs number: {'two numbers above 0' if wanted == 2 else 'a number above 0'}")
    return {key: value * (given[0] if key == "above" else given[-1]) for key, value in plain.items()}
