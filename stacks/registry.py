"""The stacks there are, by name, and whether one can do what a scenario asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import get_args

from records.errors import CannotGoOn
from records.messaging import Guarantee
from records.workload import Pattern
from stacks import folders
from stacks.declaration import Declared
from stacks.driver import Placement, Service, Stack
from stacks.installed import python_version
from stacks.knobs import Knobs, KnobsError, KnobValue, parse

_METHODS = ("services", "why_not", "connect")


class UnknownStackError(CannotGoOn, LookupError):
    """No stack has that name."""


class UnusableStackError(UnknownStackError):
    """The stack's driver cannot be imported, or is none; the message names who brings it."""


class StackLacksError(Exception):
    """The stack lacks a pattern or a guarantee; the message says which stacks could."""


def names() -> tuple[str, ...]:
    """Every stack's name, sorted."""
    return folders.found().names()


def declaring(name: str) -> Declared:
    """The folder that has the stack `name`; UnknownStackError when there is none."""
    # Looking for other packages takes longer than all else here, and every client process asks.
    own = folders.Found(folders.own()).declaring(name)
    if declared := own or folders.found().declaring(name):
        return declared
    unread = "".join(f"; {problem}" for problem in folders.found().problems)
    raise UnknownStackError(f"stack {name!r} is not one of {', '.join(names())}{unread}")


def get(name: str, knobs: Mapping[str, KnobValue] | None = None) -> Stack:
    """A new driver of the stack `name`; UnknownStackError when there is none, UnusableStackError when it does not work.

    A driver is imported only when it is asked for.  knobs: what is set of it, else as it usually is; KnobsError where
    that cannot be.
    """
    declared = declaring(name)
    module, _, kind = declared.stacks[name].partition(":")
    who = f"stack {name!r} of {declared.source} cannot be used: {declared.stacks[name]}"
    try:
        make = getattr(import_module(module), kind)
        set_to = parse(name, getattr(make, "KNOBS", None), knobs or {})
        driver: Stack = make() if set_to is None else make(set_to)
        why = _nonsense(driver, name) or _no_service(driver)
    except KnobsError:
        raise
    except (Exception, SystemExit) as error:  # somebody else's module may do anything
        absent = [one.requires for one in declared.python if python_version(one.name) is None]
        why = f"it needs {' and '.join(absent)}; `lab stacks` says what brings it" if absent else ""
        raise UnusableStackError(f"{who}: {why or f'{type(error).__name__}: {error}'}") from error
    if why:
        raise UnusableStackError(f"{who}: {why}")
    return driver


def knobs_of(name: str) -> type[Knobs] | None:
    """What can be set of a stack, None when nothing; errors as of `get`."""
    kind: type[Knobs] | None = getattr(get(name), "KNOBS", None)
    return kind


def stacks() -> dict[str, Stack]:
    """A new driver of every stack that can be used, by name."""
    found = {}
    for name in names():
        with suppress(UnusableStackError):
            found[name] = get(name)
    return found


def require(
    stack: Stack,
    *,
    patterns: Iterable[Pattern] = (),
    guarantees: Iterable[Guarantee] = (),
    others: Iterable[Stack] | None = None,
) -> None:
    """StackLacksError when `stack` lacks any of these.

    others: where to look for one that could, default all.
    """
    wanted_patterns, wanted_guarantees = frozenset(patterns), frozenset(guarantees)
    missing = sorted(wanted_patterns - stack.patterns) + sorted(wanted_guarantees - stack.guarantees)
    if not missing:
        return
    known = stacks().values() if others is None else others
    able = sorted(
        other.name for other in known if wanted_patterns <= other.patterns and wanted_guarantees <= other.guarantees
    )
    raise StackLacksError(
        f"stack {stack.name!r} does not offer {', '.join(missing)}; "
        f"stacks that offer all that is asked: {', '.join(able) or 'none'}"
    )


def _nonsense(driver: object, name: str) -> str:
    """What a driver declares that cannot be, '' when all is well."""
    if (said := getattr(driver, "name", None)) != name:
        return f"its name is {said!r}"
    for key, kind in (("patterns", Pattern), ("guarantees", Guarantee)):
        value = getattr(driver, key, None)
        if not isinstance(value, frozenset) or not all(isinstance(one, kind) for one in value):
            return f"{key} is {value!r}, and has to be a frozenset of {kind.__name__}"
    if not isinstance(in_client := getattr(driver, "in_client", None), bool):
        return f"in_client is {in_client!r}, and has to be True or False"
    if lacks := [method for method in _METHODS if not callable(getattr(driver, method, None))]:
        return f"it has no {' and no '.join(lacks)} (stacks.driver.Stack)"
    return ""


def _no_service(driver: Stack) -> str:
    """What its services() gives that is none, '' when all is well."""
    for one in driver.services():
        if not isinstance(one, Service):
            return f"services() has {one!r}, and each has to be a Service of stacks.driver"
        if one.placement not in get_args(Placement):
            return f"service {one.name!r} has placement {one.placement!r}, not one of {', '.join(get_args(Placement))}"
    return ""
