"""When changes of the link are in force: by the packets that meet them and by who plays the timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from accuracy import changes
from accuracy.bench import Line

from emulation.kernel import kernel
from emulation.profile.media import MediumName
from experiments.trial.observers.priority import ahead
from line_bench.common import Measure, Part
from topologies.network import Network

_LATE_MS = 0.5


def timeline(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """Outages, steps of the rate, and where delays can be made, of these."""
    spacing_s = 0.0002 if kernel.current() == "host" else 0.0005
    late_ms = _LATE_MS if made_by == "line" else None
    asked = changes.Asked(made_by=made_by, spacing_s=spacing_s, late_ms=late_ms)
    yield partial(_ahead, changes.outages, network, quick, asked)
    yield partial(_ahead, changes.rate_steps, network, quick, asked)
    if made_by == "line" or kernel.current() == "lab":
        yield partial(_ahead, changes.steps, network, quick, asked)


def _ahead(measure: Callable[..., Iterator[Line]], network: Network, quick: bool, asked: changes.Asked) -> list[Line]:
    with ahead([]):
        return list(measure(network, quick, asked))


MEASURES = (Measure(name="timeline", ways=("line", "tc", "lab"), run=timeline),)
