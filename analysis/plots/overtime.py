"""A cell second by second: throughput, below it the use of the link, and what a timeline did to the link."""

from __future__ import annotations

from typing import Any

from analysis.compare import FACTOR, describe
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.plots.cells import colours
from analysis.plots.eventmarks import MOST_LINES
from analysis.plots.style import HAIR, INK, MUTED, SHADE, Plot, canvas, finish, heading, ticks
from analysis.plots.timeline import draw_events, draw_rates, timeline

_LEFT, _RIGHT = 0.14, 0.83  # ends of the axes, shares of the width
_ABOVE_IN, _AXES_IN, _BELOW_IN, _RATE_IN = 0.56, 2.45, 0.49, 0.8  # heights: title, axes, labels of the time, rates
_GAP = 0.09  # of the axis' height: labels nearer to each other than this are moved apart


def overtime_plots(findings: Findings) -> dict[str, Plot]:
    """Cell name to its plot, trials that do not count included, as dotted lines; None where nothing was measured."""
    colour = colours(findings)
    return {
        cell.name: _plot(cell, colour[cell.levels.get(FACTOR, "")])
        for cell in findings.cells
        if any(_measured(trial) for trial in cell.trials)
    }


def _measured(trial: TrialFinding) -> bool:
    """Whether its ledger could be read: captures alone have seconds, too, and no window."""
    return bool(trial.seconds) and "window_s" in trial.metrics


def _plot(cell: CellFinding, colour: str) -> Plot:
    trials = [trial for trial in cell.trials if _measured(trial)]
    window_s = max(trial.metrics["window_s"] for trial in trials)
    drawn = [points for trial in trials for name, points in trial.seconds.items() if not name.startswith("rate_")]
    ends = [t for points in drawn for t, _ in (points[0], points[-1])]
    ends += [event.real_s for trial in trials for event in trial.events]
    low, high = min([*ends, 0.0]) - 0.5, max([*ends, window_s]) + 0.5
    shown = timeline(trials, low=low, high=high, left=_LEFT, right=_RIGHT)
    height = _ABOVE_IN + shown.above_in + _AXES_IN + _RATE_IN * bool(shown.rates) + _BELOW_IN + shown.below_in
    figure, axes = canvas(
        height_in=height, left=_LEFT, right=_RIGHT, top=1 - (_ABOVE_IN + shown.above_in) / height,
        bottom=(_BELOW_IN + shown.below_in) / height, rows=(2.3, 1.0, *([1.0] if shown.rates else [])),
    )  # fmt: skip
    top, bottom = axes[:2]
    peak = _lines(top, trials, colour)
    top.set_ylim(0, peak * 1.12 or 1.0)
    ticks(top.yaxis, 0, peak * 1.12 or 1.0)
    top.set_ylabel("messages per second", fontsize=8.5)
    highest = _utilisation(bottom, trials)
    bottom.set_ylim(0, max(1.05, highest * 1.05))
    ticks(bottom.yaxis, 0, 1, percent=True, parts=2)
    bottom.set_ylabel("link use", fontsize=8.5)
    if shown.rates:
        draw_rates(axes[2], shown.rates)
        figure.align_ylabels(axes)
    for ax in axes:
        ax.axvspan(0, window_s, color=SHADE, linewidth=0, zorder=0)
        ax.set_xlim(low, high)
        ax.grid(axis="y", color=HAIR, linewidth=0.6)
        ax.set_axisbelow(True)
    ticks(axes[-1].xaxis, low, high)
    for ax in axes[:-1]:
        ax.tick_params(labelbottom=False)
    window = top.text(window_s / 2, 0.985, "window", transform=top.get_xaxis_transform(), ha="center", va="top",
             fontsize=8, color=MUTED)  # fmt: skip
    if shown.marks:
        window.set_bbox({"facecolor": SHADE, "edgecolor": "none", "pad": 1.0})
        draw_events(figure, axes, shown, left=_LEFT, right=_RIGHT)
    axes[-1].set_xlabel("seconds from the start of the window", fontsize=8.5)
    title = describe(cell.levels)
    counts = {trial.standing is Standing.VALID for trial in trials}
    note = "one line per valid trial" if counts == {True} else "one line per trial; dotted: trials that do not count"
    heading(figure, title or cell.name, note)
    about = f"throughput and link use of {cell.name}, second by second, {len(trials)} trials"
    about += "".join(f"; at {mark.asked_s:g} s {mark.label}" for mark in shown.marks[:MOST_LINES])
    return finish(figure, name=f"time-{cell.name}", title=f"Over time: {title}", about=about)


def _lines(ax: Any, trials: list[TrialFinding], colour: str) -> float:
    """Draw published and delivered, name them beside the axis; returns the highest value drawn."""
    peak = 0.0
    ends: list[tuple[float, str, str]] = []
    for name, label, shade in (("published_per_s", "published", MUTED), ("delivered_per_s", "delivered", colour)):
        inside = []
        for trial in trials:
            points = trial.seconds.get(name, [])
            ax.plot([t for t, _ in points], [v for _, v in points], color=shade, linewidth=1.2, alpha=0.85,
                    linestyle=_style(trial, "-"))  # fmt: skip
            inside += [v for t, v in points if t > 0]
            peak = max([peak, *(v for _, v in points)])
        if inside:
            ends.append((sorted(inside)[len(inside) // 2], label, shade))
    lowest = 0.0
    for height, label, shade in sorted(ends):
        place = max(height, lowest)
        lowest = place + _GAP * peak
        ax.text(1.02, place, label, transform=ax.get_yaxis_transform(), color=shade, fontsize=8.5, va="center")
    return peak


def _utilisation(ax: Any, trials: list[TrialFinding]) -> float:
    styles = {"utilisation_air": "-", "utilisation_uplink": "-", "utilisation_downlink": "--"}
    labels: dict[str, float] = {}
    highest = 0.0
    for trial in trials:
        for name, style in styles.items():
            if points := trial.seconds.get(name):
                ax.plot([t for t, _ in points], [v for _, v in points], color=INK, linewidth=1.0,
                        linestyle=_style(trial, style),
                        alpha=0.8)  # fmt: skip
                highest = max([highest, *(v for _, v in points)])
                labels[name] = points[len(points) // 2][1]
    last = -1.0
    for name, height in sorted(labels.items(), key=lambda item: item[1]):
        last = max(height, last + 0.22, 0.06)
        text = name.removeprefix("utilisation_")
        ax.text(1.02, last, f"{text} {'– –' if styles[name] == '--' else '—'}", transform=ax.get_yaxis_transform(),
                color=INK, fontsize=8, va="center")  # fmt: skip
    return highest


def _style(trial: TrialFinding, valid: str) -> str:
    return valid if trial.standing is Standing.VALID else ":"
