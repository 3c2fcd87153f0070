"""What pydantic refuses is told in the words of those who write YAML: no word of Python's."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from emulation.profile.lossmodel import LossModel
from records.refusals import in_words


class Word(StrEnum):
    ONE = "one"
    TWO = "two"


class Inner(BaseModel):
    given: int

    @field_validator("given")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("odd numbers do not fit")
        return value


CASES: list[tuple[Any, object, str]] = [
    (Word, "three", "has to be 'one' or 'two'"),
    (Literal[Word.ONE], "two", "has to be 'one'"),
    (Literal[Word.ONE, "3"], "two", "has to be 'one' or '3'"),
    (int, "large", "has to be an integer"),
    (int, 1.5, "has to be an integer"),
    (float, [], "has to be a number"),
    (Annotated[float, Field(allow_inf_nan=False)], float("inf"), "has to be a finite number"),
    (bool, "perhaps", "has to be true or false"),
    (str, 3, "has to be text (in quotes)"),
    (Annotated[int, Field(ge=1)], 0, "has to be 1 or more"),
    (Annotated[float, Field(le=8)], 9, "has to be 8 or less"),
    (Annotated[float, Field(gt=0)], 0, "has to be more than 0"),
    (Annotated[float, Field(lt=1e6)], 1e6, "has to be less than 1000000"),
    (Annotated[str, Field(min_length=10)], "short", "has to be 10 characters or more"),
    (Annotated[str, Field(max_length=3)], "long", "has to be 3 characters or less"),
    (Annotated[str, Field(pattern="^[a-z]$")], "A", "has to be of the form ^[a-z]$"),
    (dict[str, int], 3, "has to be a mapping of keys"),
    (Inner, 3, "has to be a mapping of keys"),
    (tuple[int, ...], 3, "has to be a list"),
    (Inner, {}, "is missing"),
    (Inner, {"given": 3}, "odd numbers do not fit"),
    (LossModel, {"model": "each"}, "'each' is not one of 'bernoulli', 'gilbert-elliott', 'recorded'"),
]


@pytest.mark.parametrize(("kind", "value", "said"), CASES, ids=[said for *_, said in CASES])
def test_what_is_allowed_is_told(kind: Any, value: object, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    (detail,) = caught.value.errors()
    assert in_words(dict(detail)) == said
