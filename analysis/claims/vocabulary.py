"""What a claim may say: a small vocabulary of tests over cells and metrics, and how many of them must pass.

A test names its metric and network once; `pairs` are ratios of cases (first by second), `cases` with `over` and
`under` compare each case with itself (another network, another metric), and `pairs` with both compare the ratios.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from analysis.statistics.knee import FEWEST_PLACES
from records.written import Written

Share = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
Bound = Annotated[float, Field(allow_inf_nan=False)]
Quantifier = Literal["all", "most", "any"]


class _Model(Written):
    """Base of all that a file of claims says."""


class Side(_Model):
    """What one side of a comparison has of its own."""

    metric: str | None = None
    network: str | None = None


class Selector(Side):
    """A case; metric and network when they are not the test's."""

    case: str


def _selector(value: Any) -> Any:
    return {"case": value} if isinstance(value, str) else value


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


One = Annotated[Selector, BeforeValidator(_selector)]
Product = Annotated[tuple[One, ...], BeforeValidator(_listed), Field(min_length=1, max_length=4)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]


class _Test(_Model):
    """word, number: what the band was made of, where the file has a rule for words (analysis.claims.words)."""

    metric: str
    network: Words
    word: str = ""
    number: float | tuple[float, float] | None = None
    for_: Quantifier = Field(default="all", alias="for")


class _Sided(_Test):
    pairs: tuple[tuple[Product, Product], ...] = ()
    cases: tuple[str, ...] = ()
    over: Side | None = None
    under: Side | None = None

    @model_validator(mode="after")
    def _sides(self) -> _Sided:
        if bool(self.pairs) == bool(self.cases):
            raise ValueError("give either pairs (of cases) or cases with over and under")
        if (self.over is None) != (self.under is None) or (self.cases and self.over is None):
            raise ValueError("over and under belong together, and cases need both")
        if self.over is not None and self.over == self.under:
            raise ValueError("over and under are the same: nothing is compared")
        return self


class _Bounded(_Test):
    above: Bound | None = None
    below: Bound | None = None

    @model_validator(mode="after")
    def _band(self) -> _Bounded:
        if self.above is None and self.below is None:
            raise ValueError("needs above, below, or both")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError(f"nothing lies above {self.above:g} and below {self.below:g}")
        return self


class Ratio(_Sided, _Bounded):
    """First by second lies above and below."""

    test: Literal["ratio"]

    @model_validator(mode="after")
    def _positive(self) -> Ratio:
        if any(bound is not None and bound <= 0 for bound in (self.above, self.below)):
            raise ValueError("a ratio is above 0; its bounds are too")
        return self


class Totals(_Sided, _Bounded):
    """The sum of all firsts by the sum of all seconds lies above and below."""

    test: Literal["totals"]

    @model_validator(mode="after")
    def _plain(self) -> Totals:
        if self.pairs and (self.over is not None or any(len(side) > 1 for pair in self.pairs for side in pair)):
            raise ValueError("totals are sums of single cases: pairs without over and under, or cases with both")
        if any(bound is not None and bound <= 0 for bound in (self.above, self.below)):
            raise ValueError("a ratio is above 0; its bounds are too")
        return self


class NoDifference(_Sided):
    """The two are equal within so many per cent, either way."""

    test: Literal["no_difference"]
    within_percent: Share


class Difference(_Sided, _Bounded):
    """First minus second lies above and below, in the metric's SI unit."""

    test: Literal["difference"]


class Between(_Bounded):
    """The value itself lies above and below, in the metric's SI unit."""

    test: Literal["between"]
    cases: Annotated[tuple[str, ...], Field(min_length=1)]


class Never(_Test):
    """Of what a share counts nothing was seen in any trial, among so many at least; one that is seen is enough to fail.

    among: with fewer looked at it is open.  What happens three times in so many would be seen in all but 5 % of runs.
    """

    test: Literal["never"]
    cases: Annotated[tuple[str, ...], Field(min_length=1)]
    among: Annotated[int, Field(ge=1)] = 1000


class WithinPercent(_Test):
    """The value lies within so many per cent of a number, in the metric's SI unit."""

    test: Literal["within_percent"]
    cases: Annotated[tuple[str, ...], Field(min_length=1)]
    of: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    percent: Annotated[float, Field(gt=0, lt=100)]


