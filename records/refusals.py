"""What pydantic refuses, in the words of those who write YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HAS_TO_BE = "has to be "
_MEMBER = re.compile(r"<\w+\.\w+: ([^<>]*)>")  # of an Enum, as a Literal names it
_KINDS = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "an integer"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping of keys"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "finite_number": "a finite number",
    "string_type": "text (in quotes)",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "string_too_short": "{min_length} characters or more",
    "string_too_long": "{max_length} characters or less",
    "string_pattern_mismatch": "of the form {pattern}",
    **dict.fromkeys(("literal_error", "enum"), "{expected}"),
}


def in_words(detail: Mapping[str, Any]) -> str:
    """What one of pydantic's errors says, without the value: what is allowed; of an error of ours, its own words."""
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "union_tag_invalid":
        return "{tag!r} is not one of {expected_tags}".format(**detail["ctx"])
    kind = _KINDS.get(detail["type"])
    if kind is None:
        return str(detail["msg"]).removeprefix("Value error, ")
    allowed = {key: _written(value) for key, value in detail.get("ctx", {}).items()}
    return f"{HAS_TO_BE}{kind.format(**allowed)}"


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.15g}"
    return _MEMBER.sub(r"\1", str(value))
