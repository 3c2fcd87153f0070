"""How often a scenario's cells are repeated, and which of their trials may run side by side."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from experiments.scenario.when import holds, with_lists
from records.commands import DURATION
from records.quantities import parse_share
from records.stopping import Rule
from records.window_metrics import FIGURES
from records.workload import Command, Workload
from records.written import Written

Trials = Annotated[int, Field(ge=1, le=1000)]
DEFAULT_MOST = 10
# The study of 2005 that this rule is taken from: 95 % intervals within 5 % of the mean.
DEFAULT_HALF_WIDTH = 0.05
DEFAULT_METRICS = ("delivered_per_s", "published_per_s", "latency_mean_s")


class Until(Written):
    """half_width: of the 95 % interval, as a share of the mean.  metrics: each must be as precise as that."""

    half_width: Annotated[float, BeforeValidator(parse_share), Field(gt=0, lt=1)] = DEFAULT_HALF_WIDTH
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = DEFAULT_METRICS

    @field_validator("metrics")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names))


class Repeats(Written):
    """`trials: 3` is three trials of each cell; with `until`, at least `least` and at most `most`."""

    least: Trials = 3
    most: Trials | None = None
    until: Until | None = None

    @model_validator(mode="before")
    @classmethod
    def _a_number_is_enough(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Repeats) else {"least": value}

    @model_validator(mode="after")
    def _a_cap_belongs_to_a_rule(self) -> Repeats:
        if self.until is None and self.most not in (None, self.least):
            raise ValueError("most is the cap of a rule: say until what (until: {half_width: 5 %}), or leave it out")
        if self.until is not None and self.least < 2:
            raise ValueError(f"least: {self.least}: one trial has no interval; a rule needs at least 2")
        if self.cap < self.least:
            raise ValueError(f"most: {self.cap} is fewer than least, which is {self.least}")
        return self

    @model_serializer(mode="wrap")
    def _number_where_it_was_one(self, plain: SerializerFunctionWrapHandler) -> Any:
        return self.least if self.until is None else plain(self)

    @property
    def cap(self) -> int:
        """The most trials that a cell can have."""
        if self.until is None:
            return self.least
        return max(DEFAULT_MOST, self.least) if self.most is None else self.most

    def unknown(self, work: Workload) -> str:
        """What of the rule's metrics a cell with this workload does not have, and what it has; '' when it has all."""
        have = (*work.metrics, DURATION) if isinstance(work, Command) else FIGURES
        lacking = [name for name in (self.until.metrics if self.until else ()) if name not in have]
        return f"{', '.join(lacking)}: trials are repeated for {', '.join(have)} only" if lacking else ""

    @property
    def rule(self) -> Rule | None:
        """The stopping rule, None when the number of trials is fixed."""
        if self.until is None:
            return None
        return Rule(least=self.least, most=self.cap, half_width=self.until.half_width, metrics=self.until.metrics)


class SideBySide(Written):
    """`parallel: 2` is up to two trials at a time.

    when: factor to the level, or the levels, that allow it.  Without it a trial is run beside others only when the
    last one of its cell that ran alone left processor enough for that many.
    """

    trials: Annotated[int, Field(ge=1, le=16)] = 1
    when: dict[str, tuple[str, ...]] = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _a_number_is_enough(cls, value: Any) -> Any:
        return value if isinstance(value, dict | SideBySide) else {"trials": value}

    @field_validator("when", mode="before")
    @classmethod
    def _one_level_is_a_list_of_one(cls, value: Any) -> Any:
        return with_lists(value)

    @model_validator(mode="after")
    def _when_two_or_more(self) -> SideBySide:
        if self.when and self.trials < 2:
            raise ValueError("when: of how many trials side by side? Say trials: 2, or leave when out")
        return self

    @model_serializer(mode="wrap")
    def _number_where_it_was_one(self, plain: SerializerFunctionWrapHandler) -> Any:
        return plain(self) if self.when else self.trials

    def names(self, levels: dict[str, str]) -> bool:
        """Whether the scenario names the cell of these levels."""
        return holds(self.when, levels)
