"""Rates: of bursts of small and full frames, both ways, on a duplex and a shared medium, and beside busy processors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from accuracy.bench import Line, applied, way

from emulation.kernel import kernel
from emulation.profile.media import MediumName
from experiments.trial.observers.priority import ahead
from line_bench.common import Measure, Part, bounded, busy_loops
from records.directions import DIRECTIONS
from topologies.network import Network

_RATES = {
    1400: (100e3, 300e3, 1e6, 2e6, 5.5e6, 11e6, 24e6, 54e6, 100e6, 300e6),
    100: (100e3, 1e6, 5.5e6, 11e6, 24e6, 40e6),
}
_LAB_RATES = {
    1400: (100e3, 300e3, 1e6, 2e6, 5.5e6, 11e6, 24e6, 54e6, 100e6, 300e6),
    100: (100e3, 1e6, 5.5e6, 11e6, 24e6, 40e6),
}
_QUICK = {1400: (100e3, 1e6, 54e6), 100: (1e6, 24e6)}
_OVERHEADS = ((11e6, 200e-6), (54e6, 50e-6), (1e6, 500e-6))
_BUSY = ((1e6, 1400), (11e6, 1400), (54e6, 1400), (11e6, 100))
_WITHIN = 0.1  # per cent
_SECONDS, _LEAST_FRAMES = 2.0, 40
_FASTER = 0.8  # frames come in less than the time that they take


def error(network: Network, made_by: MediumName, rate: float, size: int, direction: str, *, overhead_s: float = 0.0,
          medium: str = "duplex") -> tuple[float, float]:  # fmt: skip
    """By how many per cent the rate of frames that wait in the queue is off, and the standard error of that.

    The error of the last moment alone would do for a rate; what moments scatter tells how far to believe it.
    """
    takes_s = overhead_s + size * 8 / rate
    frames = max(int(_SECONDS / takes_s), _LEAST_FRAMES)
    settings: dict[str, Any] = {"rate": rate, "frame_overhead": overhead_s, "medium": medium}
    with (
        applied(network, made_by=made_by, queue_bytes=2 * frames * size + 10_000, **settings),
        way(network, direction, silence_s=1 + 3 * takes_s) as path,
    ):
        path.hand_over([size] * frames, spacing_s=_FASTER * takes_s if takes_s < 0.001 else 0)
        arrivals = path.collect(frames)
    # The first ones pass while the others still come in, all at once.
    first = max(kernel.burst_bytes(rate) // size + 1, frames // 20)
    times = arrivals.received_ns[first:] / 1e9
    if len(times) < 2:
        return -100.0, 0.0
    took = times[-1] - times[0]
    noise = float(np.std(np.diff(times)[: max(len(times) // 2, 1)])) * 2**0.5 / took
    return ((len(times) - 1) * takes_s / took - 1) * 100, noise * 100


def rates(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """A burst of frames of one size, each way."""
    for size, chosen in (_QUICK if quick else _RATES if kernel.current() == "host" else _LAB_RATES).items():
        for rate in chosen:
            for direction in DIRECTIONS:
                yield partial(_line, network, made_by, rate, size, direction)


def overhead(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """A shared medium on which every frame has an overhead."""
    for rate, seconds in _OVERHEADS[:1] if quick else _OVERHEADS:
        for size in _RATES:
            for direction in DIRECTIONS:
                yield partial(_line, network, made_by, rate, size, direction, overhead_s=seconds, medium="shared")


def busy(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """Beside an endless loop on each processor; who sends goes before these, who shapes must by itself."""
    with busy_loops(), ahead([]):
        for rate, size in _BUSY[:2] if quick else _BUSY:
            for direction in DIRECTIONS:
                yield partial(_line, network, made_by, rate, size, direction, beside="busy processors: ")


def _line(network: Network, made_by: MediumName, rate: float, size: int, direction: str, *, beside: str = "",
          **settings: Any) -> list[Line]:  # fmt: skip
    found, noise = error(network, made_by, rate, size, direction, **settings)
    extra = f", shared, {settings['overhead_s'] * 1e6:g} us a frame" if settings else ""
    what = f"{beside}rate {rate / 1e6:g} Mbit/s, {size} bytes, {direction}{extra}: error"
    return [bounded(made_by, what, "%", found, -_WITHIN, _WITHIN, f"± {noise:.4f}")]


MEASURES = (
    Measure(name="rate", ways=("line", "tc", "lab"), run=rates),
    Measure(name="overhead", ways=("line", "tc", "lab"), run=overhead),
    Measure(name="busy", ways=("line", "tc"), run=busy),
)
