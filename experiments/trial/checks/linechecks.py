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

_MOST, _ALMOST_ALL = 0.99, 0.999


def line_checks(evidence: Evidence) -> dict[Check, Measured]:
    """Lateness of the line's own work."""
    return {Check.LINE_LATENESS: _lateness(evidence.line, evidence.full_frame_s)}


def line_not_applicable(evidence: Evidence) -> dict[Check, str]:
    """The check, with the reason, where there is a line and nothing of the load that it could be late with."""
    without = evidence.line is not None and not evidence.on_link
    return {Check.LINE_LATENESS: "no frame of the load crosses the line"} if without else {}


def _lateness(line: LineSeen | None, full_frame_s: float) -> Measured:
    """What almost all frames kept; but where that is less than a full frame takes on the link, what most kept.

    There a message waits for a frame before it anyway, so what the few add is inside what the link does by itself.
    """
    if line is None:
        return 0, "no line: the kernel made this link"
    if not line.reading.total:
        return None, "not recorded: the line told nothing of itself"
    few_matter = any(_kept_s(late, _ALMOST_ALL) > full_frame_s for late in (line.frames, line.reading))
    share = _ALMOST_ALL if few_matter else _MOST
    frames, reading = (_kept_s(late, share) for late in (line.frames, line.reading))
    said = (
        f"{_percent(share)} of {line.frames.total} frames left the medium within {_ms(frames)} of their moment (the "
        f"latest: {_ms(line.frames.worst_ns / 1e9)}), and were read within {_ms(reading)} for {_percent(share)} of the "
        f"time (at worst: {_ms(line.reading.worst_ns / 1e9)})"
    )
    if not few_matter:
        said += f"; {_percent(_ALMOST_ALL)} keep within the {_ms(full_frame_s)} that a full frame takes on the link"
    return max(frames, reading), said


def _kept_s(late: Lateness, share: float) -> float:
    """What such a share kept; where they are few, all but one, as a single one is no share."""
    return late.quantile_s(min(share, 1 - 1 / late.total)) if late.total else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


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
