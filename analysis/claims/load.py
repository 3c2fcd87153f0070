"""Reading claims from YAML; every problem is told with file, line, place, value and the way out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.claims.comparisons import comparisons
from analysis.claims.known import refused, unknown
from analysis.claims.series import Curves, SeriesError, resolved
from analysis.claims.vocabulary import Claim, Never
from analysis.claims.words import Word, WordError, banded
from analysis.estimates import countable
from analysis.metrics import METRICS
from records.yaml_lines import Key, YamlError, read

_KEYS = "see analysis/claims/vocabulary.py for those there are"
NO_CURVES: Curves = MappingProxyType({})


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


def load_claims(
    path: Path, *, cases: Collection[str], networks: Collection[str], curves: Curves = NO_CURVES
) -> tuple[Claim, ...]:
    """All claims of a file.  cases, networks, curves: what they may speak of.  ClaimError names every problem found."""
    try:
        data, lines = read(path)
    except YamlError as error:
        raise ClaimError(str(error)) from error
    place = _Place(path, lines)
    if not isinstance(data, dict):
        raise ClaimError(place.say((), "not a mapping with the key `claims`, a list of claims"))
    try:
        words = _Rule.model_validate(data).words
        _complete(data.get("claims"), words, curves, place)
        claims = _File.model_validate(data).claims
    except ValidationError as error:
        details = _first([dict(detail) for detail in error.errors()])
        raise ClaimError("\n".join(dict.fromkeys(_told(place, detail) for detail in details))) from error
    problems = [place.say(at, problem) for at, problem in _strangers(claims, cases, networks)]
    if problems:
        raise ClaimError("\n".join(dict.fromkeys(problems)))
    return claims


def _complete(claims: Any, words: Mapping[str, Word], curves: Curves, place: _Place) -> None:
    """Put bands for words and cases for series into all tests; ClaimError for each that cannot have them."""
    problems = []
    for number, claim in enumerate(claims if isinstance(claims, list) else []):
        tests = claim.get("tests") if isinstance(claim, dict) else None
        if not isinstance(tests, list):
            continue
        for at, test in enumerate(tests):
            if isinstance(test, dict):
                try:
                    tests[at] = resolved(banded(test, words), curves)
                except (WordError, SeriesError) as error:
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
            if isinstance(test, Never) and test.metric in METRICS and test.metric not in countable():
                problem = f"{test.metric!r} is no share that is counted, which are {', '.join(countable())}"
                yield ("claims", number, "tests", at, "metric"), problem
            for comparison in comparisons(test):
                for quantity in comparison.quantities:
                    for problem in (
                        unknown("case", quantity.case, cases),
                        unknown("network", quantity.network, networks),
                        unknown("metric", quantity.metric, METRICS),
                    ):
                        if problem:
                            yield ("claims", number, "tests", at), problem


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
    return place.say(detail["loc"], refused(detail, keys=_KEYS), absent=absent)
