"""A study's folder: paper.yaml, its published tables and its claims."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from analysis.claims import Claim, ClaimError, load_claims
from analysis.metrics import METRICS
from analysis.papers.published import PRINTED, PublishedError, PublishedRow, read_published
from results.yaml_lines import Key, YamlError, read

RECORD = "paper.yaml"
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")]


class PaperError(ValueError):
    """A study's folder that cannot be read; one line per problem, with file, line, value and the way out."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bound(_Model):
    """Cases whose throughput the link decides, and on which side."""

    metric: str
    cases: tuple[str, ...]


class LinkBound(_Model):
    """What is compared in absolute terms, and how near is near."""

    network: str
    within_percent: Annotated[float, Field(gt=0, lt=100)]
    rows: tuple[Bound, ...]


class Series(_Model):
    """One row of marks in a figure: a case for each place."""

    label: str
    metric: str
    cases: tuple[str, ...]


class Figure(_Model):
    """A published figure: a panel for each network.  reading: which reading of doubtful rows it shows."""

    figure: int
    title: str
    across: str
    places: tuple[str, ...]
    reading: str = PRINTED
    series: Annotated[tuple[Series, ...], Field(min_length=1, max_length=4)]


class Record(_Model):
    """paper.yaml.  networks: the study's word to our link profile, the baseline first."""

    name: Name
    title: str
    authors: str
    networks: Annotated[dict[str, str], Field(min_length=2, max_length=2)]
    tables: tuple[Name, ...]
    claims: Name
    link_bound: LinkBound
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A study as its folder has it.  links: link profiles of ours that stand for networks of the study's, instead.

    digest: SHA-256 of the file of claims, which says by which reading of the study results were judged.
    """

    record: Record
    rows: tuple[PublishedRow, ...]
    claims: tuple[Claim, ...]
    digest: str
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def networks(self) -> dict[str, str]:
        """The study's word for a network to our link profile, the baseline first."""
        return {**self.record.networks, **self.links}

    @property
    def cases(self) -> tuple[str, ...]:
        """Every case once, in the tables' order."""
        return tuple(dict.fromkeys(row.case for row in self.rows))

    @property
    def readings(self) -> tuple[str, ...]:
        """`printed`, and what other readings of doubtful rows there are."""
        return tuple(dict.fromkeys([PRINTED, *(row.reading for row in self.rows)]))


def read_paper(folder: Path) -> Paper:
    """Read and check a study's folder; PaperError names every problem found."""
    path = folder / RECORD
    try:
        data, lines = read(path)
        record = Record.model_validate(data)
        rows = tuple(row for table in record.tables for row in read_published(folder / table))
        cases = tuple(dict.fromkeys(row.case for row in rows))
        problems = [f"{path}:{_line(lines, at)}: {problem}" for at, problem in _strangers(record, cases)]
        if problems:
            raise PaperError("\n".join(problems))
        claims = load_claims(folder / record.claims, cases=cases, networks=tuple(record.networks))
    except ValidationError as error:
        found = [f"{path}:{_line(lines, e['loc'])}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise PaperError("\n".join(found)) from error
    except (YamlError, PublishedError, ClaimError) as error:
        raise PaperError(str(error)) from error
    digest = hashlib.sha256((folder / record.claims).read_bytes()).hexdigest()
    return Paper(record=record, rows=rows, claims=claims, digest=digest)


def _line(lines: dict[Key, int], at: Key) -> int:
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at, 1)


def _strangers(record: Record, cases: tuple[str, ...]) -> Iterator[tuple[Key, str]]:
    """Cases, metrics and networks that mean nothing here."""
    if record.link_bound.network not in record.networks:
        told = ", ".join(record.networks)
        yield ("link_bound", "network"), f"{record.link_bound.network!r} is not one of the networks {told}"
    used: list[tuple[Key, Bound | Series]] = [
        (("link_bound", "rows", number), one) for number, one in enumerate(record.link_bound.rows)
    ]
    for number, figure in enumerate(record.figures):
        for at, series in enumerate(figure.series):
            used.append((("figures", number, "series", at), series))
            if len(series.cases) != len(figure.places):
                yield used[-1][0], f"{len(series.cases)} cases for {len(figure.places)} places; one for each"
    for key, one in used:
        if one.metric not in METRICS:
            yield key, f"{one.metric!r} is no metric: published_per_s, delivered_per_s or latency_mean_s"
        for case in one.cases:
            if case not in cases:
                yield key, f"{case!r} is not in the published tables"
