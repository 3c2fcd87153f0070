"""Which processes did a piece of work that may be done side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def by_whom(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, notes: Path) -> Callable[[], list[int]]:
    """Note in a file which process has called `name` of `owner` to its end; what is returned reads the file."""
    work = getattr(owner, name)

    def noted(*args: Any, **named: Any) -> Any:
        found = work(*args, **named)
        with notes.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return found

    monkeypatch.setattr(owner, name, noted)
    notes.touch()
    return lambda: [int(line) for line in notes.read_text().split()]
