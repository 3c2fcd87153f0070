"""What every link profile delivers of what it asks, on every kernel: the rows of a calibration, and their file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from records import spreadsheet
from records.link import LinkCheck
from records.record import Record

COLUMNS = (
    "profile", "kernel", "medium", "stations", "direction", "quantity",
    "asked", "delivered", "low", "high", "holds", "tries", "detail",
)  # fmt: skip


class Calibrated(Record):
    """A profile on one kernel (`host` or `lab`), its link made by one medium (`tc` or `line`).

    stations: names of the groups of equal stations that were probed, in the order of `checks`.  tries: how often it
    was probed; only a profile that did not hold is probed again, because a stall of the machine spoils times.
    stall_s: worst lateness of a 10 ms sleeper meanwhile.  refused: why there are no checks, '' when there are.
    """

    profile: str
    kernel: str
    medium: str = "tc"
    stations: tuple[str, ...] = ()
    checks: tuple[tuple[LinkCheck, ...], ...] = ()
    tries: int = 0
    stall_s: float = 0.0
    seconds: float = 0.0
    refused: str = ""
    failed: bool = False

    @property
    def by(self) -> str:
        """What emulated the link, as one word: host, line or lab."""
        return "line" if self.medium == "line" else self.kernel

    @property
    def outside(self) -> tuple[LinkCheck, ...]:
        """The checks that do not hold."""
        return tuple(check for group in self.checks for check in group if not check.holds)

    def rows(self) -> list[dict[str, Any]]:
        """A mapping of COLUMNS for each check; one that only says why, where there is none."""
        same = {"profile": self.profile, "kernel": self.kernel, "medium": self.medium, "tries": self.tries}
        if self.refused:
            return [dict.fromkeys(COLUMNS, "") | same | {"detail": self.refused}]
        return [
            same | {"stations": stations} | check.model_dump(exclude={"source", "state"}) | {"holds": check.holds}
            for stations, checks in zip(self.stations, self.checks, strict=True)
            for check in checks
        ]


def write_csv(path: Path, found: Sequence[Calibrated]) -> None:
    """One line for each check of each profile and place; rates in bit/s, times in seconds, shares from 0 to 1."""
    spreadsheet.write_csv(path, COLUMNS, ([row[name] for name in COLUMNS] for one in found for row in one.rows()))
