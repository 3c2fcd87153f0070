"""Folders import only what the table of docs/architecture.md allows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = {
    "results": set[str](),
    "emulation": {"results"},
    "topologies": {"emulation"},
    "stacks": {"results"},
    "experiments": {"results", "emulation", "topologies", "stacks"},
    "analysis": {"results"},
}


def imported(path: Path) -> Iterator[str]:
    """Top-level names of everything that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)


@pytest.mark.parametrize("folder", sorted(ALLOWED))
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    forbidden = {*ALLOWED, "lab"} - ALLOWED[folder] - {folder}
    assert [(path.name, name) for path in files for name in imported(path) if name in forbidden] == []


def test_no_file_has_more_than_400_lines() -> None:
    files = [
        path
        for folder in (*ALLOWED, "lab", "tests", "benchmarks", "playbooks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert [path for path in files if len(path.read_text().splitlines()) > 400] == []
