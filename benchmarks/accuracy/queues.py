"""Queue limits: how much of a burst that is too large survives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accuracy.bench import Line, Measure, applied, profile, way
from emulation.kernel import kernel
from emulation.profile.direction import FULL_FRAME
from topologies.network import Network

_RATE, _BURST = 1e6, 150
_LIMITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("60,000 bytes", {"queue_bytes": 60_000}),
    ("40 packets", {"queue_packets": 40}),
    ("0.5 s", {"queue_time": 0.5}),
    ("150,000 bytes, none given", {}),
)


def limits(network: Network, quick: bool) -> Iterator[Line]:
    """What waits, and what passed at once; a frame more or less, as the burst takes as long to send as frames do."""
    for name, settings in _LIMITS[:2] if quick else _LIMITS:
        side = profile(rate=_RATE, **settings).uplink
        waits = side.queue_packets or side.queue_limit_bytes // FULL_FRAME
        expected = waits + kernel.burst_bytes(_RATE) // FULL_FRAME
        with applied(network, rate=_RATE, **settings), way(network, "uplink") as path:
            arrived = len(path.send([FULL_FRAME] * _BURST).number)
        yield Line(what=f"queue of {name}: frames of a burst of {_BURST}", unit="frames", asked=expected,
                   delivered=arrived, low=expected - 1, high=expected + 1)  # fmt: skip


MEASURES = (Measure(name="queue", kernels=("host", "lab"), run=limits),)
