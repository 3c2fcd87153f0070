"""What a study's figures show: published values hollow, ours filled with their intervals, on the right scales."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.plots import against, paper
from analysis.plots.against import Dot, Square, against_plot
from analysis.plots.paper import Mark, Panel, figure_plot
from analysis.statistics import estimate

OURS = estimate([9.0, 10.0, 11.0])


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing itself, not its files."""

    def unfinished(figure: Figure, **_: Any) -> Figure:
        return figure

    for module in (against, paper):
        monkeypatch.setattr(module, "finish", unfinished)


def marks(axes: Any) -> dict[tuple[float, float], bool]:
    """Where marks stand, and whether they are filled."""
    return {
        (round(float(line.get_xdata()[0]), 6), round(float(line.get_ydata()[0]), 6)): filled(line)
        for line in axes.lines
        if line.get_marker() not in ("None", "", None)
    }


def filled(line: Line2D) -> bool:
    return to_hex(line.get_markerfacecolor()) != "#ffffff"


def uprights(axes: Any) -> list[tuple[float, float, float]]:
    """Vertical strokes, that is intervals: x, low, high."""
    return [
        (float(line.get_xdata()[0]), *map(float, line.get_ydata()))
        for line in axes.lines
        if line.get_linestyle() == "-" and line.get_xdata()[0] == line.get_xdata()[-1] and line.get_ydata()[0] > 0
    ]


def test_measured_against_published_is_logarithmic_both_ways() -> None:
    assert OURS is not None
    dots = (
        Dot(group="wireline", published=100.0, ours=OURS, bound=False),
        Dot(group="wireless", published=8.0, ours=OURS, bound=True),
    )
    drawn: Any = against_plot(
        [Square(title="Throughput", unit="1/s", dots=dots)], groups=("wireline", "wireless"), within=0.15, aside="no 17"
    )
    (axes,) = drawn.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert marks(axes) == {(100.0, 10.0): False, (8.0, 10.0): True}
    assert sorted(x for x, _, _ in uprights(axes)) == [8.0, 100.0]
    assert all((low, high) == pytest.approx((OURS.low, OURS.high)) for _, low, high in uprights(axes))
    assert any("shaded: within 15 %" in text.get_text() and "; no 17" in text.get_text() for text in drawn.texts)


def test_a_published_figure_has_both_values_at_each_place_and_intervals_on_ours() -> None:
    assert OURS is not None
    series = {"publishers": (Mark(published=12.0, ours=OURS), Mark(published=15.0, ours=None))}
    panels = [Panel(title="wireline", series=series), Panel(title="wireless", series=series)]
    drawn: Any = figure_plot(
        panels, name="f", title="F", across="pairs", places=["1", "50"], unit="messages per second"
    )
    assert [axes.get_title() for axes in drawn.axes] == ["wireline", "wireless"]
    for axes in drawn.axes:
        found = marks(axes)
        assert sorted((y, full) for (_, y), full in found.items()) == [(10.0, True), (12.0, False), (15.0, False)]
        assert sorted(round(x) for x, _ in found) == [0, 0, 1]
        assert [(low, high) for _, low, high in uprights(axes)] == [pytest.approx((OURS.low, OURS.high))]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "50"]


def test_a_figure_whose_values_span_much_is_logarithmic() -> None:
    series = {"publishers": (Mark(published=12.0, ours=None), Mark(published=4000.0, ours=None))}
    drawn: Any = figure_plot(
        [Panel(title="wireline", series=series)], name="f", title="F", across="", places=["1", "50"], unit=""
    )
    assert drawn.axes[0].get_yscale() == "log"
    assert set(marks(drawn.axes[0]).values()) == {False}
