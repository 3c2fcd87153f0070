"""Networks that are planned and not built, for tests that only look at names."""

from __future__ import annotations

from emulation.kernel.accesspoint import Ports
from topologies.network import BuiltSegment, Network, Node
from topologies.plan import Segment, TopologyPlan
from topologies.topology import parse


def unbuilt(stations: int, topology: object = "star", *, network: str = "air") -> Network:
    """Access points have the process numbers 2, 3 ..., hosts 100, 101 ... in the plan's order."""
    plan = parse(topology).plan(stations=stations, network=network)
    return Network(
        plan=plan,
        nodes=tuple(
            Node(
                name=host.name,
                role=host.role,
                pid=100 + number,
                address=plan.address(host.name),
                interfaces=plan.interfaces_of(host.name),
            )
            for number, host in enumerate(plan.hosts)
        ),
        segments={one.name: _segment(plan, one, pid) for pid, one in enumerate(plan.segments, start=2)},
    )


def _segment(plan: TopologyPlan, segment: Segment, pid: int) -> BuiltSegment:
    on = plan.on(segment.name)
    if segment.profile is None:
        return BuiltSegment(plan=segment, ends=tuple((pid, one.port) for one in on))
    stations = [one for one in on if one.host in segment.stations]
    ports = Ports(
        pid=pid,
        stations={one.host: one.port for one in stations},
        wired=plan.wired_port(segment),
        addresses={one.host: one.address for one in stations},
        macs={one.host: one.mac for one in stations},
    )
    ends = ((pid, ports.wired), *((pid, one.port) for one in stations))
    return BuiltSegment(plan=segment, ends=ends, access_point=ports)
