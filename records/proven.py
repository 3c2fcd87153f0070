"""Later states of links that a campaign's trials have proven, kept beside them, so that each is proven once.

proven-states.jsonl has a line for each.  A line that cannot be read is passed over, and its state is proven again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from records.link import LinkCheck
from records.record import Record

FILE = "proven-states.jsonl"


class ProvenState(Record):
    """kernel: its release and kind, the medium where that is not tc, processor and code.  profile, state: digests.

    change: what leads there.  trial: cell/trial.
    """

    kernel: str
    profile: str
    state: str
    change: str
    trial: str
    checks: tuple[LinkCheck, ...]


def note_proven(campaign: Path, proven: Sequence[ProvenState]) -> None:
    """Append lines, in one piece: trials side by side do so at the same time.  A full disk leaves them out."""
    lines = "".join(one.model_dump_json() + "\n" for one in proven)
    with suppress(OSError):
        number = os.open(campaign / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(number, lines.encode())
        finally:
            os.close(number)


def proven_states(campaign: Path) -> list[ProvenState]:
    """What has been proven so far, oldest first; empty when nothing is known."""
    try:
        lines = (campaign / FILE).read_text(errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValidationError):
            found.append(ProvenState.model_validate_json(line))
    return found
