"""How long a campaign's trials and its report took, kept beside them, so that later commands know what to expect.

trial-times.jsonl has a line for each run of a trial, those included that were set aside; report-time.json tells of the
last report.  They are hints: what cannot be read in them is passed over.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from records.record import Record
from records.store import write_record

TRIALS, REPORT = "trial-times.jsonl", "report-time.json"
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TrialTime(Record):
    """seconds: from the start of a trial's process to its end.  overhead_s: those beside warm-up, window and drain."""

    cell: str
    trial: int
    kernel: Literal["host", "lab"]
    seconds: _Seconds
    overhead_s: _Seconds


class ReportTime(Record):
    """seconds: to reduce the trials, draw and write.  study: whether a study's page was written as well."""

    seconds: _Seconds
    trials: Annotated[int, Field(ge=0)]
    capture_bytes: Annotated[int, Field(ge=0)]
    study: bool


def note_trial(campaign: Path, time: TrialTime) -> None:
    """Append a line, unless there is no room: it is for foretelling.  The caller holds the campaign's lock."""
    with suppress(OSError), (campaign / TRIALS).open("a") as file:
        file.write(time.model_dump_json() + "\n")


def trial_times(campaign: Path) -> list[TrialTime]:
    """What the campaign's trials took, oldest first; empty when nothing is known."""
    try:
        lines = (campaign / TRIALS).read_text(errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValidationError):  # a full disk can leave half a line
            found.append(TrialTime.model_validate_json(line))
    return found


def note_report(campaign: Path, time: ReportTime) -> None:
    """Replace what is known of the last report, at once."""
    fresh = campaign / f".{REPORT}"
    write_record(fresh, time)
    fresh.replace(campaign / REPORT)


def report_time(campaign: Path) -> ReportTime | None:
    """What the campaign's last report took; None when nothing is known."""
    try:
        return ReportTime.model_validate_json((campaign / REPORT).read_text())
    except (OSError, ValueError):
        return None
