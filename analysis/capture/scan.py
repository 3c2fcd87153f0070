"""Finding where each record of a capture starts.

A record's place is known only from the one before it.  Short stretches are walked record by record; long ones
by many chains at once, whose guessed starts are proven by the chain before.
"""

from __future__ import annotations

import numpy as np

from analysis.capture.framing import Framing, Scan, walk
from analysis.capture.lockstep import lockstep

LARGE = 2 << 20  # below this the plain walk costs less than setting chains up


def scan(data: np.ndarray, *, start: int, end: int, framing: Framing) -> Scan:
    """Offsets of every whole record between byte `start`, where one starts, and byte `end` of `data` (uint8)."""
    return (walk if end - start < LARGE else lockstep)(data, start=start, end=end, framing=framing)
