"""Every plot of a report is a file of its own."""

from __future__ import annotations

import pytest

from analysis.plots.section import Section
from analysis.plots.style import Plot
from analysis.report.view import Plots


def plot(name: str) -> Plot:
    return Plot(name=name, title="", about="", svg=b"", png=b"")


def plots(*, section: Plot, latency: dict[str, Plot]) -> Plots:
    sections = (Section(title="Throughput", plots=(section,)),)
    return Plots(answer=None, sections=sections, journey=(), latency=latency, overtime={}, bars={})


def test_a_plot_that_several_cells_share_is_there_once() -> None:
    shared = plot("latency-01")
    assert plots(section=plot("cells"), latency={"a": shared, "b": shared}).all == (plot("cells"), shared)


def test_a_sections_plot_does_not_overwrite_another_one() -> None:
    with pytest.raises(ValueError, match=r"two plots of the report are called 'latency-01'"):
        _ = plots(section=plot("latency-01"), latency={"a": plot("latency-01")}).all
