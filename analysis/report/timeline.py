"""What a timeline did to the link, for the report: when each change was asked, and when it came."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.findings import CellFinding, LinkEvent, TrialFinding
from analysis.report.shown import Shown, number
from records.link import LinkCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTable:
    """The events of one trial.  rows: number, asked, in force, label.  traced: rates were set that have no row."""

    trial: int
    rows: list[tuple[int, Shown, Shown, str]]
    traced: bool


def event_table(cell: CellFinding) -> EventTable | None:
    """The events of the cell's first trial that has any."""
    return next((events_of(trial) for trial in cell.trials if trial.events), None)


def events_of(trial: TrialFinding) -> EventTable:
    """The events of one trial."""
    return EventTable(
        trial=trial.number,
        rows=[(place, *_cells(event), event.label) for place, event in enumerate(trial.events, start=1)],
        traced=any(name.startswith("rate_") for name in trial.seconds),
    )


def _cells(event: LinkEvent) -> tuple[Shown, Shown]:
    in_force = f"{event.real_s:.3f} s ({lateness(event.real_s - event.asked_s)})"
    return number(event.asked_s, f"{event.asked_s:g} s"), number(event.real_s, in_force)


def lateness(late_s: float) -> str:
    """Seconds in words, in milliseconds below a second."""
    if math.isinf(late_s):
        return "never"
    size = f"{abs(late_s):.2f} s" if abs(late_s) >= 1 else f"{abs(late_s) * 1e3:.1f} ms"
    return f"{size} {'early' if late_s < 0 else 'late'}"


def worst(checks: Sequence[LinkCheck]) -> dict[str, str]:
    """How late the latest change of all these trials was, as cells of the link's table."""
    latest = max(check.delivered for check in checks)
    return {
        "quantity": "changes of the timeline",
        "direction": "both",
        "source": "clock of the trial",
        "asked": "on time",
        "delivered": "one that was due never came" if math.isinf(latest) else f"at worst {lateness(latest)}",
        "tolerance": f"at most {lateness(max(check.high for check in checks))}",
    }
