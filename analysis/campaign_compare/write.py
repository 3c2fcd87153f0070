"""Writing a comparison: one page, the plot, the table, and the result as JSON."""

from __future__ import annotations

import base64
from pathlib import Path

from analysis.campaign_compare.record import Between, Row, Verdict
from analysis.campaign_compare.wording import limit_text
from analysis.plots.campaign_compare import MOST_CELLS, between_plot
from analysis.plots.style import Plot
from analysis.report.page import Pages
from analysis.report.publish import staged
from records.spreadsheet import write_csv

_TONE = {Verdict.NO_WORSE: "good", Verdict.INCONCLUSIVE: "mixed", Verdict.WORSE: "bad"}
_YES = {True: "yes", False: "no"}
_COLUMNS = (
    "cell", "metric", "unit", "a_n", "a_mean", "a_ci95_low", "a_ci95_high", "a_lower_bound", "b_n", "b_mean",
    "b_ci95_low", "b_ci95_high", "b_lower_bound", "paired", "n_a", "n_b", "scale", "bound", "centre", "ci95_low",
    "ci95_high", "bootstrap95_low", "bootstrap95_high", "limit", "p_worse", "p_worse_holm", "p_no_worse", "effect_size",
    "verdict",
)  # fmt: skip


def write(found: Between, folder: Path) -> Path:
    """Write compare-<A>-<B>.html, compare.csv, compare.json and the plot into `folder`; returns the page's path.

    What was there stays until the new is whole.  Raises ReportBusy when another process writes there.
    """
    plot = between_plot(found)
    page = f"compare-{found.a.campaign}-{found.b.campaign}.html"
    pictures = ["compare.png", "compare.svg"] if plot else []
    folder.mkdir(parents=True, exist_ok=True)
    with staged(folder, names=(*pictures, "compare.csv", "compare.json", page)) as stage:
        if plot:
            (stage / "compare.png").write_bytes(plot.png)
            (stage / "compare.svg").write_bytes(plot.svg)
        _write_csv(stage / "compare.csv", found)
        (stage / "compare.json").write_text(found.model_dump_json(indent=1) + "\n")
        (stage / page).write_text(_page(found, plot))
    return folder / page


def _write_csv(path: Path, found: Between) -> None:
    write_csv(path, _COLUMNS, map(_cells, found.rows))


def _cells(row: Row) -> list[object]:
    none = (0, None, None, None, None)
    means = [value for one in (row.a, row.b) for value in
             ((one.n, one.mean, one.low, one.high, _YES[one.at_least]) if one else none)]  # fmt: skip
    how = [_YES[row.paired], *row.n, row.scale, row.bound]
    interval = [row.centre, row.low, row.high, *(row.bootstrap or (None, None)), row.limit]
    tests = [row.p_worse, row.p_worse_adjusted, row.p_no_worse, row.effect, row.verdict]
    return [row.cell, row.metric, row.unit, *means, *how, *interval, *tests]


def _page(found: Between, plot: Plot | None) -> str:
    picture = None if plot is None else "data:image/svg+xml;base64," + base64.b64encode(plot.svg).decode()
    values = {
        "found": found,
        "tone": _TONE[found.verdict],
        "sides": (("A", found.a), ("B", found.b)),
        "limit_of": lambda row: limit_text(row.scale, row.limit),
        "picture": picture,
        "about": "" if plot is None else plot.about,
        "left_out": max(0, len({row.cell for row in found.rows if row.centre is not None}) - MOST_CELLS),
    }
    return Pages(extra="compare.css").fill("compare.html.j2", values)
