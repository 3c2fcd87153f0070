"""The distribution of latency: one plot per group of cells, one line per trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.compare import level_of
from analysis.findings import CellFinding, Findings, TrialFinding
from analysis.plots.cells import colours, groups
from analysis.plots.style import HAIR, Plot, canvas, finish, heading, limits, ticks
from analysis.worded import words_for

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def latency_plots(findings: Findings) -> dict[str, Plot]:
    """Cell name to the plot that shows its latency (cells of one group share a plot)."""
    colour, level = colours(findings), {cell.name: level_of(findings, cell) for cell in findings.cells}
    found: dict[str, Plot] = {}
    for number, (title, cells) in enumerate(groups(findings), start=1):
        if any(trial.ecdf for cell in cells for trial in cell.valid):
            plot = _plot(title, cells, colour, level, name=f"latency-{number:02d}")
            found |= {cell.name: plot for cell in cells}
    return found


def _plot(
    title: str, cells: Sequence[CellFinding], colour: dict[str, str], level: dict[str, str], *, name: str
) -> Plot:
    """colour, level: of each cell, by its name."""
    words = words_for(cells)
    figure, (ax,) = canvas(height_in=3.2, top=0.83, left=0.14)
    trials = [(cell, trial) for cell in cells for trial in cell.valid if trial.ecdf]
    spread = [_at(trial, share) for _, trial in trials for share in (0.01, 0.5, 0.999)]
    low, high, log = limits(spread)
    if log:
        low = min(spread) / 1.6
        ax.set_xscale("log")
    factor, unit = next((u for u in _UNITS if high >= u[0]), _UNITS[-1])
    if log:
        factor, unit = (1.0, "s") if high >= 30 else (1e-3, "ms")
    mixed = len({trial.latency_of for _, trial in trials}) > 1
    for cell, trial in trials:
        x = [latency / factor for latency, _ in trial.ecdf]
        style = ":" if trial.latency_of == "arrived" and mixed else "-"
        shares = [share for _, share in trial.ecdf]
        ax.plot(x, shares, color=colour[cell.name], lw=1.2, alpha=0.8, linestyle=style)
    ax.set_xlim(low / factor, high / factor)
    ax.set_ylim(0, 1.02)
    ticks(ax.xaxis, low / factor, high / factor, log=log)
    ticks(ax.yaxis, 0, 1, percent=True)
    ax.grid(color=HAIR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(f"{words.latency} in {unit}" + (", logarithmic" if log else ""), fontsize=8.5)
    ax.set_ylabel(f"share of the {words.message}s", fontsize=8.5)
    shown = list(dict.fromkeys(cell.name for cell, _ in trials))
    for rank, cell in enumerate(cell for cell in cells if cell.name in shown and len(set(colour.values())) > 1):
        share = 0.72 - 0.16 * (rank % 4)
        _label(ax, level[cell.name], cell, share=share, factor=factor, colour=colour[cell.name])
    heading(figure, title or "All cells", f"from the scheduled send to the arrival, {_whose(trials)}")
    medians = "; ".join(f"{c.name} trial {t.number}: {_median(t)}" for c, t in trials)
    return finish(figure, name=name, title=f"{words.fill('{Latency}')}: {title}", about=medians)


def _whose(trials: Sequence[tuple[CellFinding, TrialFinding]]) -> str:
    """Whose latency is drawn; what never came is above the end of its line."""
    kinds = {trial.latency_of for _, trial in trials}
    if kinds == {"arrived"}:
        return "of what arrived in the window (an older reduction)"
    older = "; dotted: of what arrived in it (older)" if "arrived" in kinds else ""
    late = "; a line ends where the rest never came" if any(trial.ecdf[-1][1] < 1 for _, trial in trials) else ""
    return f"of what was sent in the window{older}{late}"


def _median(trial: TrialFinding) -> str:
    if trial.ecdf[-1][1] < 0.5:
        return f"fewer than half came, those within {trial.ecdf[-1][0]:.4g} s"
    return f"median {_at(trial, 0.5):.4g} s"


def _at(trial: TrialFinding, share: float) -> float:
    """The latency within which that share of the messages came, or the longest where it never did."""
    return next((latency for latency, reached in trial.ecdf if reached >= share), trial.ecdf[-1][0])


def _label(ax: Any, text: str, cell: CellFinding, *, share: float, factor: float, colour: str) -> None:
    points = [_at(trial, share) / factor for trial in cell.valid if trial.ecdf]
    place = ax.transAxes.inverted().transform(ax.transData.transform((max(points), share)))[0]
    left = place > 0.55
    ax.annotate(
        text, (min(points) if left else max(points), share),
        xytext=(-6 if left else 6, 0), textcoords="offset points", ha="right" if left else "left", va="center",
        fontsize=8.5, color=colour, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
    )  # fmt: skip
