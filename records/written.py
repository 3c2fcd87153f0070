"""What people write in YAML: records in which no boolean passes for a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from records.record import Record

_NO_NUMBER = "a number is meant, and in YAML true, yes and on, false, no and off are none: write the number"
_HARMLESS = frozenset({int, float, str, type(None)})
_Kinds = tuple[Any, ...]  # what a value may be, one of them


class Written(Record):
    """Base of what people write in YAML: a boolean is no number in it, though to Python (and pydantic) it is 1 or 0."""

    @model_validator(mode="before")
    @classmethod
    def _no_boolean_for_a_number(cls, data: Any) -> Any:
        """Runs after the validators of this kind that a subclass has, which put a mapping in a word's place."""
        if isinstance(data, Mapping):
            found = [
                InitErrorDetails(type=PydanticCustomError("no_number", _NO_NUMBER), loc=place, input=wrong)
                for key, kinds in _numbers(cls).items()
                if type(data.get(key)) not in _HARMLESS  # manifests carry workloads, and are read by the thousand
                for place, wrong in _booleans(data[key], kinds, (key,))
            ]
            if found:
                raise ValidationError.from_exception_data(cls.__name__, found)
        return data


@cache
def _numbers(model: type[BaseModel]) -> Mapping[str, _Kinds]:
    """The keys that a number may stand at, or within, and what else may."""
    keys = {field.alias or name: tuple(_alternatives(field.annotation)) for name, field in model.model_fields.items()}
    return {key: kinds for key, kinds in keys.items() if any(map(_is_number, _types(kinds)))}


def _is_number(kind: type) -> bool:
    return issubclass(kind, int | float) and kind is not bool


def _booleans(value: Any, kinds: _Kinds, at: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], bool]]:
    """The booleans in a value that stand for numbers, each with its place."""
    if isinstance(value, bool):
        # Also where a list of numbers is meant: validators make one of a single value.
        found = set(_types(kinds))
        if bool not in found and any(map(_is_number, found)):
            yield at, value
    elif isinstance(value, Mapping):
        inner = tuple(_inside(kinds, Mapping))
        for key, one in value.items() if inner else ():
            yield from _booleans(one, inner, (*at, key))
    elif isinstance(value, list | tuple) and not set(map(type, value)) <= {int, float}:  # recordings are long
        inner = tuple(_inside(kinds, Sequence))
        for number, one in enumerate(value) if inner else ():
            yield from _booleans(one, inner, (*at, number))


def _alternatives(kind: Any) -> Iterator[Any]:
    """The members of a union, each without what is annotated."""
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif origin in (Union, UnionType):
        for one in get_args(kind):
            yield from _alternatives(one)
    else:
        yield kind


def _inside(kinds: Iterable[Any], container: type) -> Iterator[Any]:
    """What may stand in a container: values of a mapping, members of a sequence."""
    for kind in kinds:
        origin = get_origin(kind)
        if isinstance(origin, type) and issubclass(origin, container):
            for one in get_args(kind)[1 if container is Mapping else 0 :]:
                yield from _alternatives(one)


def _types(kinds: Iterable[Any]) -> Iterator[type]:
    """All plain types in them, also in containers."""
    for kind in kinds:
        if get_origin(kind) is Literal:
            yield from map(type, get_args(kind))
        elif isinstance(kind, type) and not get_args(kind):
            yield kind
        else:
            yield from _types(one for inner in get_args(kind) for one in _alternatives(inner))
