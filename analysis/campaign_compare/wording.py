"""What a comparison says, for readers."""

from __future__ import annotations

import math

from analysis.campaign_compare.judge import Judged
from analysis.campaign_compare.record import Scale, Verdict
from analysis.findings import CellFinding
from analysis.statistics.students import ONE_SIDED
from analysis.units import digits, pairs_text

_UNITS: dict[Scale, str] = {"points": "points", "share of A's mean": "% of A", "share of B's mean": "% of B"}


def interval_text(scale: Scale, centre: float | None, low: float | None, high: float | None) -> str:
    """As in `0.81 [0.78, 0.84]`, or for shares `+0.20 [-0.10, +0.50] points`; said where there is no interval."""
    if centre is None:
        return "–"
    if scale == "ratio":
        ends = "(no interval)" if low is None or high is None else f"[{digits(low)}, {digits(high)}]"
        return f"{digits(centre)} {ends}"
    unit = _UNITS[scale]
    if low is None or high is None:
        return f"{_signed(centre)} {unit} (no interval)"
    return f"{_signed(centre)} [{_signed(low)}, {_signed(high)}] {unit}"


def limit_text(scale: Scale, limit: float) -> str:
    """The worst that is tolerated."""
    return digits(limit) if scale == "ratio" else f"{_signed(limit)} {_UNITS[scale]}"


def words(one: Judged, verdict: Verdict, adjusted: float) -> str:
    """Why it is judged so."""
    for name, cell in (("A", one.a), ("B", one.b)):
        if not cell.values(one.metric.name):
            return f"no valid trial of {name} has it{_standings(cell)}"
    if one.contrast is None and one.bound:
        return "both are lower bounds: messages never came in either"
    if one.contrast is None or one.contrast.half_width is None:
        paired = f"{pairs_text(one.contrast.n[0])}: " if one.contrast is not None and one.contrast.paired else ""
        return f"{paired}too few trials for an interval; two of each side are the least"
    first, second = one.contrast.n
    how = pairs_text(first) if one.contrast.paired else f"unpaired (seeds differ), {first} and {second} trials"
    if caveat := _caveat(one):
        return f"{how}; {caveat}"
    if verdict is Verdict.INCONCLUSIVE:
        return f"{how}; {_why_unclear(one, one.contrast.half_width, adjusted)}"
    return f"{how}; equal" if one.contrast.centre == 0 and one.contrast.half_width == 0 else how


def _caveat(one: Judged) -> str:
    """What stands against a judgement although both have figures, '' when nothing does."""
    if one.unequal:
        return f"{one.unequal}: neither is better"
    if one.bound:
        return f"messages never came in {'A' if one.bound == '≤' else 'B'}: its latency is a lower bound"
    return ""


def _why_unclear(one: Judged, half: float, adjusted: float) -> str:
    if one.p_worse <= ONE_SIDED:
        return f"worse if it stood alone, but one of so many may be chance (p = {adjusted:.2g})"
    if half < abs(one.limit):
        return "too close to the limit to tell"
    if one.scale == "points":
        return f"± {digits(half * 100, significant=2)} points is too coarse for this margin"
    size = math.expm1(half) if one.scale == "ratio" and half < 700 else half
    coarse = (
        f"± {digits(size * 100, significant=2)} %" if size < 1 else f"a factor of {digits(1 + size, significant=2)}"
    )
    return f"{coarse} is too coarse for this margin"


def _standings(cell: CellFinding) -> str:
    counts = {trial.standing for trial in cell.trials if trial.standing.value != "valid"}
    return f" ({', '.join(sorted(counts))})" if counts else ""


def _signed(value: float) -> str:
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{digits(abs(value) * 100)}"
