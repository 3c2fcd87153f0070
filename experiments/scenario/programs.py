"""What cannot be said beside a workload of programs (pattern `command`).  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from experiments.scenario.segments import topology_plan
from experiments.scenario.settings import Settings
from records.commands import RESERVED, Printed
from records.workload import Command
from records.yaml_lines import Key
from stacks.absent import NONE


def problems(settings: Settings) -> Iterator[tuple[Key, str]]:
    """The key that says what cannot be, and what is allowed; nothing for a workload of messages."""
    work = settings.workload
    if not isinstance(work, Command):
        return
    if settings.stack != NONE:
        yield ("stack",), f"{settings.stack!r}: pattern command runs programs of your own, and no stack: leave it out"
    if settings.connect != "link":
        yield ("connect",), f"{settings.connect!r}: programs connect when they run, over the link: leave it out"
    if settings.nodes:
        yield ("nodes",), "what happens to nodes is told to a stack's clients, which programs are not: leave it out"
    for name in work.metrics:
        if name in RESERVED:
            why = f"every trial has {name} by itself: choose another name"
            yield ("workload", "metrics", name), why
    try:
        plan = topology_plan(settings)
    except ValueError:
        return  # which is told elsewhere
    if not plan.of_role("server"):
        why = f"{settings.topology.kind} has no server, which programs on stations talk to: use another, such as star"
        yield ("topology",), why


def unlike(cells: Iterable[Settings]) -> Iterator[tuple[Key, str]]:
    """Metrics of one name that do not mean the same in all cells, so that they could not be compared."""
    known: dict[str, Printed] = {}
    for work in (settings.workload for settings in cells):
        for name, one in work.metrics.items() if isinstance(work, Command) else ():
            first = known.setdefault(name, one)
            if (one.unit, one.better, one.label) != (first.unit, first.better, first.label):
                at: Key = ("workload", "metrics", name)
                yield at, "unit, better and label are not those of other cells: give it two names"
