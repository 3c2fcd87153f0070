"""Latency of what was sent in the window: the drain's arrivals count, and what never came took at least so long.

Of what arrived in the window alone, a growing backlog would show its youngest part: 100 messages per second in and 50
out would have means of 7.5, 13.8 and 25.0 s in windows of 20, 45 and 90 s.  That older definition stays under names of
its own, for comparing with campaigns of which only reductions by it are left.
"""

from __future__ import annotations

from records.manifest import Window
from records.waits import Figure, Lengths, Sent, Waits

QUANTILES = {"latency_p50_s": 0.50, "latency_p95_s": 0.95, "latency_p99_s": 0.99}
LATENCIES = ("latency_mean_s", *QUANTILES, "publish_latency_mean_s", "latency_from_go_mean_s")
RESPONSES = {"response_p50_s": 0.50, "response_p95_s": 0.95, "response_p99_s": 0.99}
AT_LEAST = "at least"
_ARRIVED = "arrived_"


def of_arrivals(metric: str) -> str:
    """The name of a latency by the older definition: of what arrived, or was answered, inside the window."""
    return f"{_ARRIVED}{metric}"


def sent_in_window(waits: Waits, window: Window) -> Lengths:
    """How long that took which began inside the window, seen until the drain's end."""
    return waits.begun_in(window.start_ns, window.end_ns).lengths(window.drained_ns)


def latencies(sent: Sent, window: Window) -> dict[str, Figure]:
    """The LATENCIES that there are, in seconds: of the messages scheduled inside the window, or from go to its end."""
    mine = sent_in_window(sent.deliveries, window)
    from_go = sent.deliveries.begun_in(window.go_ns, window.end_ns).lengths(window.drained_ns)
    found = {
        "latency_mean_s": mine.mean(),
        **{name: mine.quantile(share) for name, share in QUANTILES.items()},
        "publish_latency_mean_s": sent_in_window(sent.answers, window).mean(),
        "latency_from_go_mean_s": from_go.mean(),
    }
    return {name: figure for name, figure in found.items() if figure is not None}


def responses(sent: Sent, window: Window) -> dict[str, Figure]:
    """The RESPONSES that there are, in seconds: from a request's scheduled time to its reply."""
    mine = sent_in_window(sent.answers, window)
    found = {name: mine.quantile(share) for name, share in RESPONSES.items()}
    return {name: figure for name, figure in found.items() if figure is not None}
