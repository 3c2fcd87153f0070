"""The stacks there are, by name, and whether one can do what a scenario asks for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from records.messaging import Guarantee
from records.workload import Pattern
from stacks.driver import Stack

# Name to module and class: a driver is imported only when it is asked for.
_DRIVERS = {
    "activemq": ("stacks.activemq", "ActiveMQ"),
    "activemq-openwire": ("stacks.activemq_openwire", "ActiveMQOpenWire"),
    "null": ("stacks.null", "Null"),
    "reference": ("stacks.reference", "Reference"),
    "reference-peers": ("stacks.reference", "ReferencePeers"),
}


class UnknownStackError(LookupError):
    """No stack has that name."""


class StackLacksError(Exception):
    """The stack lacks a pattern or a guarantee; the message says which stacks could."""


def names() -> tuple[str, ...]:
    """Every stack's name, sorted."""
    return tuple(sorted(_DRIVERS))


def get(name: str) -> Stack:
    """A new driver of the stack `name`; UnknownStackError when there is none."""
    if name not in _DRIVERS:
        raise UnknownStackError(f"stack {name!r} is not one of {', '.join(names())}")
    module, kind = _DRIVERS[name]
    driver: Stack = getattr(import_module(module), kind)()
    return driver


def stacks() -> dict[str, Stack]:
    """A new driver of every stack, by name."""
    return {name: get(name) for name in names()}


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
