"""TCP: one way against theory, and both ways at once, which is compared between the ways of making a link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import numpy as np
from accuracy.bench import SEED, Line, applied, profile
from accuracy.tcp import PORT, Flow, run
from scipy import stats

from emulation.kernel import kernel
from emulation.link import link
from emulation.plan import linkplan
from emulation.profile.direction import FULL_FRAME
from emulation.profile.media import MediumName
from line_bench.common import Measure, Part, bounded, told
from topologies import topology
from topologies.build import built
from topologies.network import Network

# bit/s to seconds: what a loss holds back at an end of them (two round trips at 1 Mbit/s take 0.3 s) is under 0.4 %.
_RATES = {1e6: 75.0, 10e6: 25.0, 50e6: 25.0}
_QUICK = {10e6: 12.0}
_DELAY_S = 0.025  # each way: a round trip of 50 ms
_HEADERS = 14 + 20 + 20 + 12  # Ethernet, IPv4, TCP, its time stamps
_SHARE = (FULL_FRAME - _HEADERS) / FULL_FRAME
_WITHIN = 1.0  # per cent
_WARM_S = 8.0  # slow start, and the first of cubic's epochs, are over


def one_way(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """A flow up from one station and a flow down to another, for each rate, against what headers leave of the rate."""
    for rate, seconds in (_QUICK if quick else _RATES).items():
        yield partial(_one_way, network, made_by, rate, seconds)


def _one_way(network: Network, made_by: MediumName, rate: float, seconds: float) -> Iterator[Line]:
    with applied(network, made_by=made_by, rate=rate, delay=_DELAY_S, queue_time=0.1):
        first, second, *_ = network.stations
        server = network.servers[0]
        flows = [Flow(first, server, PORT), Flow(server, second, PORT + 1)]
        for name, found in zip(("up", "down"), run(flows, warm_s=_WARM_S, seconds=seconds), strict=True):
            error = (found / (rate * _SHARE) - 1) * 100
            yield bounded(made_by, f"TCP one way, {rate / 1e6:g} Mbit/s, {name}: error against theory", "%", error,
                          -_WITHIN, _WITHIN, f"{found / 1e6:.4f} Mbit/s of payload")  # fmt: skip


def both_ways(network: Network, made_by: MediumName, quick: bool, delay_s: float = _DELAY_S) -> Iterator[Part]:
    """Flows up and down at once over a duplex link: their sum as a share of theory, its mean and 95 % interval."""
    for rate in _QUICK if quick else _RATES:
        yield partial(_both_ways, network, made_by, rate, delay_s, quick)


def _both_ways(network: Network, made_by: MediumName, rate: float, delay_s: float, quick: bool) -> list[Line]:
    def shaped() -> AbstractContextManager[object]:
        return applied(network, made_by=made_by, rate=rate, delay=delay_s, queue_time=0.1)

    return _shares(network, shaped, rate, f"{delay_s * 1e3:g} ms each way", quick)


def both_ways_before_delay(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """The same over a link of the rate alone, and a second one behind a router, by the line, that has the delay.

    So both ways of making the rate are seen by one and the same kernel's TCP.  Networks of its own.
    """
    del network
    for rate in _QUICK if quick else _RATES:
        yield partial(_before_delay, made_by, rate, quick)


def _before_delay(made_by: MediumName, rate: float, quick: bool) -> list[Line]:
    plan = topology.parse({"kind": "chain", "routers": 1, "link": "bench"}).plan(stations=2, network="bench")
    with built(plan, congestion_control="cubic") as network:

        @contextmanager
        def shaped() -> Iterator[None]:
            ports = network.segments["link1"].ports
            behind = linkplan.plan(
                profile(delay=_DELAY_S), list(ports.stations), seed=SEED, seconds=60, timeline_s=0, made_by="line"
            )
            with link.applied(behind, ports), applied(network, made_by=made_by, rate=rate, queue_time=0.1):
                yield

        return _shares(network, shaped, rate, f"before {_DELAY_S * 1e3:g} ms each way", quick)


def _shares(
    network: Network, shaped: Callable[[], AbstractContextManager[object]], rate: float, where: str, quick: bool
) -> list[Line]:
    found = _both(network, shaped, rate, runs=3 if quick else 4, seconds=8.0 if quick else 10.0)
    half = float(stats.t.ppf(0.975, len(found) - 1) * stats.sem(found))
    note = f"± {half:.2f} (95 %, {len(found)} runs: {' '.join(f'{one:.1f}' for one in found)})"
    return [told(f"TCP both ways, {rate / 1e6:g} Mbit/s, {where}: share of theory", "%", float(np.mean(found)), note)]


def _both(
    network: Network, shaped: Callable[[], AbstractContextManager[object]], rate: float, *, runs: int, seconds: float
) -> list[float]:
    """On the host two stations at a time, whose links are apart; the lab kernel has no processor for two."""
    together_ = 1 if kernel.current() == "lab" or rate > 20e6 else 2
    found: list[float] = []
    while len(found) < runs:
        with shaped():
            server, flows = network.servers[0], []
            for place, station in enumerate(network.stations[:together_]):
                flows += [Flow(station, server, PORT + 2 * place), Flow(server, station, PORT + 2 * place + 1)]
            rates = run(flows, warm_s=_WARM_S, seconds=seconds)
        found += [sum(rates[one : one + 2]) / (2 * rate * _SHARE) * 100 for one in range(0, len(rates), 2)]
    return found[:runs]


MEASURES = (
    Measure(name="tcp", ways=("line", "lab"), run=one_way),
    Measure(name="tcp-both", ways=("line", "lab"), run=both_ways),
    # On one and the same kernel, whose tc need not have netem for these.
    Measure(name="tcp-both-before-delay", ways=("line", "tc"), run=both_ways_before_delay),
    Measure(name="tcp-both-without-delay", ways=("line", "tc", "lab"), run=partial(both_ways, delay_s=0.0)),
)
