"""What of a stack a scenario can set: each declares its own, and every value is checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

KnobValue = bool | int | float | str


class Knobs(BaseModel):
    """Base of a stack's knobs, which are its fields.  EXPLICIT: those that every scenario has to say itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    EXPLICIT: ClassVar[frozenset[str]] = frozenset()


class KnobsError(ValueError):
    """Knobs that a stack does not have, or values that they cannot have.

    problems: of each the knob, '' where it is about all of them, and what is wrong.
    """

    def __init__(self, stack: str, problems: tuple[tuple[str, str], ...]) -> None:
        super().__init__("; ".join(f"knobs.{stack}{'.' if knob else ''}{knob}: {why}" for knob, why in problems))
        self.problems = problems


def parse(stack: str, kind: type[Knobs] | None, given: Mapping[str, KnobValue]) -> Knobs | None:
    """A stack's knobs as they are given; KnobsError says what is wrong with them.

    kind: what the stack declares, None where it has no knobs.
    """
    if kind is None:
        if given:
            raise KnobsError(stack, tuple((knob, f"stack {stack!r} has no knobs") for knob in given))
        return None
    known = ", ".join(kind.model_fields)
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        found = []
        for detail in error.errors():
            knob = str(detail["loc"][0]) if detail["loc"] else ""
            unknown = detail["type"] == "extra_forbidden"
            why = f"is none of {known}" if unknown else f"{_said(detail['msg'])} (it says {given.get(knob)!r})"
            found.append((knob, why if knob else _said(detail["msg"])))
        raise KnobsError(stack, tuple(found)) from None


def unsaid(kind: type[Knobs] | None, given: Mapping[str, KnobValue]) -> tuple[str, ...]:
    """The knobs that a scenario has to say and does not."""
    return tuple(sorted(kind.EXPLICIT - given.keys())) if kind else ()


def _said(message: str) -> str:
    return message.removeprefix("Value error, ")
