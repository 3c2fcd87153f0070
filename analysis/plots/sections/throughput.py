"""What every cell carried."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.findings import Findings
from analysis.plots.cells import cells_plot
from analysis.plots.style import Plot

TITLE = "Throughput and link use by cell"


def draw(findings: Findings) -> Iterator[Plot]:
    """A plot for each metric that any cell has."""
    names = ("delivered_per_s", "published_per_s", "air_utilisation")
    yield from (plot for name in names if (plot := cells_plot(findings, name)) is not None)
