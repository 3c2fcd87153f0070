"""What the measurements share: lines of the table, a link between two hosts, senders that are greedy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from emulation.link import features, link
from emulation.link.link import Link
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.direction import FULL_FRAME
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from emulation.proof.probe import Arrivals, ProbePath, probe_path
from topologies.network import Network, Node

SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table.  low, high: the bound, both included; None = reported only."""

    what: str
    unit: str
    asked: float | None
    delivered: float
    low: float | None
    high: float | None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is inside its bound."""
        return (self.low is None or self.delivered >= self.low) and (self.high is None or self.delivered <= self.high)

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def within(what: str, unit: str, asked: float, delivered: float, share: float) -> Line:
    """A line whose bound is a share of what was asked, both ways."""
    return Line(what=what, unit=unit, asked=asked, delivered=delivered, low=asked * (1 - share),
                high=asked * (1 + share))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something to measure.  kernels: that can do it.  run: gives its lines, in a network of `stations`."""

    name: str
    kernels: tuple[str, ...]
    run: Callable[[Network, bool], Iterator[Line]]


def profile(**settings: Any) -> LinkProfile:
    """A profile of the benchmark's own; duplex unless said otherwise."""
    base = {"name": "bench", "description": "made for a measurement", "source": "benchmark", "medium": "duplex"}
    return LinkProfile.model_validate(base | settings)


@contextmanager
def applied(
    network: Network, *, seconds: float = 60, timeline_s: float = 0, made_by: MediumName = "tc", **settings: Any
) -> Iterator[tuple[LinkPlan, Link]]:
    """A link with these settings, in force, as trials have it."""
    names = [node.name for node in network.stations]
    plan = linkplan.plan(profile(**settings), names, seed=SEED, seconds=seconds, timeline_s=timeline_s,
                         made_by=made_by, times_frames=features.times_frames())  # fmt: skip
    with link.applied(plan, network.ports) as one:
        yield plan, one


@contextmanager
def way(
    network: Network, direction: str, *, station: int = 0, silence_s: float = 1.0, port: int = 7007
) -> Iterator[ProbePath]:
    """A probe's path between a station and the server."""
    ends: list[Node] = [network.stations[station], network.servers[0]]
    source, target = ends if direction == "uplink" else ends[::-1]
    with probe_path(from_pid=source.pid, to_pid=target.pid, to_address=target.address, port=port) as path:
        path.wait(silence_s)
        yield path


def flood(
    paths: Sequence[ProbePath], *, rates: Sequence[float], seconds: float, frame: int = FULL_FRAME, even: bool = False
) -> float:
    """Send frames on all paths at once for some seconds, each at its rate (bit/s); the wall clock's ns at the start.

    even: equal pauses.  Else they are random: two flows that are exactly as fast as each other, in front of one full
    queue, share it by who comes just before whom (Floyd and Jacobson, Traffic phase effects, 1991), in any network.
    """
    began, start = time.time_ns(), time.monotonic()

    def run(number: int, path: ProbePath, rate: float) -> None:
        pause = frame * 8 / rate
        chance, due = np.random.default_rng(number), start
        while due < start + seconds:
            time.sleep(max(due - time.monotonic(), 0))
            path.hand_over([frame])
            due += pause if even else chance.uniform(0.2, 1.8) * pause

    jobs = enumerate(zip(paths, rates, strict=True))
    together([lambda number=number, path=path, rate=rate: run(number, path, rate) for number, (path, rate) in jobs])
    return began


def together(jobs: Sequence[Callable[[], None]]) -> None:
    """Run jobs in threads, and wait for all."""
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rate_between(arrivals: Arrivals, began_ns: float, first_s: float, last_s: float) -> float:
    """Bit/s that arrived between two moments after `began_ns`: by the first and the last arrival between them."""
    times = (arrivals.received_ns - began_ns) / 1e9
    inside = np.flatnonzero((times >= first_s) & (times < last_s))
    if len(inside) < 2:
        return 0.0
    return float(arrivals.frame_bytes[inside[1:]].sum() * 8 / (times[inside[-1]] - times[inside[0]]))


def offset_ns() -> int:
    """Wall clock minus CLOCK_MONOTONIC, now."""
    best, found = 1 << 60, 0
    for _ in range(20):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if after - before < best:
            best, found = after - before, wall - (before + after) // 2
    return found
