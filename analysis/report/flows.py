"""The table of TCP flows: of the columns that the analysis gives, those that a reader looks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from analysis.details import sizes_of
from analysis.findings import TrialFinding
from analysis.metric import Metric, Unit
from analysis.report.shown import Shown, amount, number

# Column to its heading, in order; one that no flow has is left out.  All columns are in tables/flows.csv.
HEADINGS = {
    "packets": "Packets", "wire_bytes": "Bytes", "data_packets": "With payload", "goodput_bit_s": "Goodput",
    "retr_or_ooo": "Retransmitted or overtaken", "retransmissions": "Retransmitted",
    "fast_retransmissions": "Fast retransmissions", "out_of_order": "Out of order",
    "spurious_retransmissions": "Spurious", "duplicate_acks": "Duplicate ACKs back", "zero_windows": "Zero windows",
    "keep_alives": "Keep-alives", "resets": "Resets", "recovery_s": "In loss recovery", "rtt_samples": "RTT samples",
    "rtt_mean_s": "RTT mean", "rtt_p50_s": "median", "rtt_p95_s": "95th pct.", "rtt_p99_s": "99th pct.",
    "rtt_max_s": "highest",
}  # fmt: skip
_UNITS: tuple[tuple[str, Unit], ...] = (("_bit_s", "bit/s"), ("_share", "share"), ("_s", "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRows:
    """rows: trial, flow, direction, then a cell for each heading.  left: flows that were left out."""

    headings: tuple[str, ...]
    rows: tuple[tuple[int, str, str, tuple[Shown, ...]], ...]
    left: int


def flow_rows(trials: Sequence[TrialFinding], *, most: int | None = None) -> FlowRows:
    """The flows of these trials, of each trial the largest first; most: only that many of all, the largest."""
    sized = [(trial, name, size) for trial in trials for name, size in _sizes(trial, some=most is not None).items()]
    number = len(sized)
    largest = nlargest(number if most is None else most, sized, key=itemgetter(2))
    kept = [(trial, name, trial.flows[name]) for trial, name, _ in sorted(largest, key=lambda one: one[0].number)]
    columns = [name for name in HEADINGS if any(name in figures for _, _, figures in kept)]
    return FlowRows(
        headings=tuple(HEADINGS[name] for name in columns),
        rows=tuple(
            (trial.number, flow, trial.directions.get(flow, ""), tuple(_cell(n, figures.get(n)) for n in columns))
            for trial, flow, figures in kept
        ),
        left=number - len(kept),
    )


def _sizes(trial: TrialFinding, *, some: bool) -> dict[str, float]:
    """The flows' bytes; some: whether not all flows will be shown, so that their figures need not all be read."""
    return trial.details.flow_sizes() if some else sizes_of(trial.flows)


def _cell(name: str, value: float | None) -> Shown:
    unit = next((unit for ending, unit in _UNITS if name.endswith(ending)), None)
    if unit is None:
        return number(value)
    return amount(Metric(name=name, label=name, unit=unit, better=None, about=""), value)
