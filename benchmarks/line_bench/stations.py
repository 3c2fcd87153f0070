"""What 4, 50 and 200 stations cost: the time until their link is there, and processor time for each frame."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial

from accuracy.bench import Line, applied, way

from emulation.profile.media import MediumName
from emulation.proof.probe import ProbePath
from line_bench.ceiling import pour
from line_bench.common import Measure, Part, line_process, processor_s, told
from topologies.network import Network
from topologies.star import star

_STATIONS = (4, 50, 200)
_FRAMES_PER_S, _SIZE, _SECONDS = 6000.0, 500, 4.0


def stations(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """Networks of its own; half of the frames go up and half down, from and to stations in turn."""
    del network
    for count in _STATIONS[:2] if quick else _STATIONS:
        for medium in ("duplex", "shared"):
            yield partial(_costs, count, made_by, medium)


def _costs(count: int, made_by: MediumName, medium: str) -> Iterator[Line]:
    with star(stations=count, congestion_control="reno") as network:
        yield from _cost(network, made_by, medium)


def _cost(network: Network, made_by: MediumName, medium: str) -> Iterator[Line]:
    what, began = f"{len(network.stations)} stations, {medium}", time.monotonic()
    with applied(network, made_by=made_by, medium=medium, rate=100e6) as (_, link), ExitStack() as stack:
        yield told(f"{what}: link there after", "s", time.monotonic() - began)
        if made_by != "line":
            return
        paths: Sequence[ProbePath] = [
            stack.enter_context(way(network, direction, station=station, port=7100 + station))
            for station in range(len(network.stations))
            for direction in ("uplink", "downlink")
        ]
        process = line_process()
        used = processor_s(process)
        sent = pour(paths, _FRAMES_PER_S, _SIZE, _SECONDS)
        spent = float((processor_s(process) - used).sum())
        late = link.lateness()  # type: ignore[attr-defined]
        yield told(f"{what}: the line's processor time for a frame", "us", spent / sent * 1e6,
                   f"{sent / _SECONDS:,.0f} frames/s, {spent / _SECONDS:.0%} of a core, "
                   f"late p99.9 {late.quantile_s(0.999) * 1e3:.2f} ms")  # fmt: skip


MEASURES = (Measure(name="stations", ways=("line", "tc"), run=stations),)
