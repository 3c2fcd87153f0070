"""Delay and its distribution, and the other things that netem does to packets: copies, overtaking, damage."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accuracy.bench import Line, Measure, applied, profile, way, within
from emulation.profile import distribution
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.proof import expectation
from emulation.proof.order import overtakers
from emulation.proof.probe import MIN_FRAME, Arrivals
from records.directions import DIRECTIONS
from topologies.network import Network

DELAYS_MS = (1, 5, 20, 50, 100, 270)
_BIAS_S, _P99_S = 0.0002, 0.001
_QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
_SILENT_HEADER_BYTES = 6  # the Ethernet source: nobody looks at it


def delays(network: Network, quick: bool) -> Iterator[Line]:
    """Single small packets on an idle link: the median's error, and the 99th percentile of all errors."""
    for delay_ms in DELAYS_MS[::2] if quick else DELAYS_MS:
        for direction in DIRECTIONS:
            with (
                applied(network, delay=delay_ms / 1e3),
                way(network, direction, silence_s=1 + delay_ms / 1e3) as path,
            ):
                error = _delays(path.send([MIN_FRAME] * 1000, spacing_s=0.003))[20:] - delay_ms / 1e3
            bias, p99 = float(np.median(error)), float(np.percentile(np.abs(error), 99))
            what = f"delay {delay_ms} ms, {direction}"
            yield Line(what=f"{what}: bias", unit="ms", asked=0, delivered=bias * 1e3,
                       low=-_BIAS_S * 1e3, high=_BIAS_S * 1e3)  # fmt: skip
            yield Line(what=f"{what}: 99 % within", unit="ms", asked=0, delivered=p99 * 1e3, low=0,
                       high=_P99_S * 1e3)  # fmt: skip


def jitters(network: Network, quick: bool) -> Iterator[Line]:
    """Each distribution's standard deviation and quantiles, drawn anew for each packet, and with order kept."""
    packets = 4000 if quick else 10_000
    for kind in ("uniform", "normal", "pareto"):
        settings = {"delay": 0.05, "jitter": 0.01, "jitter_distribution": kind}
        side = profile(**settings).uplink
        with applied(network, **settings, keep_order=False), way(network, "uplink") as path:
            path.wait(1, in_order=False)
            found = _delays(path.send([MIN_FRAME] * packets, spacing_s=0.0015))
        drawn = distribution.drawn(side)
        deviation = 0.01 / np.sqrt(3) if kind == "uniform" else 0.01
        # A heavy tail's deviation depends on few packets: what as many packets show in 95 % of all cases.
        samples = np.random.default_rng(1).choice(drawn, (400, packets)).std(axis=1)
        low, high = np.percentile(samples, [2.5, 97.5]) * 1e3
        yield Line(what=f"jitter 10 ms {kind}: standard deviation", unit="ms", asked=deviation * 1e3,
                   delivered=found.std() * 1e3, low=min(low, deviation * 950),
                   high=max(high, deviation * 1050))  # fmt: skip
        yield Line(what=f"jitter 10 ms {kind}: quantiles, worst error of allowed", unit="", asked=0,
                   delivered=_worst_quantile(found, drawn), low=0, high=1,
                   note="allowed: 0.2 ms and 3.3 standard errors")  # fmt: skip
        yield from _in_order(network, side, kind, packets // 4)


def _in_order(network: Network, side: DirectionProfile, kind: str, packets: int) -> Iterator[Line]:
    spacing = 0.004
    with (
        applied(network, delay=side.delay, jitter=side.jitter, jitter_distribution=kind),
        way(network, "uplink") as path,
    ):
        arrivals = path.send([MIN_FRAME] * packets, spacing_s=spacing)
    runs = expectation.delays(side, packets=packets, spacing_s=spacing)[:200]
    mean = float(_delays(arrivals).mean())
    yield Line(what=f"jitter 10 ms {kind}, order kept: mean delay", unit="ms", asked=float(runs.mean()) * 1e3,
               delivered=mean * 1e3, low=float(runs.mean(axis=1).min()) * 1e3 - 0.2,
               high=float(runs.mean(axis=1).max()) * 1e3 + 0.2, note="asked: simulated")  # fmt: skip
    yield Line(what=f"jitter 10 ms {kind}, order kept: overtaking", unit="", asked=0,
               delivered=overtakers(arrivals.number), low=0, high=0)  # fmt: skip


def _worst_quantile(found: np.ndarray, drawn: np.ndarray) -> float:
    ordered, n = np.sort(drawn), len(found)
    worst = 0.0
    for share in _QUANTILES:
        error = np.sqrt(share * (1 - share) / n)
        low, middle, high = (np.quantile(ordered, np.clip(share + k * 3.3 * error, 0, 1)) for k in (-1, 0, 1))
        difference = np.quantile(found, share) - middle
        allowed = _BIAS_S + (high - middle if difference > 0 else middle - low)
        worst = max(worst, abs(difference) / allowed)
    return worst


def copies_and_order(network: Network, quick: bool) -> Iterator[Line]:
    """Duplication and reordering, several per cent of many packets."""
    packets = 10_000 if quick else 30_000
    for share in (0.03, 0.08):
        with applied(network, duplicate=share), way(network, "downlink") as path:
            path.wait(1, in_order=False)
            numbers = path.send([MIN_FRAME] * packets, spacing_s=0.0004).number
        copies = len(numbers) - len(np.unique(numbers))
        yield within(f"duplicate {share:.0%} of {packets}", "%", share * 100, copies / packets * 100, 0.1)
        with applied(network, reorder=share, delay=0.02), way(network, "downlink") as path:
            path.wait(1, in_order=False)
            numbers = path.send([MIN_FRAME] * packets, spacing_s=0.0004).number
        yield within(f"reorder {share:.0%} of {packets}", "%", share * 100, overtakers(numbers) / packets * 100, 0.1)


def damage(network: Network, quick: bool) -> Iterator[Line]:
    """Corruption: packets whose damage a checksum or an address tells of; that of the source address, nobody does."""
    packets, share = (10_000 if quick else 30_000), 0.05
    for frame in (MIN_FRAME, FULL_FRAME):
        expected = share * (1 - _SILENT_HEADER_BYTES / frame)
        with applied(network, corrupt=share), way(network, "uplink") as path:
            path.wait(1, in_order=False)
            arrived = len(path.send([frame] * packets, spacing_s=0.0004).number)
        found = (packets - arrived) / packets
        yield within(f"corrupt 5 % of {packets}, {frame} bytes", "%", expected * 100, found * 100, 0.1)


def _delays(arrivals: Arrivals) -> np.ndarray:
    found: np.ndarray = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    return found


MEASURES = (
    Measure(name="delay", kernels=("lab",), run=delays),
    Measure(name="jitter", kernels=("lab",), run=jitters),
    Measure(name="copies", kernels=("lab",), run=copies_and_order),
    Measure(name="damage", kernels=("lab",), run=damage),
)
