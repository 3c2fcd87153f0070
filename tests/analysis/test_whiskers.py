"""Intervals in plots: as long as the axis, and an arrow where they go on."""

from __future__ import annotations

import math
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.plots import against, cells, paper
from analysis.plots.against import Dot, Square, against_plot
from analysis.plots.paper import Axes, Mark, Panel, figure_plot
from analysis.plots.whiskers import ends_of, reach, whisker
from analysis.statistics import Estimate
from records.campaign import Campaign, Cell

WIDE = Estimate(n=3, mean=10.0, low=0.001, high=90000.0)
NEAR = Estimate(n=3, mean=10.0, low=9.0, high=11.0)
BOUND = Estimate(n=3, mean=10.0, low=None, high=None, at_least=True)


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfinished(figure: Figure, **_: Any) -> Figure:
        return figure

    for module in (against, paper, cells):
        monkeypatch.setattr(module, "finish", unfinished)


def arrows(ax: Any) -> list[str]:
    return sorted(line.get_marker() for line in ax.lines if line.get_marker() in ("<", ">", "^", "v"))


def strokes(ax: Any) -> list[tuple[float, float]]:
    return [tuple(map(float, line.get_xdata())) for line in ax.lines if len(line.get_xdata()) == 2]


@pytest.mark.parametrize(
    ("ends", "drawn", "found"),
    [
        ((2.0, 8.0), [(2.0, 8.0)], []),
        ((0.0, 10.0), [(0.0, 10.0)], []),
        ((-3.0, 8.0), [(0.0, 8.0)], ["<"]),
        ((2.0, math.inf), [(2.0, 10.0)], [">"]),
        ((-1.0, 11.0), [(0.0, 10.0)], ["<", ">"]),
        ((12.0, 14.0), [(10.0, 10.0)], [">"]),
        ((None, None), [], []),
    ],
)
def test_a_whisker_ends_with_its_axis_and_says_so(
    ends: tuple[float | None, float | None], drawn: list[tuple[float, float]], found: list[str]
) -> None:
    ax: Any = Figure().subplots()
    ax.set_xlim(0, 10)
    whisker(ax, 1.0, ends, colour="#000000", width=2.0)
    assert strokes(ax) == drawn
    assert arrows(ax) == found


def test_upright_and_downward_axes_have_their_arrows_too() -> None:
    ax: Any = Figure().subplots()
    ax.set_ylim(10, 0)
    whisker(ax, 1.0, (-1.0, 11.0), colour="#000000", width=2.0, upright=True)
    assert arrows(ax) == ["^", "v"]


def test_a_lower_bound_has_no_upper_end_and_an_axis_does_not_follow_an_interval_everywhere() -> None:
    assert ends_of(BOUND) == (10.0, math.inf)
    assert ends_of(NEAR) == (9.0, 11.0)
    assert sorted(reach(WIDE)) == pytest.approx([10 / 3, 10.0, 30.0])
    assert sorted(reach(NEAR)) == [9.0, 10.0, 11.0]


def test_studies_plots_have_arrows_where_intervals_leave_them() -> None:
    """A figure whose values span little begins at 0, so that nothing leaves it below."""
    for found, above, logarithmic in ((WIDE, ["^"], ["^", "v"]), (NEAR, [], []), (BOUND, ["^"], [])):
        panel = Panel(title="wire", series={"s": (Mark(at=0, published=12.0, ours=found),)})
        figure: Any = figure_plot([panel], Axes(label="", scale="places", places=("1",)), name="f", title="F", unit="")
        assert arrows(figure.axes[0]) == above
        dots = (Dot(group="wire", published=10.0, ours=found, bound=False),)
        figure = against_plot([Square(title="T", unit="s", dots=dots)], groups=("wire",), within=0.1)
        assert arrows(figure.axes[0]) == logarithmic
        upwards = [one for one in figure.axes[0].texts if isinstance(one, Annotation)]
        assert len(upwards) == (found is BOUND)
        said = " ".join(text.get_text() for text in figure.texts)
        assert ("the interval goes on" in said, "↑: ours is at least" in said) == (found is WIDE, found is BOUND)


def test_the_plot_of_cells_has_an_arrow_where_an_interval_leaves_it(tmp_path: Any) -> None:
    found = []
    for name, values in (("narrow", [10.0, 10.1]), ("wide", [4.0, 20.0])):
        trials = [
            TrialFinding(name, n, n, standing=Standing.VALID, metrics={"delivered_per_s": value})
            for n, value in enumerate(values, start=1)
        ]
        found.append(CellFinding(name=name, levels={}, trials=tuple(trials)))
    campaign = Campaign(
        scenario="s", digest="d" * 64, created="", seed=1, factors={}, baseline=None, order=(),
        cells=tuple(Cell(name=one.name, levels={}, settings={}) for one in found),
    )  # fmt: skip
    drawn: Any = cells.cells_plot(Findings(campaign=campaign, folder=tmp_path, cells=tuple(found)), "delivered_per_s")
    assert arrows(drawn.axes[0]) == [">"]
