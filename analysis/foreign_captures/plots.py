"""Plots of one capture file: throughput, round trips and retransmissions."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

from analysis.foreign_captures.model import CaptureFile, Points
from analysis.plots.style import COLOURS, HAIR, INK, MUTED, Plot, canvas, finish, heading, ticks
from analysis.units import scale

_MOST_FILLED = 20_000  # bins that are drawn with the empty ones between them
_SHORTEST = 0.2  # a last bin shorter than this share of the others says too little to be drawn
_FEWEST_SAMPLES = 20  # a distribution of fewer is none
_NAME_FITS = 70  # characters of 8 points
_AXES_IN, _ABOVE_IN, _BELOW_IN, _NAME_IN = 2.2, 0.52, 0.5, 0.17


def file_plots(file: CaptureFile, *, name: str) -> list[Plot]:
    """The plots of a file; those without data are left out.  name: begins the names of their files."""
    made = [_throughput(file, name), _round_trips(file, name), _retransmissions(file, name)]
    return [plot for plot in made if plot is not None]


def rates(file: CaptureFile, points: Points) -> Points:
    """Counts per bin as rates per second: (middle of the bin in seconds, rate), empty bins between them as 0."""
    assert file.span is not None
    width, length = file.span.width_s, file.span.seconds
    counts = {round(t / width): value for t, value in points}
    last = math.floor(length / width)
    filled = range(last + 1) if last < _MOST_FILLED else sorted(counts)
    found = []
    for number in filled:
        start = number * width
        wide = min(width, length - start)
        if wide >= _SHORTEST * width:
            found.append((start + wide / 2, counts.get(number, 0.0) / wide))
    return found or [(0.0, sum(counts.values()) / width)]


def _axes(title: str, note: str, names: dict[str, str]) -> tuple[Any, Any]:
    """A figure with one plot, and under it what the colours mean (colour by name)."""
    height = _ABOVE_IN + _AXES_IN + _BELOW_IN + _NAME_IN * len(names)
    figure, (ax,) = canvas(
        height_in=height, left=0.12, right=0.97, top=1 - _ABOVE_IN / height,
        bottom=(_BELOW_IN + _NAME_IN * len(names)) / height,
    )  # fmt: skip
    ax.grid(axis="y", color=HAIR, linewidth=0.6)
    ax.set_axisbelow(True)
    heading(figure, title, note)
    for row, (name, colour) in enumerate(names.items()):
        place = (_NAME_IN * (len(names) - row) - 0.06) / height
        figure.text(0.125, place, "■", color=colour, fontsize=8, va="center")
        figure.text(0.155, place, name, color=INK, fontsize=min(8.0, 8.0 * _NAME_FITS / len(name)), va="center")
    return figure, ax


def _colours(file: CaptureFile) -> dict[str, str]:
    """Key of each flow that is drawn to its colour, the same in every plot; "" is all flows."""
    drawn = file.drawn
    return {"": INK} | dict(zip(drawn if len(drawn) > 1 else [], COLOURS, strict=False))


def _legend(colours: dict[str, str]) -> dict[str, str]:
    return {key or "all flows": colour for key, colour in colours.items()}


def _time_axis(ax: Any, file: CaptureFile) -> None:
    assert file.span is not None
    high = max(file.span.seconds, file.span.width_s)
    ax.set_xlim(0, high)
    ticks(ax.xaxis, 0, high)
    ax.set_xlabel("seconds after the first TCP packet", fontsize=8.5)


def _width_text(file: CaptureFile) -> str:
    assert file.span is not None
    width = file.span.width_s
    return "per second" if width == 1 else f"in bins of {width:g} s"


def _throughput(file: CaptureFile, name: str) -> Plot | None:
    if file.span is None or not file.span.seconds or ("", "wire_bytes") not in file.seconds:
        return None
    colours = _colours(file)
    title = "Throughput over time"
    note = f"bytes on the wire, {_width_text(file)}; all flows, and the largest"
    figure, ax = _axes(title, note, _legend(colours))
    lines = {key: rates(file, file.seconds[key, "wire_bytes"]) for key in colours}
    peak = max(value for line in lines.values() for _, value in line) * 8 or 1.0
    factor, unit = scale("bit/s", peak)
    for key, line in reversed(lines.items()):
        x, y = zip(*line, strict=True)
        ax.plot(x, [8 * value / factor for value in y], color=colours[key], alpha=0.9,
                linewidth=1.1 if key else 1.4, marker="." if len(x) < 3 else None)  # fmt: skip
    ax.set_ylim(0, peak / factor * 1.08)
    ticks(ax.yaxis, 0, peak / factor * 1.08)
    ax.set_ylabel(unit, fontsize=8.5)
    _time_axis(ax, file)
    return finish(figure, name=f"{name}-throughput", title=title, about=f"Throughput of {file.name}, {unit}")


def _round_trips(file: CaptureFile, name: str) -> Plot | None:
    enough = {
        key: colour
        for key, colour in _colours(file).items()
        if sum(count for _, count in file.rtt.get(key, [])) >= (_FEWEST_SAMPLES if key else 1)
    }
    if not enough:
        return None
    title = "Round-trip times"
    note = "share of the samples that took at most so long; packets sent once only (Karn)"
    figure, ax = _axes(title, note, _legend(enough))
    low = min(file.rtt[key][0][0] for key in enough) / 2
    high = max(file.rtt[key][-1][0] for key in enough) * 2
    factor, unit = (1e-6, "µs") if high < 1e-3 else (1e-3, "ms") if low < 1 else (1.0, "s")
    for key, colour in reversed(enough.items()):
        points = file.rtt[key]
        total = sum(count for _, count in points)
        shares = [reached / total for reached in accumulate(count for _, count in points)]
        x = [t / factor for t in (points[0][0], *(t for t, _ in points))]
        ax.plot(x, [0.0, *shares], drawstyle="steps-post", color=colour, linewidth=1.1 if key else 1.4, alpha=0.9)
    ax.set_xscale("log")
    ax.set_xlim(low / factor, high / factor)
    ticks(ax.xaxis, low / factor, high / factor, log=True)
    ax.set_ylim(0, 1.03)
    ticks(ax.yaxis, 0, 1, percent=True, parts=4)
    ax.set_xlabel(f"round-trip time, {unit} (logarithmic)", fontsize=8.5)
    return finish(figure, name=f"{name}-rtt", title=title, about=f"Distribution of round-trip times of {file.name}")


def _retransmissions(file: CaptureFile, name: str) -> Plot | None:
    if file.span is None or not file.span.seconds or ("", "retr_or_ooo") not in file.seconds:
        return None
    title = "Retransmitted or overtaken packets over time"
    figure, ax = _axes(title, f"packets with payload, all flows, {_width_text(file)}", {})
    line = rates(file, file.seconds["", "retr_or_ooo"])
    peak = max(value for _, value in line)
    x, y = zip(*line, strict=True)
    ax.fill_between(x, y, step="mid", color=COLOURS[1], alpha=0.25, linewidth=0)
    ax.plot(x, y, drawstyle="steps-mid", color=COLOURS[1], linewidth=1.1)
    if not peak:
        ax.text(0.5, 0.5, "none", transform=ax.transAxes, ha="center", color=MUTED)
    top = peak * 1.1 or 1.0
    ax.set_ylim(0, top)
    ticks(ax.yaxis, 0, top)
    ax.set_ylabel("packets per second", fontsize=8.5)
    _time_axis(ax, file)
    return finish(figure, name=f"{name}-retransmissions", title=title, about=f"{title}, {file.name}")
