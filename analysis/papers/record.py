"""paper.yaml: what a study's page needs to know beside the numbers and the claims."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from analysis.papers.published import PRINTED
from records.written import Written

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")]


def _word(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Word = Annotated[str, BeforeValidator(_word), Field(min_length=1)]  # `figure: 5.1` is a word, too


class Bound(Written):
    """Cases of which the link decides this metric."""

    metric: str
    cases: tuple[str, ...]


class LinkBound(Written):
    """What is compared in absolute terms, and how near is near."""

    network: str
    within_percent: Annotated[float, Field(gt=0, lt=100)]
    rows: tuple[Bound, ...]


class Across(Written):
    """The horizontal axis.  places: x are words, at equal distances; else they are numbers."""

    label: str = ""
    scale: Literal["places", "linear", "log"] = "places"


class Upright(Written):
    """The vertical axis.  auto: logarithmic where the values span much."""

    scale: Literal["auto", "linear", "log"] = "auto"


class Figure(Written):
    """A published figure that is drawn: a panel for each network, with the series that published.csv has of it.

    reading: which reading of doubtful values it shows.
    """

    figure: Word
    title: str
    x: Across = Across()
    y: Upright = Upright()
    reading: str = PRINTED


class ComputedCases(Written):
    """Cases that are not run: a program of the folder computes or simulates their values (analysis.papers.computed).

    cases: each with what it is.
    """

    program: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.py$")]
    cases: Annotated[dict[Name, Annotated[str, Field(min_length=10)]], Field(min_length=1)]


class Record(Written):
    """paper.yaml.  networks: the study's word to our link profile, the baseline first.

    about_within_percent: by how much a published value that is `about` may be off.
    unpublished: cases of the scenario of which nothing was published, and claims speak.
    """

    name: Name
    title: str
    authors: str
    networks: Annotated[dict[str, str], Field(min_length=1)]
    about_within_percent: Annotated[float, Field(gt=0, lt=100)] = 10.0
    link_bound: LinkBound | None = None
    figures: tuple[Figure, ...] = ()
    unpublished: tuple[Name, ...] = ()
    computed: ComputedCases | None = None

    @property
    def more_cases(self) -> tuple[str, ...]:
        """Cases that claims may speak of, whether anything was published of them or not."""
        return (*self.unpublished, *(self.computed.cases if self.computed else ()))
