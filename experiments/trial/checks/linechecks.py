"""Health checks of a line, a medium of our own: whether the machine let it do everything when it was due.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from emulation.line.lateness import Lateness
from emulation.profile.direction import FULL_FRAME
from experiments.trial.checks.samples import Measured, series
from experiments.trial.observers.linesamples import SUBJECT, LineSeen
from records.verdict import Check

if TYPE_CHECKING:
    from experiments.trial.checks.health import Evidence

_SHARE = 0.999


def line_checks(evidence: Evidence) -> dict[Check, Measured]:
    """Lateness of the line's own work."""
    return {Check.LINE_LATENESS: _lateness(evidence.line)}


def _lateness(line: LineSeen | None) -> Measured:
    if line is None:
        return 0, "no line: the kernel made this link"
    if not line.reading.total:
        return None, "not recorded: the line told nothing of itself"
    frames, reading = _almost_all_s(line.frames), _almost_all_s(line.reading)
    said = (
        f"99.9 % of {line.frames.total} frames left the medium within {_ms(frames)} of their moment (the latest: "
        f"{_ms(line.frames.worst_ns / 1e9)}), and were read within {_ms(reading)} for 99.9 % of the time (at worst: "
        f"{_ms(line.reading.worst_ns / 1e9)})"
    )
    return max(frames, reading), said


def _almost_all_s(late: Lateness) -> float:
    """What all but one in a thousand kept; a single one of fewer than a thousand is no share, and is left out."""
    return late.quantile_s(min(_SHARE, 1 - 1 / late.total)) if late.total else 0.0


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def too_large(resources: pa.Table) -> tuple[int, str]:
    """How many frames came to a line that were larger than a link's, and a sentence about them, '' when none."""
    _, counts = series(resources, SUBJECT, "too_large_frames")
    if not len(counts) or not counts[-1]:
        return 0, ""
    _, sizes = series(resources, SUBJECT, "largest_bytes")
    return int(counts[-1]), (
        f"{counts[-1]:.0f} frames came to the line, and were lost, that were larger than the {FULL_FRAME} bytes of a "
        f"link's (one had at least {sizes[-1]:.0f}): turn segmentation offloads off, and set every MTU to 1500"
    )
