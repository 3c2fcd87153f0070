"""The table of a trial's programs: what ran on each station, how it ended, and what it printed."""

from __future__ import annotations

import shlex
from typing import Any

from analysis.findings import CellFinding
from analysis.metrics import METRICS
from analysis.report.shown import amount, number
from analysis.worded import metrics_for
from records.commands import DURATION
from records.manifest import Manifest


def program_rows(cell: CellFinding, manifest: Manifest | None) -> dict[str, Any] | None:
    """Headings of the declared metrics and a row for each station; None where the load was messages."""
    if manifest is None or not manifest.programs:
        return None
    known = metrics_for([cell])
    return {
        "metrics": [known[name].label for name in cell.declared],
        "rows": [
            {
                "station": run.station,
                "command": shlex.join(run.command),
                "status": number(run.status),
                "duration": amount(METRICS[DURATION], run.duration_s),
                "metrics": [amount(known[name], run.metrics.get(name)) for name in cell.declared],
                "problem": run.problem,
            }
            for run in manifest.programs
        ],
    }
