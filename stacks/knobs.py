"""What of a stack a scenario can set: each declares its own, and every value is checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args, get_origin

from pydantic import BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from records.errors import CannotGoOn
from records.refusals import in_words
from records.written import Written
from stacks.driver import Tls

KnobValue = bool | int | float | str


class Knobs(Written):
    """Base of a stack's knobs, which are its fields, each with its meaning as a docstring below it.

    EXPLICIT: those that every scenario has to say itself.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    EXPLICIT: ClassVar[frozenset[str]] = frozenset()


def _as_written(value: object) -> object:
    """YAML reads 1.3 as a number, and off as false, unless they stand in quotes."""
    if value is False:
        return "off"
    return str(value) if isinstance(value, float) else value


class TlsKnobs(Knobs):
    """Knobs of a stack whose protocol has TLS."""

    tls: Annotated[Tls, BeforeValidator(_as_written)] = "off"
    """the version of TLS that clients and servers speak"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One of a stack's knobs, for readers.  allowed: its values in words.  default: None where scenarios say it."""

    name: str
    meaning: str
    allowed: str
    default: KnobValue | None


class KnobsError(CannotGoOn, ValueError):
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
            why = f"is none of {known}" if unknown else f"{in_words(detail)} (it says {given.get(knob)!r})"
            found.append((knob, why if knob else in_words(detail)))
        raise KnobsError(stack, tuple(found)) from None


def described(kind: type[Knobs] | None) -> tuple[Knob, ...]:
    """A stack's knobs as its class declares them; none where it has no knobs."""
    if kind is None:
        return ()
    return tuple(
        Knob(
            name=name,
            meaning=" ".join((field.description or "").split()),
            allowed=_allowed(field),
            default=None if name in kind.EXPLICIT else field.default,
        )
        for name, field in kind.model_fields.items()
    )


def unsaid(kind: type[Knobs] | None, given: Mapping[str, KnobValue]) -> tuple[str, ...]:
    """The knobs that a scenario has to say and does not."""
    return tuple(sorted(kind.EXPLICIT - given.keys())) if kind else ()


def _allowed(field: FieldInfo) -> str:
    """The values of a field: all of them, or a range."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(repr(one) if isinstance(one, str) else str(one) for one in get_args(field.annotation))
    if field.annotation is bool:
        return "true, false"
    kinds: dict[object, str] = {int: "integer", float: "number", str: "word"}
    name = kinds.get(field.annotation, "value")
    bounds = (("from", "ge"), ("above", "gt"), ("to", "le"), ("below", "lt"))
    said = [f"{word} {getattr(one, key):,}" for word, key in bounds for one in field.metadata if hasattr(one, key)]
    return " ".join((name, *said))
