"""Which code reduces trials: a digest of all of ours that it imports, and of which versions of other libraries.

So rows that other code made, or the same code with another numpy, are told from its own.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REDUCES = ("analysis.trial", "analysis.large.parts")  # at once, and what tasks that share a trial do


def code_digest(start: str | Sequence[str] = REDUCES, root: Path = ROOT) -> str:
    """SHA-256, hexadecimal, over names and contents of the files of `imported`, as on disk, and over `libraries`."""
    digest, files = hashlib.sha256(), imported(start, root)
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    for name, number in libraries(files, root).items():
        digest.update(f"{name}\0{number}\0".encode())
    return digest.hexdigest()


def changed_since_start(start: str | Sequence[str] = REDUCES, root: Path = ROOT) -> bool:
    """Whether a file of `imported` is younger than this process, which may have an older version of it in memory."""
    began = _started_at()
    # What copies files may keep their time of modification; that of the change of a name or a mode is nobody's to set.
    return any(max(at.st_mtime, at.st_ctime) > began for at in map(os.stat, imported(start, root)))


def _started_at() -> float:
    """When this process began, as `time.time` has it (proc(5))."""
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    up_s = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - up_s + int(ticks) / os.sysconf("SC_CLK_TCK")


def libraries(files: list[Path], root: Path = ROOT) -> Mapping[str, str]:
    """The versions of what these files import that is neither of ours nor Python's, by the name that they import."""
    names = {name.partition(".")[0] for path in files for name in names_in(path, root)}
    files_in = cache(_files_in)
    others = sorted(name for name in names - sys.stdlib_module_names if not any(_files(name, root, files_in)))
    return {name: _version(name) for name in others}


def imported(start: str | Sequence[str] = REDUCES, root: Path = ROOT) -> list[Path]:
    """The files of module (or modules) `start` and of all below `root` that they import, through others too, by name.

    Imports inside functions count.  Of a package that is itself imported every module does: who takes a package as an
    object finds its modules where they lie (records.modules).
    """
    found: dict[str, Path] = {}
    left = [start] if isinstance(start, str) else list(start)
    named = set(left)  # most are imported by many modules
    files_in = cache(_files_in)  # folders are as they are now
    while left:
        for name in _files(left.pop(), root, files_in):
            if name not in found:
                path = found[name] = Path(name)
                new = set(names_in(path, root)) - named
                named |= new
                left += new
    return sorted(found.values())


def _files(name: str, root: Path, files_in: Callable[[str], frozenset[str]]) -> Iterator[str]:
    """What is run to import `name`, or to take it out of a module: nothing where it is not of ours."""
    *above, last = name.split(".")
    place = str(root)
    for package in above:
        if f"{package}.py" in files_in(place):
            yield f"{place}/{package}.py"
        place += f"/{package}"
        if "__init__.py" in files_in(place):
            yield f"{place}/__init__.py"
    package = f"{place}/{last}"
    if "__init__.py" in (inside := files_in(package)):
        yield from (f"{package}/{file}" for file in inside if file.endswith(".py"))
    elif f"{last}.py" in files_in(place):
        yield f"{package}.py"


def _files_in(folder: str) -> frozenset[str]:
    """The names of a folder's files; none where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()


def _version(name: str) -> str:
    """Of the distribution called like the module, or of all that have it: '' where nothing is installed."""
    try:
        return version(name)
    except PackageNotFoundError:  # to ask which distributions have a module takes 0.2 s
        return " ".join(version(one) for one in sorted(set(packages_distributions().get(name, ()))))


def names_in(path: Path, root: Path) -> tuple[str, ...]:
    """What a file imports, and each thing that it takes out of it, which may be a module."""
    return _names_in(path.read_bytes(), ".".join(path.relative_to(root).parent.parts))


@cache
def _names_in(content: bytes, package: str) -> tuple[str, ...]:
    """What a file of that content in `package` imports: a report asks of most modules more than once."""
    names: list[str] = []
    try:
        tree = ast.parse(content)
    except SyntaxError:  # of a module that is found where it lies, whoever imports it says so (records.modules.tried)
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            names += [f"{module}.{alias.name}" for alias in node.names]
    return tuple(names)
