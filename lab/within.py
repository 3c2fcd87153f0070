"""`--for`: how long a command may take, and the words that go on with what it leaves."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import lab
from analysis.extent import Extent
from experiments.campaign.piece import Budget, Piece
from lab.common import DEFAULT_RESULTS, Status, fail, shown
from lab.progress import minutes

# The next command's start, trial and report may take longer than those that were seen.
_MARGIN = 1.1


def budget(duration: str | None) -> Budget | None:
    """The budget of this command; None without a duration.  A wrong one ends the command."""
    if duration is None:
        return None
    seconds = seconds_of(duration)
    if seconds is None:
        fail(f"--for: {duration!r} is not a duration above zero, such as 90s, 40m, 2h or 1h30m", Status.USAGE)
    return Budget(begun_at=lab.BEGUN_AT, lasts_s=seconds)


def seconds_of(duration: str) -> int | None:
    """Seconds of `40m`, `90s`, `1h30m`; None for anything else, a bare number and zero included."""
    found = re.fullmatch(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?", duration)
    if found is None:
        return None
    hours, whole, rest = (int(part or 0) for part in found.groups())
    return hours * 3600 + whole * 60 + rest or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """words: of a command that goes on with a campaign, without `lab` and --for.  duration: what --for was given."""

    words: tuple[str, ...]
    duration: str | None = None

    def text(self, piece: Piece | None = None) -> str:
        """As typed.  A --for in which not even the piece's next turn would end is made longer, to whole minutes."""
        duration = self.duration
        if piece is not None and piece.shortage is not None:
            wanted_s = _MARGIN * piece.shortage.wanted_s
            if wanted_s > piece.budget.lasts_s:
                duration = f"{math.ceil(wanted_s / 60)}m"
        return shlex.join(["lab", *self.words, *(["--for", duration] if duration else [])])


def resuming(
    folder: Path, *, kernel: str, medium: str = "auto", report: bool = True, extent: Extent = Extent.ALL,
    duration: str | None = None,
) -> Command:  # fmt: skip
    """The command that goes on with the campaign in `folder`."""
    reported = extent.words if report else ("--no-report",)
    words = ("resume", shown(folder), *options(kernel=kernel, medium=medium), *reported)
    return Command(words=words, duration=duration)


def options(*, kernel: str = "auto", medium: str = "auto", results: Path = DEFAULT_RESULTS) -> tuple[str, ...]:
    """What several verbs can be given, where it is not what they take by themselves."""
    return (
        *(("--kernel", kernel) if kernel != "auto" else ()),
        *(("--medium", medium) if medium != "auto" else ()),
        *(("--results", shown(results)) if results.absolute() != DEFAULT_RESULTS else ()),
    )


def why(piece: Piece, *, left: int) -> str:
    """Why a piece ended before its campaign; left: trials to run."""
    short = piece.shortage
    assert short is not None
    parts = [f"the next one ({short.planned.cell} trial {short.planned.trial}) may take {minutes(short.turn_s)}"]
    if short.closing_s:
        parts.append(f"the report {minutes(short.closing_s)}")
    of = f"{minutes(max(short.left_s, 0))} of {minutes(piece.budget.lasts_s)} are left"
    what = "the time is up" if piece.begun else "the time is too short for a trial, so none was begun"
    return f"{what}: {left} to run, {', '.join(parts)}, and {of}"
