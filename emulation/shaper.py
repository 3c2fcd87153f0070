"""Applying a profile to an access point: the only place that changes queues and filters."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation import losstable
from emulation.accesspoint import Ports
from emulation.loss import Direction, SeededLosses
from emulation.namespace import KernelError, in_namespace
from emulation.profile import DirectionProfile, LinkProfile

_HOOK: dict[Direction, str] = {"uplink": "ffff:fff2", "downlink": "ffff:fff3"}  # clsact ingress and egress
_ETH_P_ALL = 0x0003
_FULL_FRAME = 1514
# tbf must hold one full frame; 1600 was exact from 1 to 54 Mbit/s.  Above that a timer that fires late by some
# tens of microseconds loses tokens unless a millisecond's worth of them can wait.
_MIN_BURST = 1600
_BURST_SECONDS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A shaped queue to be: its device, and the hooks (station, direction) that lead into it."""

    name: str
    profile: DirectionProfile
    hooks: tuple[tuple[str, Direction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCount:
    """bytes and packets have left the queue, at layer 2; dropped found it full; backlog_bytes wait in it."""

    name: str
    bytes: int
    packets: int
    dropped: int
    backlog_bytes: int


def queues(profile: LinkProfile, stations: Sequence[str]) -> tuple[Queue, ...]:
    """Which shaped queues the medium needs: one for all on a shared medium, two per station on a duplex one."""
    directions: tuple[tuple[Direction, DirectionProfile], ...] = (
        ("uplink", profile.uplink),
        ("downlink", profile.downlink),
    )
    if profile.medium == "shared":
        if profile.uplink.rate is None:
            return ()
        hooks = tuple((station, direction) for station in stations for direction, _ in directions)
        return (Queue(name="air", profile=profile.uplink, hooks=hooks),)
    return tuple(
        Queue(name=f"{direction}-{number}", profile=side, hooks=((station, direction),))
        for number, station in enumerate(stations)
        for direction, side in directions
        if side.rate is not None
    )


def burst_bytes(rate: float) -> int:
    """tbf's bucket for a rate in bit/s."""
    return max(_MIN_BURST, int(rate / 8 * _BURST_SECONDS))


class AppliedLink:
    """A profile in force.  Its counters start at zero."""

    def __init__(self, ports: Ports, shaped: Sequence[Queue], losses: Sequence[SeededLosses]) -> None:
        self.ports = ports
        self.losses = tuple(losses)
        self._names = [queue.name for queue in shaped]

    def queue_counts(self) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue."""
        return self.timed_queue_counts()[1]

    def timed_queue_counts(self) -> tuple[int, tuple[QueueCount, ...]]:
        """The moment (CLOCK_MONOTONIC, ns) and the counters of every shaped queue then."""

        def work() -> tuple[int, tuple[QueueCount, ...]]:
            with IPRoute() as ip:
                return time.monotonic_ns(), read_queues(ip, self._names)

        return in_namespace(self.ports.pid, work)

    def loss_counts(self) -> tuple[losstable.LossCount, ...]:
        """Counters of the loss stage, uplink and downlink."""
        return losstable.read(self.ports.pid, self.losses)

    @property
    def queue_names(self) -> tuple[str, ...]:
        """Devices of the shaped queues."""
        return tuple(self._names)


@contextmanager
def applied(profile: LinkProfile, ports: Ports, losses: Sequence[SeededLosses]) -> Iterator[AppliedLink]:
    """Put `profile` between the stations and the wired side for as long as the context lasts."""
    shaped = queues(profile, list(ports.stations))
    with ExitStack() as undo:
        losstable.load(ports.pid, ports.wired, losses)
        undo.callback(losstable.unload, ports.pid)
        undo.callback(in_namespace, ports.pid, lambda: _remove(ports, shaped))
        in_namespace(ports.pid, lambda: _build(profile, ports, shaped))
        yield AppliedLink(ports, shaped, losses)


def redirect(ip: IPRoute, *, port: int, to: Mapping[Direction, int]) -> None:
    """Send what passes interface `port` through other interfaces: `to` maps a direction to an index."""
    ip.tc("add", "clsact", port)
    for direction, index in to.items():
        ip.tc(
            "add-filter",
            "u32",
            port,
            parent=_HOOK[direction],
            protocol=_ETH_P_ALL,
            target=0x10000,
            keys=["0x0/0x0+0"],
            action=[{"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": index}],
        )


def read_queues(ip: IPRoute, names: Sequence[str]) -> tuple[QueueCount, ...]:
    """Counters of the root qdisc of each interface in `names`; `ip` is in their namespace."""
    counts = []
    for name in names:
        (qdisc,) = list(ip.get_qdiscs(index=index_of(ip, name)))
        stats = qdisc.get_attr("TCA_STATS2")
        basic, queue = stats.get_attr("TCA_STATS_BASIC"), stats.get_attr("TCA_STATS_QUEUE")
        counts.append(
            QueueCount(
                name=name,
                bytes=basic["bytes"],
                packets=basic["packets"],
                dropped=queue["drops"],
                backlog_bytes=queue["backlog"],
            )
        )
    return tuple(counts)


def index_of(ip: IPRoute, name: str) -> int:
    """Index of an interface in the namespace of `ip`; KernelError when there is none."""
    found = ip.link_lookup(ifname=name)
    if not found:
        raise KernelError(f"looking for interface {name}: there is none")
    return int(found[0])


def _build(profile: LinkProfile, ports: Ports, shaped: Sequence[Queue]) -> None:
    with IPRoute() as ip, _named("shaping the access point"):
        leads: dict[str, dict[Direction, int]] = {station: {} for station in ports.stations}
        for queue in shaped:
            ip.link("add", ifname=queue.name, kind="ifb")
            index = index_of(ip, queue.name)
            ip.link("set", index=index, state="up", txqlen=1000)
            rate = queue.profile.rate
            assert rate is not None
            ip.tc(
                "add",
                "tbf",
                index,
                handle="1:",
                rate=int(rate / 8),
                burst=burst_bytes(rate),
                limit=queue.profile.queue_bytes,
            )
            for station, direction in queue.hooks:
                leads[station][direction] = index
        for station, to in leads.items():
            if to:
                redirect(ip, port=index_of(ip, ports.stations[station]), to=to)
        _delay(ip, ports.wired, profile.uplink)
        for port in ports.stations.values():
            _delay(ip, port, profile.downlink)


def _delay(ip: IPRoute, port: str, side: DirectionProfile) -> None:
    if not side.delay:
        return
    # netem's limit counts packets in flight as well as queued ones; at an unlimited rate a million is no limit.
    in_flight = 1_000_000 if side.rate is None else int(side.rate * side.delay / 8 / 60) + 1000
    ip.tc("add", "netem", index_of(ip, port), handle="2:", delay=int(side.delay * 1e6), limit=in_flight)


def _remove(ports: Ports, shaped: Sequence[Queue]) -> None:
    with IPRoute() as ip:
        for port in (ports.wired, *ports.stations.values()):
            for qdisc in list(ip.get_qdiscs(index=index_of(ip, port))):
                if qdisc.get_attr("TCA_KIND") in ("clsact", "netem"):
                    ip.tc("del", qdisc.get_attr("TCA_KIND"), qdisc["index"], parent=qdisc["parent"])
        for queue in shaped:
            for index in ip.link_lookup(ifname=queue.name):
                ip.link("del", index=index)


@contextmanager
def _named(action: str) -> Iterator[None]:
    try:
        yield
    except NetlinkError as error:
        raise KernelError(f"{action}: {error}") from error
