"""What a study computes or simulates instead of running it: its program is run, anew for every page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lab.common import ROOT

if TYPE_CHECKING:
    from analysis.claims.evidence import ComputedValues
    from analysis.papers.record import Record

LIMIT_S = 900.0


def computed(folder: Path, record: Record) -> ComputedValues:
    """The values of all cases that the study in `folder` computes; none where it computes none.

    ComputedError when its program fails, is not done within LIMIT_S, or prints what cannot be used.
    """
    from analysis.papers.computed import ComputedError, read_computed  # noqa: PLC0415 - it imports slowly

    if (asked := record.computed) is None:
        return {}
    path = folder / asked.program
    within = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        ended = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ComputedError(f"{path}: not done after {LIMIT_S:g} s") from error
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or ["it says nothing"]
        raise ComputedError(f"{path}: ended with status {ended.returncode}: {last[0]}")
    return read_computed(ended.stdout, asked, command=f"python {within} {{case}}")
