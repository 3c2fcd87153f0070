"""The line's process with a fault in it, by the word in AIRWIRE_TEST_FAULT; a link that it makes must be found out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from emulation.line import fate, medium, process
from emulation.line.medium import Lane, Medium

FAULT = "AIRWIRE_TEST_FAULT"
FROM = 20  # the number of the first packet that a fault hits


def _skip() -> None:
    """A number is left out."""
    usual = Medium._fate

    def faulty(self: Medium, lane: Lane, data: bytes) -> fate.Fate | None:
        lane.losses.seen += lane.losses.seen == FROM
        return usual(self, lane, data)

    Medium._fate = faulty  # type: ignore[method-assign]


def _bit() -> None:
    """Another bit is turned over than the fate says."""
    medium.damaged = lambda data, draw: fate.damaged(data, draw + 1)  # type: ignore[attr-defined]


def _copies() -> None:
    """One packet is copied that should not be."""
    usual = Medium.left

    def faulty(self: Medium, now: int, lane: Lane, data: bytes) -> None:
        usual(self, now, lane, data)
        if lane.losses.seen == FROM:
            self._later(now, lane, 0, data)

    Medium.left = faulty  # type: ignore[method-assign]


def _late() -> None:
    """Frames are 2 ms later than they should be."""
    usual = Medium.left
    Medium.left = lambda self, now, lane, data: usual(self, now + 2_000_000, lane, data)  # type: ignore[method-assign]


FAULTS: dict[str, Callable[[], None]] = {"skip": _skip, "bit": _bit, "copies": _copies, "late": _late}


def instead(monkeypatch: Any, fault: str) -> None:
    """Have lines that begin from here on run with a fault."""
    usual = subprocess.Popen

    def started(words: Sequence[str], **others: Any) -> Any:
        if "emulation.line.process" in words:
            words = [*words[:-2], str(Path(__file__).resolve())]
            others["env"] = others["env"] | {FAULT: fault}
        return usual(words, **others)

    monkeypatch.setattr("emulation.line.serving.subprocess.Popen", started)


if __name__ == "__main__":
    FAULTS[os.environ[FAULT]]()
    sys.exit(process.main())
