"""One style for all plots: size, colours, axes.  Ticks are few and chosen here, which also keeps drawing cheap."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

# Okabe and Ito's palette, told apart by colour-blind readers; its yellow is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, MUTED, HAIR, SHADE = "#1f2933", "#5f6b76", "#d5dae0", "#f0f3f6"
WIDTH_IN, PNG_DPI = 5.0, 144
PNG_EFFORT = {"compress_level": 3}  # of zlib: 0.6 of the time of the usual 6, for files that are 5 % larger
TITLE_CHARACTERS = 54  # of bold text of 10 points in the width
_NOTE_CHARACTERS = 78  # of text of 8 points
LOG_SPAN = 20.0  # a quantity that spans more than this is drawn on a logarithmic axis
mpl.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
        "font.size": 9.0,
        "svg.fonttype": "none",  # text stays text: small files, selectable, searchable
        "svg.hashsalt": "airwire",  # the same data gives the same file
        "axes.unicode_minus": True,
        "text.color": INK,
        "text.parse_math": False,  # a dollar in a name is a dollar
        "path.simplify": True,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A finished plot.  name: file name without its ending.  about: what it shows, for who cannot see it."""

    name: str
    title: str
    about: str
    svg: bytes
    png: bytes


def canvas(*, height_in: float, left: float = 0.13, right: float = 0.97, top: float = 0.86, bottom: float = 0.17,
           rows: Sequence[float] = (1.0,)) -> tuple[Figure, list[Any]]:  # fmt: skip
    """A figure with axes under each other; rows: their relative heights."""
    figure = Figure(figsize=(WIDTH_IN, height_in))
    grid = {"left": left, "right": right, "top": top, "bottom": bottom, "hspace": 0.18, "height_ratios": list(rows)}
    axes = figure.subplots(len(rows), 1, squeeze=False, gridspec_kw=grid, sharex=len(rows) > 1)[:, 0].tolist()
    for ax in axes:
        frame(ax)
    return figure, axes


def frame(ax: Any) -> None:
    """Axes as all plots have them: lines left and below only, in a muted colour."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.tick_params(colors=MUTED, labelcolor=INK, length=3)


def heading(figure: Figure, title: str, note: str = "") -> None:
    """Title, in two lines when one does not hold it, and under it a muted line that says what is drawn.

    Where that takes more than one line, the axes give way.
    """
    lines = textwrap.wrap(title, TITLE_CHARACTERS) or [""]
    size = 10.0 if len(lines) == 1 else 8.5
    height = figure.get_figheight() * 72
    place = 0.985
    for line in lines:
        figure.text(0.02, place, line, ha="left", va="top", fontsize=size, fontweight="bold")
        place -= size * 1.4 / height
    told = textwrap.wrap(note, _NOTE_CHARACTERS) or [""]
    figure.text(0.02, place, "\n".join(told), ha="left", va="top", fontsize=8, color=MUTED)
    lower = (len(told) - 1) * 8 * 1.4 / height
    for ax in figure.axes:
        box = ax.get_position()
        ax.set_position((box.x0, box.y0, box.width, box.height - lower))


def ticks(axis: Any, low: float, high: float, *, log: bool = False, percent: bool = False, parts: int = 5) -> None:
    """At most six labelled ticks between low and high, none unlabelled."""
    values = log_ticks(low, high) if log else linear_ticks(low, high, parts)
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    shown = [value * 100 for value in values] if percent else values
    axis.set_major_formatter(FixedFormatter([tick_text(value) + (" %" if percent else "") for value in shown]))


def linear_ticks(low: float, high: float, parts: int = 5) -> list[float]:
    """Round values that cut low..high into at most that many parts."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / parts))
    step = next(power * m for m in (1, 2, 5, 10, 20) if span / (power * m) <= parts)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between low and high (both above 0), with 2 and 5 between them when there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps: tuple[float, ...] = (1, 2, 5) if math.log10(high / low) < 2 else (1,)
    every = max(1, math.ceil((last - first) / 6))
    values = [m * 10.0**power for power in range(first, last + 1, every) for m in steps]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


def tick_text(value: float) -> str:
    """A tick's label: thousands as k, millions as M."""
    for factor, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= factor * (10 if letter == "k" else 1):
            return f"{value / factor:g}{letter}"
    return f"{value:g}".replace("-", "−")


def limits(values: Sequence[float]) -> tuple[float, float, bool]:
    """Ends of an axis that holds the values, and whether it is logarithmic; a linear one starts at 0."""
    positive = [value for value in values if value > 0]
    if len(positive) == len(values) and positive and max(positive) / min(positive) > LOG_SPAN:
        return 10 ** math.floor(math.log10(min(positive))), max(positive) * 2.2, True
    return 0.0, (max(values, default=0.0) or 1.0) * 1.18, False


def finish(figure: Figure, *, name: str, title: str, about: str) -> Plot:
    """Draw the figure twice, without dates or random names in the files."""
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=PNG_DPI, pil_kwargs=PNG_EFFORT)
    return Plot(name=name, title=title, about=about, svg=svg.getvalue(), png=png.getvalue())
