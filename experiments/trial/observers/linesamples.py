"""What the line's process tells of itself, with all its links, once a second, and all of it together."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulation.line.lateness import Lateness
from emulation.line.request import Late

if TYPE_CHECKING:
    from emulation.line.serving import LineProcess

Row = tuple[int, str, str, float]
SUBJECT = "line"
_EVERY = 4  # samples: an answer takes the line 0.1 ms, in which no frame moves


@dataclass(frozen=True, slots=True)
class LineSeen:
    """How late a line was from just before go to the drain's end.

    frames: with giving frames out.  reading: with reading what came, at even moments, so that a share of these is a
    share of the time: on a busy link frames are so many that they would hide a stall.
    """

    frames: Lateness
    reading: Lateness


class LineSamples:
    """rows: of records.schema.RESOURCES.  seen: None where there is no line.  All methods raise what the line does."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.seen: LineSeen | None = None
        self._calls = 0

    def begin(self, line: LineProcess) -> None:
        """Have the line forget what was before."""
        if (late := line.late()) is not None:
            self.seen = LineSeen(Lateness.of(), Lateness.of())
            self._count(late)

    def take(self, line: LineProcess) -> None:
        """Ask the line, at every fourth call."""
        self._calls += 1
        if self._calls % _EVERY == 0:
            self._ask(line)

    def end(self, line: LineProcess) -> None:
        """Ask for what has not been told yet."""
        self._ask(line)

    def _ask(self, line: LineProcess) -> None:
        if self.seen is None or (late := line.late()) is None:
            return
        frames, reading = late.frames, late.reading
        self.seen = LineSeen(self.seen.frames + frames, self.seen.reading + reading)
        both, now = frames + reading, time.monotonic_ns()
        self.rows += [
            (now, SUBJECT, "lateness_p50_s", both.quantile_s(0.5)),
            (now, SUBJECT, "lateness_p99_s", both.quantile_s(0.99)),
            (now, SUBJECT, "lateness_max_s", both.worst_ns / 1e9),
            # Frames alone: on a slow link they are few beside the even moments of reading.
            (now, SUBJECT, "release_p50_s", frames.quantile_s(0.5)),
            (now, SUBJECT, "release_p99_s", frames.quantile_s(0.99)),
            (now, SUBJECT, "release_max_s", frames.worst_ns / 1e9),
        ]
        self._count(late)

    def _count(self, late: Late) -> None:
        assert self.seen is not None
        now = time.monotonic_ns()
        self.rows += [
            (now, SUBJECT, "released_frames", self.seen.frames.total),
            (now, SUBJECT, "refused_frames", late.refused),
            (now, SUBJECT, "too_large_frames", late.too_large),
            (now, SUBJECT, "largest_bytes", late.largest),
        ]
