"""`lab stacks`: the stacks there are, what each offers, and what is installed of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from json import dumps
from shlex import quote

from rich.table import Table
from rich.text import Text

from lab.common import err, out, told
from records.messaging import Guarantee
from records.workload import Pattern
from stacks import folders, registry
from stacks.driver import Stack
from stacks.folders import Found
from stacks.installed import Needs, needs, python_version, version
from stacks.knobs import Knob, KnobValue, described

_SET_UP = "make setup"
_WIDE = 160  # columns in which rows need few lines
_PIP = ".venv/bin/pip install"
_NO_DEFAULT = "every scenario says it"
_RUNS_ON = {"servers": "servers", "nodes": "every station"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A stack.  source: who brings it.  about: in a line.  runs_on: where its services run, '' where it has none.

    knobs: what a scenario can set of it.  versions: of what it needs, None for what is missing.  bring: the command
    that brings what is, '' when nothing is.  problem: why it cannot be used, '' when it can.
    """

    stack: str
    source: str
    about: str = ""
    patterns: tuple[str, ...] = ()
    guarantees: tuple[str, ...] = ()
    runs_on: str = ""
    knobs: tuple[Knob, ...] = ()
    versions: dict[str, str | None] = field(default_factory=dict)
    bring: str = ""
    problem: str = ""


def stacks(*, chosen: Sequence[str] | None = None, json: bool) -> None:
    """Print the stacks, or those of these names, and what is wrong with packages that bring some."""
    with told():
        found = folders.found()
        for name in chosen or ():
            registry.declaring(name)
        rows = [row for row in listed(found) if not chosen or row.stack in chosen]
        if json:
            print(dumps({"stacks": [asdict(row) for row in rows], "problems": found.problems}, indent=1))
            return
        out.print(table(rows, width=out.width))
        if any(row.knobs for row in rows):
            out.print()
            out.print(knob_table(rows))
        for row in rows:
            if row.bring:
                lacks = ", ".join(name for name, text in row.versions.items() if text is None)
                out.print(f"{row.stack} lacks {lacks}; this brings it: {row.bring}")
        for problem in (*(row.problem for row in rows if row.problem), *found.problems):
            err.print(problem, style="red")


def listed(found: Found) -> list[Listed]:
    """Every stack, by name."""
    return [_listed(name, found) for name in found.names()]


def table(rows: Iterable[Listed], *, width: int) -> Table:
    """A row for every stack.  width: of the terminal; in a narrow one guarantees get what the others can spare."""
    wide = width >= _WIDE
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0 if wide else 1, 0))
    shown.add_column("stack", no_wrap=True)
    for heading, least in (("patterns", 14), ("guarantees", 20), ("runs on", 7), ("installed", 22)):
        most = None if wide or heading == "guarantees" else least
        shown.add_column(heading, overflow="fold", min_width=least, max_width=most)
    for row in rows:
        patterns = Text("cannot be used, see below", style="red") if row.problem else Text(", ".join(row.patterns))
        installed = Text("\n").join(
            Text(f"{name} missing", style="yellow") if text is None else Text(f"{name} {text}")
            for name, text in row.versions.items()
        )
        runs_on = "" if row.problem else row.runs_on or "clients only"
        shown.add_row(row.stack, patterns, ", ".join(row.guarantees), runs_on, installed)
    return shown


def knob_table(rows: Iterable[Listed]) -> Table:
    """A row for every knob.  A stack without any has none."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    shown.add_column("stack", no_wrap=True)
    for heading, widest in (("knob", 19), ("values", 16), ("default", 14)):
        shown.add_column(heading, overflow="fold", max_width=widest)
    shown.add_column("meaning", overflow="fold")
    for row in rows:
        for first, knob in zip((row.stack, *[""] * len(row.knobs)), row.knobs, strict=False):
            default = _NO_DEFAULT if knob.default is None else _in_yaml(knob.default)
            shown.add_row(first, *map(Text, (knob.name, knob.allowed, default, knob.meaning)))
    return shown


def _in_yaml(value: KnobValue) -> str:
    """As a scenario has it: `off` without quotes would be false."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _listed(name: str, found: Found) -> Listed:
    source = registry.declaring(name).source
    try:
        driver = registry.get(name)
    except registry.UnusableStackError as error:
        wanted = needs(name, (), found)
        return Listed(
            stack=name, source=source, versions=_versions(wanted), bring=_bring(wanted), problem=str(error)
        )  # fmt: skip
    services = driver.services()
    wanted = needs(name, (one.role for one in services), found)
    return Listed(
        stack=name,
        source=source,
        about=about(driver),
        patterns=tuple(one for one in Pattern if one in driver.patterns),
        guarantees=tuple(one for one in Guarantee if one in driver.guarantees),
        runs_on=", ".join(dict.fromkeys(_RUNS_ON[one.placement] for one in services)),
        knobs=described(registry.knobs_of(name)),
        versions=_versions(wanted),
        bring=_bring(wanted),
    )


def about(driver: Stack) -> str:
    """What a stack is: the first line of its driver's docstring, without the full stop."""
    return (inspect.getdoc(type(driver)) or "").partition("\n")[0].rstrip(".")


def _versions(wanted: Needs) -> dict[str, str | None]:
    brings = {wanted.distribution: python_version(wanted.distribution)} if wanted.distribution else {}
    distribution = {one.name: version(one) for one in wanted.debian}
    return brings | distribution | {one.name: python_version(one.name) for one in wanted.python}


def _bring(wanted: Needs) -> str:
    """The command that brings what is missing.  What other packages need of Python no lock file of ours has."""
    packages = [one.requires for one in wanted.python if python_version(one.name) is None]
    lacks_debian = any(version(one) is None for one in wanted.debian)
    commands: Sequence[str] = [_SET_UP] if lacks_debian or (packages and not wanted.distribution) else []
    if packages and wanted.distribution:
        commands = [*commands, " ".join((_PIP, *map(quote, packages)))]
    return " && ".join(commands)
