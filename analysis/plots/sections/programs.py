"""What the programs of every cell printed, and how long they took."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.findings import Findings
from analysis.plots.cells import cells_plot
from analysis.plots.style import Plot
from analysis.worded import chosen, is_programs

TITLE = "Programs by cell"


def draw(findings: Findings) -> Iterator[Plot]:
    """A plot for each metric that any cell has; none where every load is messages."""
    names = chosen((), (cell for cell in findings.cells if is_programs(cell)))
    yield from (plot for name in names if (plot := cells_plot(findings, name)) is not None)
