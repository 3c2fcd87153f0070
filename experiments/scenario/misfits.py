"""What a scenario's settings do not take, as its writer would say it: the key, the value, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from experiments.scenario.settings import Settings
from records.refusals import HAS_TO_BE, in_words
from records.workload import WORKLOADS, Pattern
from records.yaml_lines import Key

_KINDS = ("bool", "int", "float", "str")


def told(error: ValidationError, plain: dict[str, Any]) -> Iterator[tuple[Key, str]]:
    """Keys and problems.  plain: the settings that were not taken."""
    for (location, is_kind), details in groupby(map(dict, error.errors()), key=_location):
        problems = [_problem(detail, plain) for detail in details]
        for problem in [_together(problems)] if is_kind else problems:
            yield (location, problem) if location else _named(problem)


def _location(detail: dict[str, Any]) -> tuple[Key, bool]:
    """Its keys, and whether one of several kinds is meant that the value there may have, which pydantic names last."""
    location = tuple(part for part in detail["loc"] if part != "[key]")
    is_kind = bool(location) and location[-1] in _KINDS
    return (location[:-1] if is_kind else location), is_kind


def _together(problems: list[str]) -> str:
    first, *others = problems
    kinds = [one.rpartition(HAS_TO_BE)[2] for one in others]
    return first + "".join(f", {kind}" for kind in kinds[:-1]) + "".join(f" or {kind}" for kind in kinds[-1:])


def _named(problem: str) -> tuple[Key, str]:
    """The key that a problem of the whole begins with, as `workload.away: ...` does, and what is said of it."""
    name, colon, rest = problem.partition(": ")
    parts = name.split(".")
    known = colon and parts[0] in Settings.model_fields and all(part.isidentifier() for part in parts)
    return (tuple(parts), rest) if known else ((), problem)


def _problem(detail: dict[str, Any], plain: dict[str, Any]) -> str:
    message = in_words(detail)
    if detail["type"] == "extra_forbidden":
        *above, key = map(str, detail["loc"])
        model, *others = _models(above, _pattern(plain), plain)
        known = sorted(model.model_fields)
        if where := next((words for one in others if key in one.model_fields and (words := _words(one))), None):
            return f"only where {where}; known are {', '.join(known)}"
        having = [one.value for one in WORKLOADS if above[:1] == ["workload"] and key in _keys(above, one, plain)]
        if having:
            who = f"{' and '.join(having)} {'has' if len(having) == 1 else 'have'}"
            return f"pattern {_pattern(plain).value} has none, {who}; known are {', '.join(known)}"
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        return f"unknown key; {hint}known are {', '.join(known)}"
    value = detail["input"]
    return message if isinstance(value, dict) or detail["type"] == "missing" else f"{value!r}: {message}"


def _pattern(plain: dict[str, Any]) -> Pattern:
    """Of the workload, where that is a mapping and names one that there is."""
    work = plain.get("workload")
    named = work.get("pattern") if isinstance(work, dict) else None
    return next((one for one in Pattern if one == named), Pattern.PUBSUB)


def _models(location: list[str], pattern: Pattern, given: Any) -> list[type[BaseModel]]:
    """The model below `location`, of a workload that of its pattern, and what else there could be.

    given: the settings, whose words choose one of several, as `shape: shared` does.
    """
    models: list[type[BaseModel]] = [Settings]
    if location[:1] == ["workload"]:
        models, location, given = [WORKLOADS[pattern]], location[1:], given.get("workload")
    for part in location:
        given = given.get(part) if isinstance(given, dict) else None
        field = models[0].model_fields.get(part)
        inner = field.annotation if field else None
        options = [inner, *getattr(inner, "__args__", ())]
        found = [kind for kind in options if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if found:
            models = sorted(found, key=lambda one: not _chosen(one, given))
    return models


def _keys(location: list[str], pattern: Pattern, given: Any) -> set[str]:
    return set(_models(location, pattern, given)[0].model_fields)


def _chosen(model: type[BaseModel], given: Any) -> bool:
    """Whether the words that are given are such as this model has."""
    words = _choices(model)
    return isinstance(given, dict) and all(given[name] in words[name] for name in words.keys() & given)


def _words(model: type[BaseModel]) -> str:
    """What chooses it, as one would write that."""
    return ", ".join(f"{name} is {' or '.join(map(str, words))}" for name, words in _choices(model).items())


def _choices(model: type[BaseModel]) -> dict[str, tuple[Any, ...]]:
    kinds = {name: field.annotation for name, field in model.model_fields.items()}
    return {name: get_args(kind) for name, kind in kinds.items() if get_origin(kind) is Literal}
