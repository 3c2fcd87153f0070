"""What a study's figures show: published values hollow, ours filled with their intervals, on the right scales."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from analysis.plots import against, paper
from analysis.plots.against import Dot, Square, against_plot
from analysis.plots.paper import Axes, Mark, Panel, figure_plot
from analysis.statistics import estimate

OURS = estimate([9.0, 10.0, 11.0])
PAIRS = Axes(label="pairs", scale="places", places=("1", "50"))


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
    """With the colour of its edge: pale and open ones are published values."""
    return to_hex(line.get_markerfacecolor()) == to_hex(line.get_markeredgecolor())


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
    series = {"publishers": (Mark(at=0, published=12.0, ours=OURS), Mark(at=1, published=15.0, ours=None))}
    panels = [Panel(title="wireline", series=series), Panel(title="wireless", series=series)]
    drawn: Any = figure_plot(panels, PAIRS, name="f", title="F", unit="messages per second")
    assert [axes.get_title() for axes in drawn.axes] == ["wireline", "wireless"]
    for axes in drawn.axes:
        found = marks(axes)
        assert sorted((y, full) for (_, y), full in found.items()) == [(10.0, True), (12.0, False), (15.0, False)]
        assert sorted(round(x) for x, _ in found) == [0, 0, 1]
        assert [(low, high) for _, low, high in uprights(axes)] == [pytest.approx((OURS.low, OURS.high))]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "50"]


def test_a_figure_whose_values_span_much_is_logarithmic() -> None:
    series = {"publishers": (Mark(at=0, published=12.0, ours=None), Mark(at=1, published=4000.0, ours=None))}
    drawn: Any = figure_plot([Panel(title="wireline", series=series)], PAIRS, name="f", title="F", unit="")
    assert drawn.axes[0].get_yscale() == "log"
    assert set(marks(drawn.axes[0]).values()) == {False}


def drawn(marks: dict[str, tuple[Mark, ...]], axes: Axes, panels: int = 1) -> Any:
    many = [Panel(title=f"network {number}", series=marks) for number in range(panels)]
    return figure_plot(many, axes, name="f", title="F", unit="ms")


def test_how_exact_a_published_value_is_shows() -> None:
    values = (("exact", 10.0), ("about", 20.0), ("at_least", 30.0), ("at_most", 40.0))
    series = tuple(
        Mark(at=at, published=value, ours=None, exactness=exactness)  # type: ignore[arg-type]
        for at, (exactness, value) in enumerate(values)
    )
    figure = drawn({"a": series}, Axes(label="", scale="linear"))
    faces = {float(line.get_ydata()[0]): to_hex(line.get_markerfacecolor()) for line in figure.axes[0].lines
             if line.get_marker() == "s"}  # fmt: skip
    assert [value for value, face in faces.items() if face == "#ffffff"] == [20.0]
    arrows = [(one.xy[1], one.xyann[1] > 0) for one in figure.axes[0].texts if isinstance(one, Annotation)]
    assert arrows == [(30.0, True), (40.0, False)]
    assert any("open: about, ↑ at least, ↓ at most" in text.get_text() for text in figure.texts)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_numeric_axes_have_values_where_they_are_on_all_networks_alike(scale: str) -> None:
    first = tuple(Mark(at=at, published=5.0 + at, ours=None) for at in (1, 2, 32))
    axes = Axes(label="nodes", scale=scale)  # type: ignore[arg-type]
    panels = [Panel(title="a", series={"s": first}), Panel(title="b", series={"s": first[:1]})]
    figure: Any = figure_plot(panels, axes, name="f", title="F", unit="ms")
    assert [ax.get_xscale() for ax in figure.axes] == [scale, scale]
    assert {x for x, _ in marks(figure.axes[0])} == {1, 2, 32}
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
    if scale == "log":
        assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "2", "32"]


def test_a_vertical_axis_is_as_it_is_asked() -> None:
    series = {"a": (Mark(at=0, published=10.0, ours=None), Mark(at=1, published=12.0, ours=None))}
    for up, scale in (("auto", "linear"), ("log", "log"), ("linear", "linear")):
        axes = Axes(label="", scale="places", places=("x", "y"), up=up)  # type: ignore[arg-type]
        assert drawn(series, axes).axes[0].get_yscale() == scale


def test_any_number_of_series_and_networks_is_told_apart() -> None:
    series = {f"series number {number}": (Mark(at=0, published=1.0 + number, ours=OURS),) for number in range(11)}
    figure = drawn(series, Axes(label="", scale="places", places=("x",)), panels=5)
    assert len(figure.axes) == 5
    looks = {(to_hex(line.get_markeredgecolor()), line.get_marker()) for line in figure.axes[4].lines if filled(line)
             if line.get_marker() not in ("None", "", None)}  # fmt: skip
    assert len(looks) == 11
    legend = [text for text in figure.texts if "series number" in text.get_text()]
    assert len({text.get_position() for text in legend}) == 11
    assert max(text.get_position()[0] for text in legend) < 0.9
