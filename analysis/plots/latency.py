"""The distribution of latency: one plot per group of cells, one line per trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from analysis.compare import level_of
from analysis.details import Points
from analysis.findings import CellFinding, Findings, TrialFinding
from analysis.plots.cells import colours, groups
from analysis.plots.lines import drawn_of, said_of
from analysis.plots.style import HAIR, Plot, canvas, finish, heading, limits, ticks
from analysis.worded import is_programs, words_for

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


class _Line(NamedTuple):
    """One trial's; its ecdf is read once, as it may come from a file."""

    cell: CellFinding
    trial: TrialFinding
    ecdf: Points


def latency_plots(findings: Findings) -> dict[str, Plot]:
    """Cell name to the plot that shows its latency (cells of one group share a plot)."""
    colour, level = colours(findings), {cell.name: level_of(findings, cell) for cell in findings.cells}
    found: dict[str, Plot] = {}
    for number, (title, cells) in enumerate(groups(findings), start=1):
        timed = [cell for cell in cells if not is_programs(cell)]  # of programs no file need be read to know
        lines = [_Line(cell, trial, trial.ecdf) for cell in timed for trial in drawn_of(cell.valid, _has_ecdf)]
        if lines:
            plot = _plot(title, cells, lines, colour, level, name=f"latency-{number:02d}")
            found |= {cell.name: plot for cell in cells}
    return found


def _has_ecdf(trial: TrialFinding) -> bool:
    return bool(trial.ecdf)


def _plot(
    title: str, cells: Sequence[CellFinding], lines: Sequence[_Line], colour: dict[str, str], level: dict[str, str], *,
    name: str,
) -> Plot:  # fmt: skip
    """colour, level: of each cell, by its name."""
    words = words_for(cells)
    figure, (ax,) = canvas(height_in=3.2, top=0.83, left=0.14)
    spread = [_at(line, share) for line in lines for share in (0.01, 0.5, 0.999)]
    low, high, log = limits(spread)
    if log:
        low = min(spread) / 1.6
        ax.set_xscale("log")
    factor, unit = next((u for u in _UNITS if high >= u[0]), _UNITS[-1])
    if log:
        factor, unit = (1.0, "s") if high >= 30 else (1e-3, "ms")
    mixed = len({line.trial.latency_of for line in lines}) > 1
    for line in lines:
        x = [latency / factor for latency, _ in line.ecdf]
        style = ":" if line.trial.latency_of == "arrived" and mixed else "-"
        shares = [share for _, share in line.ecdf]
        ax.plot(x, shares, color=colour[line.cell.name], lw=1.2, alpha=0.8, linestyle=style)
    ax.set_xlim(low / factor, high / factor)
    ax.set_ylim(0, 1.02)
    ticks(ax.xaxis, low / factor, high / factor, log=log)
    ticks(ax.yaxis, 0, 1, percent=True)
    ax.grid(color=HAIR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(f"{words.latency} in {unit}" + (", logarithmic" if log else ""), fontsize=8.5)
    ax.set_ylabel(f"share of the {words.message}s", fontsize=8.5)
    shown = list(dict.fromkeys(line.cell.name for line in lines))
    for rank, cell in enumerate(cell for cell in cells if cell.name in shown and len(set(colour.values())) > 1):
        share = 0.72 - 0.16 * (rank % 4)
        points = [_at(line, share) / factor for line in lines if line.cell is cell]
        _label(ax, level[cell.name], points, share=share, colour=colour[cell.name])
    few = said_of(*(cell.valid for cell in cells))
    heading(figure, title or "All cells", f"from the scheduled send to the arrival, {_whose(lines)}{few}")
    medians = "; ".join(f"{line.cell.name} trial {line.trial.number}: {_median(line)}" for line in lines)
    return finish(figure, name=name, title=f"{words.fill('{Latency}')}: {title}", about=medians)


def _whose(lines: Sequence[_Line]) -> str:
    """Whose latency is drawn; what never came is above the end of its line."""
    kinds = {line.trial.latency_of for line in lines}
    if kinds == {"arrived"}:
        return "of what arrived in the window (an older reduction)"
    older = "; dotted: of what arrived in it (older)" if "arrived" in kinds else ""
    late = "; a line ends where the rest never came" if any(line.ecdf[-1][1] < 1 for line in lines) else ""
    return f"of what was sent in the window{older}{late}"


def _median(line: _Line) -> str:
    if line.ecdf[-1][1] < 0.5:
        return f"fewer than half came, those within {line.ecdf[-1][0]:.4g} s"
    return f"median {_at(line, 0.5):.4g} s"


def _at(line: _Line, share: float) -> float:
    """The latency within which that share of the messages came, or the longest where it never did."""
    return next((latency for latency, reached in line.ecdf if reached >= share), line.ecdf[-1][0])


def _label(ax: Any, text: str, points: Sequence[float], *, share: float, colour: str) -> None:
    """Write beside the lines that reach the share at `points`."""
    place = ax.transAxes.inverted().transform(ax.transData.transform((max(points), share)))[0]
    left = place > 0.55
    ax.annotate(
        text, (min(points) if left else max(points), share),
        xytext=(-6 if left else 6, 0), textcoords="offset points", ha="right" if left else "left", va="center",
        fontsize=8.5, color=colour, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
    )  # fmt: skip
