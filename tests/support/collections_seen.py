"""Which garbage collections real processes have made: tests/fixtures/collections notes them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

_FIXTURE = Path(__file__).parents[1] / "fixtures" / "collections"
_VARIABLE = "AIRWIRE_COLLECTIONS"


@dataclass(frozen=True, slots=True)
class Collection:
    """words: of the process's command.  began_ns, ended_ns: CLOCK_MONOTONIC."""

    words: tuple[str, ...]
    generation: int
    began_ns: int
    ended_ns: int

    def of(self, module: str) -> bool:
        """Whether the process runs this module of ours."""
        return module in self.words


def noting(file: Path) -> dict[str, str]:
    """The environment in which Python processes note their collections in a file."""
    path = os.pathsep.join(filter(None, (str(_FIXTURE), os.environ.get("PYTHONPATH", ""))))
    return os.environ | {"PYTHONPATH": path, _VARIABLE: str(file)}


def seen(file: Path) -> list[Collection]:
    """What they have noted, in the order of their ends."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [Collection(tuple(words), *rest) for words, *rest in rows]
