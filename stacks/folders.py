"""The folders of stacks: ours, found where they lie, and those of installed packages, found by their entry points.

The standard library suffices.  `python3 -m stacks.folders` prints where Ansible finds their roles, as
ANSIBLE_ROLES_PATH wants it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from stacks.declaration import FILE, DeclarationError, Declared, read

HERE = Path(__file__).resolve().parent
GROUP = "airwire.stacks"


@dataclass(frozen=True, slots=True)
class Found:
    """declared: ours first.  problems: what cannot be used of the rest, each in a sentence with its package."""

    declared: tuple[Declared, ...]
    problems: tuple[str, ...] = ()

    def declaring(self, stack: str) -> Declared | None:
        """The folder that has this stack."""
        return next((one for one in self.declared if stack in one.stacks), None)

    def names(self) -> tuple[str, ...]:
        """Every stack's name, sorted."""
        return tuple(sorted(name for one in self.declared for name in one.stacks))


def ours(root: Path = HERE) -> tuple[Declared, ...]:
    """The stacks of a folder, one folder each; DeclarationError where a declaration is not as it has to be."""
    found = tuple(
        read(path.parent, source=f"{root.name}/{path.parent.name}") for path in sorted(root.glob(f"*/{FILE}"))
    )
    taken, problems = _apart(found, ())
    if problems:
        raise DeclarationError(problems[0])
    return taken


@cache
def own() -> tuple[Declared, ...]:
    """Our stacks, read once."""
    return ours()


@cache
def found() -> Found:
    """Our stacks and those of installed packages; DeclarationError where one of ours is not as it has to be."""
    others: list[Declared] = []
    problems: list[str] = []
    points = {point.value: point for point in entry_points(group=GROUP)}
    for _, point in sorted(points.items()):
        try:
            others.append(_of(point))
        except DeclarationError as error:
            problems.append(f"{source_of(point)}: {error}")
    taken, twice = _apart(others, own())
    return Found((*own(), *taken), (*problems, *twice))


def source_of(point: EntryPoint) -> str:
    """How messages call a package that brings stacks."""
    return f"package {point.dist.name if point.dist else point.value}"


def role_folders() -> tuple[Path, ...]:
    """The folders of the stacks' roles, ours first."""
    return tuple(one.folder / "roles" for one in found().declared if one.roles)


def _of(point: EntryPoint) -> Declared:
    where = f"entry point {point.name!r} of group {GROUP}"
    try:
        spec = find_spec(point.value)
    except Exception as error:  # whatever a module does that is imported on the way
        raise DeclarationError(f"{where}: {point.value!r} cannot be found: {error}") from error
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    if not folders:
        raise DeclarationError(f"{where}: {point.value!r} is not a package that is installed")
    return read(Path(folders[0]), source=source_of(point), distribution=point.dist.name if point.dist else "")


def _apart(declared: Iterable[Declared], before: Iterable[Declared]) -> tuple[tuple[Declared, ...], tuple[str, ...]]:
    """Those whose stacks and roles nobody before them has, and what is wrong with the others."""
    taken: list[Declared] = []
    problems: list[str] = []
    has = {what: one.source for one in before for what in _brings(one)}
    for one in declared:
        if twice := [f"{what}, which {has[what]} has" for what in _brings(one) if what in has]:
            problems.append(f"{one.source}: {one.folder / FILE}: brings {twice[0]}; another name is needed")
            continue
        has |= dict.fromkeys(_brings(one), one.source)
        taken.append(one)
    return tuple(taken), tuple(problems)


def _brings(declared: Declared) -> Iterator[str]:
    yield from (f"stack {name!r}" for name in declared.stacks)
    yield from (f"role {name!r}" for name in declared.roles)


if __name__ == "__main__":
    print(os.pathsep.join(map(str, role_folders())))
