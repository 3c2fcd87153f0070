"""How the clients of trials connected, and what their connections knew of the path when the window began."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from analysis.metric import Metric
from analysis.units import quantity
from records.manifest import ConnectionEnd, Manifest

_SECONDS = Metric(name="rtt", label="round trip", unit="s", better=None, about="")


def connected(manifests: Sequence[Manifest]) -> list[str]:
    """Over which link, and in what time; one line for each way."""
    lines = []
    told = [one.connecting for one in manifests]
    for over, words in (
        ("link", "over the link that they used"),
        ("bare", "on the bare link, before it was impaired (connect: bare)"),
    ):
        if some := [one for one in told if one is not None and one.over == over]:
            lines.append(f"{words}, in {_span([one.seconds for one in some])}{_of(len(some), len(told))}")
    if unknown := told.count(None):
        lines.append(f"not recorded{_of(unknown, len(told))}")
    return lines


def known_at_start(manifests: Sequence[Manifest]) -> list[str]:
    """What the connections of all these trials knew, by end; none where that was not recorded."""
    told = [one.connecting for one in manifests if one.connecting is not None]
    lines = []
    for over, name in product(("link", "bare"), ("client", "server")):
        if some := [end for one in told if one.over == over for end in one.ends if end.end == name]:
            lines.append(f"{name}s' ends{' (connected bare)' if over == 'bare' else ''}: {_known(some)}")
    return lines


def _known(ends: Sequence[ConnectionEnd]) -> str:
    parts = []
    for words, values in (
        ("least round trip", [one.min_rtt_s for one in ends]),
        ("smoothed", [one.rtt_s for one in ends]),
        ("retransmission timeout", [one.rto_s for one in ends]),
    ):
        if some := [value for value in values if value is not None]:
            parts.append(f"{words} {_span(some)}")
    windows = sorted(one.cwnd for one in ends)
    parts.append(f"window {_ends_of(windows[0], windows[-1])} segments")
    return f"{', '.join(parts)} ({', '.join(sorted({one.congestion_control for one in ends}))})"


def _span(values: Sequence[float]) -> str:
    return _ends_of(quantity(_SECONDS, min(values)), quantity(_SECONDS, max(values)))


def _ends_of(low: object, high: object) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def _of(some: int, every: int) -> str:
    return "" if some == every else f" ({some} of {every} trials)"
