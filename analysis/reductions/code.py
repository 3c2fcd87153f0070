"""Which code reduces trials: a digest of all of ours that it imports, so that another's rows are told from its."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REDUCES = "analysis.trial"


def code_digest(start: str = REDUCES, root: Path = ROOT) -> str:
    """SHA-256, hexadecimal, over names and contents of the files of `imported`, as they are on disk."""
    digest = hashlib.sha256()
    for path in imported(start, root):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def imported(start: str | Sequence[str] = REDUCES, root: Path = ROOT) -> list[Path]:
    """The files of module (or modules) `start` and of all below `root` that they import, through others too, by name.

    Imports inside functions count.  Of a package that is itself imported every module does: who takes a package as an
    object finds its modules where they lie (records.modules).
    """
    found: set[Path] = set()
    left = [start] if isinstance(start, str) else list(start)
    while left:
        for path in _files(left.pop(), root):
            if path not in found:
                found.add(path)
                left += names_in(path, root)
    return sorted(found)


def _files(name: str, root: Path) -> Iterator[Path]:
    """What is run to import `name`, or to take it out of a module: nothing where it is not of ours."""
    *above, last = name.split(".")
    place = root
    for package in above:
        place /= package
        yield from filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py")))
    if (place / last / "__init__.py").is_file():
        yield from (place / last).glob("*.py")
    elif (place / f"{last}.py").is_file():
        yield place / f"{last}.py"


def names_in(path: Path, root: Path) -> tuple[str, ...]:
    """What a file imports, and each thing that it takes out of it, which may be a module."""
    package = ".".join(path.relative_to(root).parent.parts)
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            names += [f"{module}.{alias.name}" for alias in node.names]
    return tuple(names)