class _Series(_Test):
    series: Annotated[tuple[str, ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _each_once(self) -> _Series:
        if twice := [case for number, case in enumerate(self.series) if case in self.series[:number]]:
            raise ValueError(f"series: {twice[0]!r} stands there twice")
        return self


class _Placed(_Series):
    """at: what the series goes over (numbers of connections, say), one for each case, rising."""

    at: tuple[Bound, ...]

    @model_validator(mode="after")
    def _rising(self) -> _Placed:
        if len(self.at) != len(self.series) or any(a >= b for a, b in pairwise(self.at)):
            raise ValueError(f"at needs {len(self.series)} rising numbers, one for each case of the series")
        return self


class Monotone(_Series):
    """Along the series each value is above (below) the one before; steps back within the tolerance do not count."""

    test: Literal["monotone"]
    direction: Literal["rising", "falling"]
    tolerance_percent: Annotated[float, Field(ge=0, lt=100)] = 0.0


class Knee(_Series):
    """Along the series the value is highest `at` this case: beyond it, more load gives less."""

    test: Literal["knee"]
    at: str

    @model_validator(mode="after")
    def _in_the_series(self) -> Knee:
        if self.at not in self.series:
            raise ValueError(f"the knee at {self.at!r} is not in the series {', '.join(self.series)}")
        return self


class _Line(_Placed):
    @model_validator(mode="after")
    def _line(self) -> _Line:
        if len(self.series) < 3:
            raise ValueError("two points are always on a line: give three or more")
        return self


class Linear(_Line):
    """Each value between the first and the last is within so many per cent of the straight line through these two.

    It is above or below by a factor of at most one and so many hundredths.
    """

    test: Literal["linear"]
    within_percent: Share


class Straight(_Line):
    """A straight line upwards explains the series: R² of the nearest one (least squares) is above so much, and each
    step from one place to the next is, for each 1 of `at`, within so many per cent of the whole series' mean.
    """

    test: Literal["straight"]
    r_squared_above: Annotated[float, Field(gt=0, lt=1)]
    steps_within_percent: Annotated[float, Field(gt=0, lt=100)]


class Slope(_Placed, _Bounded):
    """The straight line nearest to the series (least squares) rises by so many SI units for each 1 of `at`."""

    test: Literal["slope"]


class FittedKnee(_Placed, _Bounded):
    """Two straight lines that meet fit the series better than one, and meet above and below a place on `at`.

    See analysis.statistics.knee.
    """

    test: Literal["fitted_knee"]

    @model_validator(mode="after")
    def _enough(self) -> FittedKnee:
        if len(self.series) < FEWEST_PLACES:
            raise ValueError(f"{len(self.series)} points: two lines that meet need {FEWEST_PLACES} or more")
        return self


class Sum(_Test):
    """The sum of the values lies above and below (in the metric's SI unit), or is, by a factor of at most one and
    within_percent hundredths, the value that it `equals`.
    """

    test: Literal["sum"]
    cases: Annotated[tuple[One, ...], Field(min_length=2)]
    above: Bound | None = None
    below: Bound | None = None
    equals: One | None = None
    within_percent: Share | None = None

    @model_validator(mode="after")
    def _either(self) -> Sum:
        banded = self.above is not None or self.below is not None
        if (self.equals is None) != (self.within_percent is None) or banded == (self.equals is not None):
            raise ValueError("needs above, below, or both; or equals (a case) with within_percent")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError(f"nothing lies above {self.above:g} and below {self.below:g}")
        return self


Test = Annotated[
    Ratio
    | Totals
    | NoDifference
    | Difference
    | Between
    | Never
    | WithinPercent
    | Monotone
    | Knee
    | Linear
    | Straight
    | Slope
    | FittedKnee
    | Sum,
    Field(discriminator="test"),
]


class Claim(_Model):
    """section: of the study.  finding: in our words.  note: how a vague word was read.  All tests must pass."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{2,60}$")]
    section: str
    finding: Annotated[str, Field(min_length=15)]
    note: str = ""
    tests: Annotated[tuple[Test, ...], Field(min_length=1)]
