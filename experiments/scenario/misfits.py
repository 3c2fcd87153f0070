"""What a scenario's settings do not take, as its writer would say it: the key, the value, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from experiments.scenario.settings import Settings
from records.workload import WORKLOADS, Pattern
from records.yaml_lines import Key


def told(error: ValidationError, plain: dict[str, Any]) -> Iterator[tuple[Key, str]]:
    """Keys and problems.  plain: the settings that were not taken."""
    for detail in error.errors():
        location = tuple(part for part in detail["loc"] if part != "[key]")
        problem = _problem(dict(detail), plain)
        yield (location, problem) if location else _named(problem)


def _named(problem: str) -> tuple[Key, str]:
    """The key that a problem of the whole begins with, as `workload.away: ...` does, and what is said of it."""
    name, colon, rest = problem.partition(": ")
    parts = name.split(".")
    known = colon and parts[0] in Settings.model_fields and all(part.isidentifier() for part in parts)
    return (tuple(parts), rest) if known else ((), problem)


def _problem(detail: dict[str, Any], plain: dict[str, Any]) -> str:
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "extra_forbidden":
        *above, key = map(str, detail["loc"])
        known = sorted(_keys(above, _pattern(plain), plain))
        having = [one.value for one in WORKLOADS if above[:1] == ["workload"] and key in _keys(above, one, plain)]
        if having:
            others = f"{' and '.join(having)} {'has' if len(having) == 1 else 'have'}"
            return f"pattern {_pattern(plain).value} has none, {others}; known are {', '.join(known)}"
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        return f"unknown key; {hint}known are {', '.join(known)}"
    value = detail["input"]
    return message if isinstance(value, dict) else f"{value!r}: {message}"


def _pattern(plain: dict[str, Any]) -> Pattern:
    """Of the workload, where that is a mapping and names one that there is."""
    work = plain.get("workload")
    named = work.get("pattern") if isinstance(work, dict) else None
    return next((one for one in Pattern if one == named), Pattern.PUBSUB)


def _keys(location: list[str], pattern: Pattern, given: Any) -> set[str]:
    """The keys that the model below `location` knows, of a workload those of its pattern.  given: the settings."""
    model: type[BaseModel] = Settings
    if location[:1] == ["workload"]:
        model, location, given = WORKLOADS[pattern], location[1:], given.get("workload")
    for part in location:
        given = given.get(part) if isinstance(given, dict) else None
        field = model.model_fields.get(part)
        inner = field.annotation if field else None
        options = [inner, *getattr(inner, "__args__", ())]
        found = [kind for kind in options if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not found:
            continue
        model = next((one for one in found if _chosen(one, given)), found[0])
    return set(model.model_fields)


def _chosen(model: type[BaseModel], given: Any) -> bool:
    """Whether the words that are given are such as this model has, as `shared` of a stream's shapes."""
    if not isinstance(given, dict):
        return False
    kinds = {name: field.annotation for name, field in model.model_fields.items() if name in given}
    return all(given[name] in get_args(kind) for name, kind in kinds.items() if get_origin(kind) is Literal)
