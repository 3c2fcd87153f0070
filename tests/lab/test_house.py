"""Folders and rooms import only what the tables of docs/architecture.md allow, and the rooms' table has no circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "architecture.md").read_text()
FOLDERS = {
    "records": set[str](),
    "emulation": {"records"},
    "topologies": {"records", "emulation"},
    "stacks": {"records"},
    "experiments": {"records", "emulation", "topologies", "stacks"},
    "analysis": {"records"},
}
# Room to the rooms of its folder that it may import from.  A room is the longest of these that a module's name begins
# with; what stands in no room may not import from any.
ROOMS: dict[str, dict[str, set[str]]] = {
    "emulation": {
        "profile": set[str](),
        "plan": {"profile"},
        "kernel": {"profile"},
        "tc": {"kernel", "plan", "profile"},
        "line": {"kernel", "plan", "profile", "tc"},
        "link": {"kernel", "line", "plan", "profile", "tc"},
        "proof": {"kernel", "line", "link", "plan", "profile", "tc"},
        "labkernel": {"kernel"},
    },
    "experiments": {
        "scenario": set[str](),
        "load": {"workers"},
        "workers": set[str](),
        "deploy": set[str](),
        "trial.observers": set[str](),
        "trial.checks": {"scenario", "trial.observers"},
        "trial": {"deploy", "load", "scenario", "trial.checks", "trial.observers", "workers"},
        "campaign": {"deploy", "scenario", "trial", "trial.checks", "trial.observers", "workers"},
        "tools": {"campaign", "scenario", "trial", "trial.observers", "workers"},
        "papers": {"scenario"},
        "conformance": {"deploy", "scenario", "workers"},
    },
}


def imported(path: Path) -> Iterator[str]:
    """The names of all modules that a file imports, and of what it takes from them, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def imports_of(folder: str) -> tuple[tuple[str, str], ...]:
    """(module, what it imports) of all modules below a folder."""
    return tuple(
        (".".join(path.relative_to(ROOT).with_suffix("").parts), name)
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in imported(path)
    )


def room_of(name: str, folder: str, rooms: Iterable[str]) -> str:
    """The room of a module, or of something in one; '' for a module directly in the folder."""
    return max((room for room in rooms if f"{name}.".startswith(f"{folder}.{room}.")), key=len, default="")


def forbidden(found: Iterable[tuple[str, str]], folder: str, allowed: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """The imports between rooms of a folder that the table does not have."""
    wrong = []
    for module, name in found:
        if not name.startswith(f"{folder}."):
            continue
        mine, other = room_of(module, folder, allowed), room_of(name, folder, allowed)
        if other not in {mine, *allowed.get(mine, ())}:
            wrong.append((module, name))
    return wrong


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    found = imports_of(folder)
    assert found
    others = {*FOLDERS, "lab"} - FOLDERS[folder] - {folder}
    assert [(module, name) for module, name in found if name.split(".")[0] in others] == []


@pytest.mark.parametrize("folder", sorted(ROOMS))
def test_a_room_imports_only_what_it_may(folder: str) -> None:
    assert forbidden(imports_of(folder), folder, ROOMS[folder]) == []


@pytest.mark.parametrize("folder", sorted(ROOMS))
def test_no_room_is_imported_by_one_that_it_imports_itself(folder: str) -> None:
    TopologicalSorter(ROOMS[folder]).prepare()  # CycleError names the circle


@pytest.mark.parametrize("folder", sorted(ROOMS))
def test_every_room_is_there_and_every_module_is_in_one(folder: str) -> None:
    here = {room.replace(".", "/") for room in ROOMS[folder]}
    assert {room for room in here if not (ROOT / folder / room).is_dir()} <= {"deploy"}
    assert {path.stem for path in (ROOT / folder).glob("*.py")} <= {"__init__", "deploy"}


def test_an_arrow_back_and_a_circle_are_found() -> None:
    table = {"low": set[str](), "high": {"low"}, "high.inner": set[str]()}
    right = [("emulation.high.a", "emulation.low.b.c"), ("emulation.low.a", "emulation.low.b")]
    assert forbidden([*right, ("emulation.low.a", "os")], "emulation", table) == []
    back = [("emulation.low.b", "emulation.high.a"), ("emulation.high.a", "emulation.high.inner.c")]
    assert forbidden(back, "emulation", table) == back
    with pytest.raises(CycleError):
        TopologicalSorter({"low": {"high"}, "high": {"low"}}).prepare()


@pytest.mark.parametrize("folder", sorted(ROOMS))
def test_the_table_of_the_documents_is_this_one(folder: str) -> None:
    rows = re.findall(rf"^\| `{folder}/([\w/]+)` \|.*\| ([^|]+) \|$", MAP, re.MULTILINE)
    written = {room.replace("/", "."): set(re.findall(r"`([\w.]+)`", may.replace("/", "."))) for room, may in rows}
    assert written == ROOMS[folder]


def test_no_test_module_imports_from_another() -> None:
    """What several share is in tests/support."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert files
    assert [(path.name, name) for path in files for name in imported(path) if name.startswith("test_")] == []


def test_no_file_has_more_than_400_lines() -> None:
    files = [
        path
        for folder in (*FOLDERS, "lab", "tests", "benchmarks", "playbooks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert [path for path in files if len(path.read_text().splitlines()) > 400] == []


def test_names_of_test_files_are_unique() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name not in ("conftest.py", "__init__.py")]
    assert sorted(names) == sorted(set(names))
