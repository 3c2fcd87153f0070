"""Messages that were sent and are under way: whether they became more and more while the window lasted.

Where they did, there is no steady latency: each message waits for all before it, and a mean says how long the load
lasted.  What a later message has overtaken is not under way: it is lost.
"""

from __future__ import annotations

import numpy as np

from analysis.compare import describe
from analysis.findings import CellFinding, Findings, rises
from analysis.stationarity import BACKLOG
from analysis.statistics import Trend, trend
from analysis.units import percent
from records.counts import out_of
from records.manifest import Window
from records.waits import Sent, Waits

GROWTH = "backlog_growth_share"
NOTABLE = 0.05  # of what was sent in the window: less piles up where little is sent and the rate itself rises
_POINTS = 64
_NAMED = 3  # cells
_FEWEST = 16  # messages


def backlog(awaited: Waits, at_ns: np.ndarray) -> np.ndarray:
    """How many (message, consumer) pairs were under way at each of these times."""
    sent = np.searchsorted(np.sort(awaited.begun_ns), at_ns, side="right")
    return sent - np.searchsorted(np.sort(awaited.ended_ns), at_ns, side="right")


def backlog_metrics(sent: Sent, window: Window) -> dict[str, float]:
    """GROWTH: what the backlog grew by inside the window, as a share of what was sent in it; {} when nothing was."""
    many = _sent_in(sent, window)
    if not many:
        return {}
    before, after = backlog(sent.awaited, np.array([window.start_ns, window.end_ns])).tolist()
    return {GROWTH: (after - before) / many}


def backlog_trend(sent: Sent, window: Window) -> dict[str, Trend]:
    """The backlog's trend inside the window, by its series; {} with too few messages."""
    if _sent_in(sent, window) < _FEWEST:
        return {}
    at = np.linspace(window.start_ns, window.end_ns, _POINTS).astype(np.int64)
    found = trend(backlog(sent.awaited, at).astype(float))
    return {} if found is None else {BACKLOG: found}


def _sent_in(sent: Sent, window: Window) -> int:
    """Pairs of a message and an audience."""
    return len(sent.deliveries.begun_in(window.start_ns, window.end_ns).begun_ns)


def grows(cell: CellFinding) -> bool:
    """Whether the backlog grew in at least half of the cell's valid trials, by more than chance and notably."""
    growth = cell.values(GROWTH)
    return bool(growth) and float(np.mean(growth)) > NOTABLE and rises(cell, BACKLOG)


def growing_text(cell: CellFinding) -> str:
    """What is said of a cell whose backlog grows; empty for others."""
    if not grows(cell):
        return ""
    share = percent(float(np.mean(cell.values(GROWTH))))
    return f"backlog grows by {share} % of what is sent: latency says how long the load lasted"


def growing_line(findings: Findings) -> str:
    """How many cells have a backlog that grows; empty when none has."""
    names = [describe(cell.levels) or cell.name for cell in findings.cells if grows(cell)]
    if not names:
        return ""
    many = f"In {out_of(len(names), len(findings.cells), 'cell')}"
    rest = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    return (
        f"{many} more is sent than arrives, for as long as the load lasts: their latencies say how long that was, and "
        f"are compared in equal windows only ({', '.join(names[:_NAMED])}{rest})."
    )
