"""Proof of a trial's links before its load: each segment by itself, then every path over several of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product

import numpy as np

from emulation.line.serving import LineProcess
from emulation.link.link import applied
from emulation.plan.linkplan import LinkPlan
from emulation.profile import distribution
from emulation.proof import expectation
from emulation.proof.asked import Asked, asked_of
from emulation.proof.delayproof import DELAY_TOLERANCE_S, EARLY_S, SHORT
from emulation.proof.groupproof import probe_group
from emulation.proof.peerproof import probe_peers
from emulation.proof.probe import MIN_FRAME, Arrivals, probe_path
from emulation.proof.proof import probe_link
from records.directions import Direction
from records.link import LinkCheck
from topologies.network import Network, Node, peer_ends, probe_ends, station_ends

PATHS = "paths"  # what the checks of whole paths are kept under, beside those of segments
_PACKETS, _SPACING_S, _SILENCE_S = 20, 0.005, 0.3

Checks = dict[str, tuple[LinkCheck, ...]]


def prove(
    network: Network,
    plans: Mapping[str, LinkPlan],
    names: Collection[str],
    process: LineProcess,
    peer_ways: Collection[tuple[str, str]] = (),
) -> Checks:
    """Measure segments, and with PATHS the paths over them.  plans: of all segments; nothing else may use them.

    Each segment is probed between its own ends, with the others bare.  process: carries what the line makes.
    peer_ways: stations of the first one that are its ends instead, sender and receiver.
    """
    found: Checks = {}
    first = next(iter(plans))
    for name, plan in plans.items():
        if name in names:
            with applied(plan, network.segments[name].ports, process, name) as link:
                if peer_ways and name == first:
                    pairs = peer_ends(network, plan.groups, peer_ways)
                    found[name] = probe_peers(plan, pairs, renumber=link.renumber)
                else:
                    found[name] = probe_link(plan, probe_ends(network, plan.groups, name))
                if plan.group_frames:
                    found[name] += probe_group(plan, link, station_ends(network, name))
    if PATHS in names:
        found[PATHS] = _paths(network, plans, process)
    return found


def to_prove(plans: Mapping[str, LinkPlan], *, segments: int) -> tuple[str, ...]:
    """Everything that `prove` measures; over a single segment a path is no more than that.

    segments: of the network, plain switches included: routers and address translators lie between them.
    """
    return (*plans, PATHS) if segments > 1 else tuple(plans)


@dataclass(frozen=True, slots=True)
class _Path:
    """One way from host to host.

    asked: of each direction of a segment that it crosses.  answers: whether only what answers gets through.
    """

    sender: Node
    receiver: Node
    direction: Direction
    segments: tuple[str, ...]
    asked: tuple[Asked, ...]
    answers: bool


def _paths(network: Network, plans: Mapping[str, LinkPlan], process: LineProcess) -> tuple[LinkCheck, ...]:
    with ExitStack() as shaped:
        for name, plan in plans.items():
            shaped.enter_context(applied(plan, network.segments[name].ports, process, name))
        return tuple(path_check(path, _probed(path)) for path in _different(network, plans))


def _different(network: Network, plans: Mapping[str, LinkPlan]) -> Iterator[_Path]:
    """Paths between stations and servers, of those that ask the same of the same segments one."""
    seen = set()
    for station, server in product(network.stations, network.servers):
        for sender, receiver, direction in _both_ways(station, server):
            crossed = network.routes.load_path(sender.name, receiver.name)
            ways = tuple((one.segment, one.direction, _group(plans[one.segment], one.station)) for one in crossed)
            answers = network.routes.answers(sender.name, receiver.name)
            ends = (receiver.name, sender.name) if answers else (sender.name, receiver.name)
            if (ways, server.name) not in seen and len(network.routes.hops(*ends)) > 1:
                seen.add((ways, server.name))
                asked = tuple(asked_of(plans[name], plans[name].first, group, way) for name, way, group in ways)
                yield _Path(sender, receiver, direction, tuple(name for name, *_ in ways), asked, answers)


def _both_ways(station: Node, server: Node) -> tuple[tuple[Node, Node, Direction], tuple[Node, Node, Direction]]:
    return (station, server, "uplink"), (server, station, "downlink")


def _group(plan: LinkPlan, station: str) -> int:
    return next(number for number, members in enumerate(plan.groups) if station in members)


def _probed(path: _Path) -> Arrivals:
    sides, spacing_s = [one.side for one in path.asked], _spacing_s(path)
    sender, receiver = path.sender, path.receiver
    with probe_path(
        from_pid=sender.pid, to_pid=receiver.pid, to_address=receiver.address,
        answers=sender.address if path.answers else "",
    ) as probe:  # fmt: skip
        kept = all(side.keep_order and not side.reorder and not side.duplicate for side in sides)
        probe.wait(_SILENCE_S + sum(side.delay + distribution.longest(side) for side in sides), in_order=kept)
        probe.send([MIN_FRAME], spacing_s=spacing_s)  # pays for cold caches
        return probe.send([MIN_FRAME] * _PACKETS, spacing_s=spacing_s)


def _spacing_s(path: _Path) -> float:
    """Far enough apart that no packet waits until the one before has been sent."""
    return max(_SPACING_S, 2 * sum(one.side.airtime(MIN_FRAME) for one in path.asked))


def path_check(path: _Path, arrivals: Arrivals) -> LinkCheck:
    """The median one-way delay of single small frames over a whole path against the sum of its segments'.

    Each segment may be off by as much as its own proof tolerates.
    """
    delays = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    paid_s = sum((one.air if one.pays_for_frames else one.side).airtime(MIN_FRAME) for one in path.asked)
    owed_s = sum(one.air.airtime(MIN_FRAME) for one in path.asked if one.pays_for_frames)
    sides = [one.side for one in path.asked]
    runs = expectation.delays(*sides, packets=max(len(delays), 1), spacing_s=_spacing_s(path))
    median = expectation.delay(runs, 0.5)
    many = len(path.asked)
    return LinkCheck(
        quantity="delay",
        direction=path.direction,
        source="probe",
        asked=sum(one.side.delay for one in path.asked) + owed_s,
        delivered=float(np.median(delays)) if len(delays) else float("inf"),
        low=median.low + owed_s - many * EARLY_S - SHORT * owed_s,
        high=median.high + paid_s + many * DELAY_TOLERANCE_S,
        detail=f"median of {len(delays)} packets of {MIN_FRAME} bytes from {path.sender.name} to {path.receiver.name} "
        f"over {', '.join(path.segments)}",
    )
