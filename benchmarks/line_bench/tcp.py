"""TCP: one way against theory, and both ways at once, which is compared between the ways of making a link."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from accuracy.bench import Line, applied, together
from scipy import stats

from emulation import kernel
from emulation.direction import FULL_FRAME
from emulation.media import MediumName
from emulation.namespace import in_namespace
from line_bench.common import Measure, Part, bounded, told
from topologies.network import Network, Node

_RATES = (1e6, 10e6, 50e6)
_DELAY_S = 0.025  # each way: a round trip of 50 ms
_HEADERS = 14 + 20 + 20 + 12  # Ethernet, IPv4, TCP, its time stamps
_SHARE = (FULL_FRAME - _HEADERS) / FULL_FRAME
_WITHIN = 1.0  # per cent
_CHUNK = bytes(1 << 16)
_WARM_S = 8.0  # slow start, and the first of cubic's epochs, are over
_PORT = 7100


@dataclass(slots=True)
class Flow:
    """A greedy flow.  seen: moments (s) and the bytes that had arrived by then."""

    source: Node
    target: Node
    port: int
    seen: list[tuple[float, int]] = field(default_factory=list)

    def goodput(self, since: float) -> float:
        """Bit/s that arrived from a moment on, from one reading to the last one."""
        times, got = np.array(self.seen).T
        first = int(np.searchsorted(times, since))
        return float((got[-1] - got[first]) * 8 / (times[-1] - times[first])) if len(times) > first + 1 else 0.0


def run(flows: Sequence[Flow], *, seconds: float) -> list[float]:
    """What each of the flows delivers at the same time (bit/s of payload), after warming up."""
    stop = threading.Event()

    def send(end: socket.socket) -> None:
        end.settimeout(0.2)
        while not stop.is_set():
            try:
                end.send(_CHUNK)
            except TimeoutError:
                continue

    def receive(flow: Flow, end: socket.socket) -> None:
        end.settimeout(0.2)
        total = 0
        while not stop.is_set():
            try:
                total += len(end.recv(1 << 17))
            except TimeoutError:
                continue
            flow.seen.append((time.monotonic(), total))

    with ExitStack() as stack:
        ends = [_connected(flow, stack) for flow in flows]
        jobs: list[Callable[[], None]] = [lambda end=sender: send(end) for sender, _ in ends]
        jobs += [lambda flow=flow, end=end: receive(flow, end) for flow, (_, end) in zip(flows, ends, strict=True)]
        since = time.monotonic() + _WARM_S
        timer = threading.Timer(_WARM_S + seconds, stop.set)
        timer.start()
        together(jobs)
    return [flow.goodput(since) for flow in flows]


def _connected(flow: Flow, stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    source, target = flow.source, flow.target
    with in_namespace(target.pid, lambda: socket.create_server((target.address, flow.port))) as listener:
        sender = in_namespace(source.pid, lambda: socket.create_connection((target.address, flow.port), timeout=10))
        stack.enter_context(sender)
        receiver = stack.enter_context(listener.accept()[0])
    return sender, receiver


def one_way(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """A flow up from one station and a flow down to another, for each rate, against what headers leave of the rate."""
    for rate in _RATES[1:2] if quick else _RATES:
        yield partial(_one_way, network, made_by, rate, 12.0 if quick else 25.0)


def _one_way(network: Network, made_by: MediumName, rate: float, seconds: float) -> Iterator[Line]:
    with applied(network, made_by=made_by, rate=rate, delay=_DELAY_S, queue_time=0.1):
        first, second, *_ = network.stations
        server = network.servers[0]
        flows = [Flow(first, server, _PORT), Flow(server, second, _PORT + 1)]
        for name, found in zip(("up", "down"), run(flows, seconds=seconds), strict=True):
            error = (found / (rate * _SHARE) - 1) * 100
            yield bounded(made_by, f"TCP one way, {rate / 1e6:g} Mbit/s, {name}: error against theory", "%", error,
                          -_WITHIN, _WITHIN, f"{found / 1e6:.4f} Mbit/s of payload")  # fmt: skip


def both_ways(network: Network, made_by: MediumName, quick: bool) -> Iterator[Part]:
    """Flows up and down at once over a duplex link: their sum as a share of theory, its mean and 95 % interval."""
    for rate in _RATES[1:2] if quick else _RATES:
        yield partial(_both_ways, network, made_by, rate, quick)


def _both_ways(network: Network, made_by: MediumName, rate: float, quick: bool) -> list[Line]:
    found = _both(network, made_by, rate, runs=3 if quick else 4, seconds=8.0 if quick else 10.0)
    half = float(stats.t.ppf(0.975, len(found) - 1) * stats.sem(found))
    note = f"± {half:.2f} (95 %, {len(found)} runs: {' '.join(f'{one:.1f}' for one in found)})"
    return [told(f"TCP both ways, {rate / 1e6:g} Mbit/s: share of theory", "%", float(np.mean(found)), note)]


def _both(network: Network, made_by: MediumName, rate: float, *, runs: int, seconds: float) -> list[float]:
    """On the host two stations at a time, whose links are apart; the lab kernel has no processor for two."""
    together_ = 1 if kernel.current() == "lab" or rate > 20e6 else 2
    found: list[float] = []
    while len(found) < runs:
        with applied(network, made_by=made_by, rate=rate, delay=_DELAY_S, queue_time=0.1):
            server, flows = network.servers[0], []
            for place, station in enumerate(network.stations[:together_]):
                flows += [Flow(station, server, _PORT + 2 * place), Flow(server, station, _PORT + 2 * place + 1)]
            rates = run(flows, seconds=seconds)
        found += [sum(rates[one : one + 2]) / (2 * rate * _SHARE) * 100 for one in range(0, len(rates), 2)]
    return found[:runs]


MEASURES = (
    Measure(name="tcp", ways=("line", "lab"), run=one_way),
    Measure(name="tcp-both", ways=("line", "lab"), run=both_ways),
)
