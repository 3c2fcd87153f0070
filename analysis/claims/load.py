"""Reading claims from YAML; every problem is told with file, line, place, value and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.claims.comparisons import Quantity, comparisons
from analysis.claims.vocabulary import Claim
from analysis.claims.words import Word, WordError, banded
from analysis.metrics import METRICS
from results.yaml_lines import Key, YamlError, read


class ClaimError(ValueError):
    """A file of claims that cannot be used; one line per problem."""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    words: dict[str, Word] = {}
    claims: tuple[Claim, ...]


class _Rule(BaseModel):
    words: dict[str, Word] = {}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where things stand in the file."""

    path: Path
    lines: dict[Key, int]

    def say(self, at: Key, problem: str, *, absent: Key = ()) -> str:
        """absent: what should stand there, and has no line of its own."""
        known: Key = ()
        for part in at:  # the validator names kinds of tests on the way, which are not in the file
            if (*known, part) in self.lines:
                known = (*known, part)
        where = ".".join(map(str, (*known, *absent)))
        return f"{self.path}:{self.lines.get(known, 1)}: {where + ': ' if where else ''}{problem}"


def load_claims(path: Path, *, cases: Collection[str], networks: Collection[str]) -> tuple[Claim, ...]:
    """All claims of a file.  cases, networks: what they may speak of.  ClaimError names every problem found."""
    try:
        data, lines = read(path)
    except YamlError as error:
        raise ClaimError(str(error)) from error
    place = _Place(path, lines)
    if not isinstance(data, dict):
        raise ClaimError(place.say((), "not a mapping with the key `claims`, a list of claims"))
    try:
        words = _Rule.model_validate(data).words
        _give_bands(data.get("claims"), words, place)
        claims = _File.model_validate(data).claims
    except ValidationError as error:
        details = _first([dict(detail) for detail in error.errors()])
        raise ClaimError("\n".join(dict.fromkeys(_told(place, detail) for detail in details))) from error
    problems = [place.say(at, problem) for at, problem in _strangers(claims, cases, networks)]
    if problems:
        raise ClaimError("\n".join(dict.fromkeys(problems)))
    return claims


def _give_bands(claims: Any, words: Mapping[str, Word], place: _Place) -> None:
    """Put the bands of their words into all tests; ClaimError for each that cannot have one."""
    problems = []
    for number, claim in enumerate(claims if isinstance(claims, list) else []):
        tests = claim.get("tests") if isinstance(claim, dict) else None
        if not isinstance(tests, list):
            continue
        for at, test in enumerate(tests):
            if isinstance(test, dict):
                try:
                    tests[at] = banded(test, words)
                except WordError as error:
                    problems.append(place.say(("claims", number, "tests", at), str(error)))
    if problems:
        raise ClaimError("\n".join(problems))


def _strangers(
    claims: tuple[Claim, ...], cases: Collection[str], networks: Collection[str]
) -> Iterator[tuple[Key, str]]:
    """Names that mean nothing here, and ids that stand twice."""
    first: dict[str, int] = {}
    for number, claim in enumerate(claims):
        if first.setdefault(claim.id, number) != number:
            yield ("claims", number, "id"), f"{claim.id!r} is the id of claim {first[claim.id] + 1} too; choose another"
        for at, test in enumerate(claim.tests):
            for comparison in comparisons(test):
                for quantity in comparison.quantities:
                    for problem in _unknown(quantity, cases, networks):
                        yield ("claims", number, "tests", at), problem


def _unknown(quantity: Quantity, cases: Collection[str], networks: Collection[str]) -> Iterator[str]:
    for kind, name, known in (
        ("case", quantity.case, cases),
        ("network", quantity.network, networks),
        ("metric", quantity.metric, METRICS),
    ):
        if name not in known:
            close = difflib.get_close_matches(name, list(known), n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            yield f"{name!r} is no {kind}: {hint}there are {_some(known)}"


def _some(known: Collection[str], most: int = 12) -> str:
    names = list(known)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _first(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those that only say that a list lacks what another one has refused."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(place != detail["loc"] and place[: len(detail["loc"])] == detail["loc"] for place in places)
    ]


def _told(place: _Place, detail: dict[str, Any]) -> str:
    absent = detail["loc"][-1:] if detail["type"] == "missing" else ()
    return place.say(detail["loc"], _problem(detail), absent=absent)


def _problem(detail: dict[str, Any]) -> str:
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "extra_forbidden":
        return "unknown key; see analysis/claims/vocabulary.py for those there are"
    if detail["type"] == "string_type":
        message += "; put it in quotes"
    value = detail["input"]
    return message if isinstance(value, dict | list | tuple) else f"{value!r}: {message}"
