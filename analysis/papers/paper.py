"""A study's folder: paper.yaml, published.csv, claims.yaml, and cases.csv where cases are to be described."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from analysis.claims import Claim, ClaimError, load_claims
from analysis.claims.comparisons import Quantity
from analysis.claims.known import refused, unknown
from analysis.claims.series import Curve
from analysis.papers.computed import METRICS
from analysis.papers.drawn import strangers
from analysis.papers.longform import PublishedError, lines_of, read_points
from analysis.papers.published import PRINTED, Point, Published, reading
from analysis.papers.record import Record
from records.yaml_lines import Key, YamlError, read

RECORD, PUBLISHED, CASES, CLAIMS = "paper.yaml", "published.csv", "cases.csv", "claims.yaml"
_CASE = "case"
_KEYS = "see analysis/papers/record.py for those there are"


class PaperError(ValueError):
    """A study's folder that cannot be read; one line per problem, with file, line, value and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A case as published, in one reading.  factors: what the study says of the case.  note: what is doubtful."""

    case: str
    reading: str
    note: str
    factors: Mapping[str, str]
    points: Mapping[Quantity, Point]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A study as its folder has it.  links: link profiles of ours that stand for networks of the study's, instead.

    factors: case to what the study says of it.  digest: SHA-256 of the file of claims, which says by which reading of
    the study results were judged.
    """

    record: Record
    points: tuple[Point, ...]
    factors: Mapping[str, Mapping[str, str]]
    claims: tuple[Claim, ...]
    digest: str
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def networks(self) -> dict[str, str]:
        """The study's word for a network to our link profile, the baseline first."""
        return {**self.record.networks, **self.links}

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """Every published case that is run, once, in the order of their description, then of the published numbers."""
        return _cases([point for point in self.points if point.metric not in METRICS], self.factors)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Every published metric of trials once."""
        return tuple(dict.fromkeys(point.metric for point in self.points if point.metric not in METRICS))

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """`printed`, and what other readings of doubtful values there are."""
        return tuple(dict.fromkeys([PRINTED, *(point.reading for point in self.points)]))

    @cached_property
    def rows(self) -> tuple[PublishedRow, ...]:
        """Every case in every reading that there is of it."""
        points: dict[tuple[str, str], dict[Quantity, Point]] = {}
        for point in self.points:
            points.setdefault((point.reading, point.case), {})[point.quantity] = point
        return tuple(
            PublishedRow(case=case, reading=name, note=_notes(found.values()), factors=self.factors.get(case, {}),
                         points=found)
            for name in self.readings
            for case in self.cases
            if (found := points.get((name, case)))
        )  # fmt: skip

    def published(self, name: str = PRINTED) -> Published:
        """The published numbers in one reading."""
        return self.stated(reading(self.points, name))

    def stated(self, values: Mapping[Quantity, Point]) -> Published:
        """Some published numbers as evidence."""
        return Published(values=values, about=self.record.about_within_percent / 100)


def read_paper(folder: Path) -> Paper:
    """Read and check a study's folder; PaperError names every problem found in the first file that has any."""
    path = folder / RECORD
    try:
        data, lines = read(path)
        record = Record.model_validate(data)
        points = read_points(folder / PUBLISHED, record.networks)
        factors = _factors(folder / CASES, points) if (folder / CASES).exists() else {}
        problems = [
            f"{path}:{_line(lines, found.at)}: {found.what}" if found.line is None
            else f"{folder / PUBLISHED}:{found.line}: {found.what}"
            for found in strangers(record, points)
        ]  # fmt: skip
        if problems:
            raise PaperError("\n".join(problems))
        cases = (*_cases(points, factors), *record.more_cases)
        claims = load_claims(folder / CLAIMS, cases=cases, networks=tuple(record.networks),
                             curves=_curves(points))  # fmt: skip
        digest = hashlib.sha256((folder / CLAIMS).read_bytes()).hexdigest()
    except ValidationError as error:
        found = [
            f"{path}:{_line(lines, detail['loc'])}: {'.'.join(map(str, detail['loc']))}: {refused(detail, keys=_KEYS)}"
            for detail in error.errors()
        ]
        raise PaperError("\n".join(found)) from error
    except (YamlError, PublishedError, ClaimError) as error:
        raise PaperError(str(error)) from error
    return Paper(record=record, points=points, factors=factors, claims=claims, digest=digest)


def _line(lines: Mapping[Key, int], at: Key) -> int:
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at, 1)


def _cases(points: Iterable[Point], factors: Mapping[str, object]) -> tuple[str, ...]:
    published = dict.fromkeys(point.case for point in points)
    return tuple([case for case in factors if case in published] + [case for case in published if case not in factors])


def _notes(points: Iterable[Point]) -> str:
    parts = [part for point in points for part in point.note.split("; ")]
    return "; ".join(filter(None, dict.fromkeys(parts)))


def _factors(path: Path, points: Iterable[Point]) -> dict[str, dict[str, str]]:
    """What cases.csv says of each case: the study's words by column; empty cells are left out."""
    (first, head), *body = lines_of(path)
    if _CASE not in head:
        raise PublishedError(f"{path}:{first}: there is no column {_CASE!r}; there are {', '.join(head)}")
    published = {point.case for point in points}
    found: dict[str, dict[str, str]] = {}
    problems = []
    for number, cells in body:
        row = {name: cell.strip() for name, cell in zip(head, cells, strict=True) if cell.strip()}
        case = row.pop(_CASE, "")
        if problem := unknown(f"case of {PUBLISHED}", case, published):
            problems.append(f"{path}:{number}: {problem}")
        elif case in found:
            problems.append(f"{path}:{number}: {case} stands there twice")
        found[case] = row
    if problems:
        raise PublishedError("\n".join(problems))
    return found


def _curves(points: Iterable[Point]) -> dict[str, dict[str, dict[str, Curve]]]:
    """Series that claims may speak of by name: figure to series to network; of two readings of a place the first."""
    places: dict[str, dict[str, dict[str, dict[str, dict[str, str]]]]] = {}
    for point in points:
        network = places.setdefault(point.figure, {}).setdefault(point.series, {}).setdefault(point.network, {})
        network.setdefault(point.metric, {}).setdefault(point.x, point.case)
    return {
        figure: {
            name: {network: Curve(cases=cases) for network, cases in networks.items()}
            for name, networks in series.items()
        }
        for figure, series in places.items()
    }
