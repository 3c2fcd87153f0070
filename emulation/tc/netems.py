"""Where netems delay packets behind the queues, and which packets are led to them.  Pure.

A frame that has left its queue meets up to two of them: one that holds it for its transmission time, and one for
jitter, order and copies, since a netem with a rate lets no packet leave before another one, and has copies pay, too.
They are never in one tree of disciplines: from Linux 6.16 on the kernel refuses a netem that duplicates beside another.

Downlink packets meet them where they leave by their station's port.  Uplink packets of all stations leave by one port,
and meet them there where all go alike; else on devices of their own, to which they are led by their source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from emulation.kernel import qdisc
from emulation.kernel.accesspoint import Ports
from emulation.kernel.qdisc import Discipline
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan, side
from emulation.profile import distribution
from emulation.profile.direction import DirectionProfile
from emulation.profile.timeline import LinkState
from records.directions import Direction

# time: the transmission time.  fate: all else that netem does.  both: where that is one delay for all packets.
Part = Literal["time", "fate", "both"]
_HANDLE, SECOND_CHANCE = 0x30000, 0x40000
_MAX_IN_FLIGHT = 1_000_000
_SMALLEST_FRAME_BITS = 60 * 8
# Faster than the queue, so that what the queue's bucket let through at once is soon caught up with: at the same rate it
# would wait here for as long as the link is busy.
_AHEAD = 1.001
_FLAT = np.zeros(2, np.int16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Netem:
    """One netem.  own: whether its device is made for it, and is no port."""

    device: str
    group: int
    direction: Direction
    part: Part
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Packets that are led to `device` where they leave by `port`.

    stations: those whose packets are, by their source; none: all packets.  back_from: a device of ours that they have
    to come back from; then the port's own discipline leads them, since its hook is passed only once.
    """

    port: str
    device: str
    stations: tuple[str, ...] = ()
    back_from: str = ""


@dataclass(frozen=True, slots=True)
class _Lane:
    """Uplink packets that go one way: those of stations of a group.  parts: the netems that they meet, in order."""

    name: str
    group: int
    stations: tuple[str, ...]
    parts: tuple[Part, ...]


def netems(plan: LinkPlan, ports: Ports) -> tuple[Netem, ...]:
    """Every netem that a plan needs at any time."""
    return (*_uplink_netems(plan, ports), *_downlink_netems(plan, ports))


def ways(plan: LinkPlan, ports: Ports) -> tuple[Way, ...]:
    """How packets come to netems that are not where they pass anyway."""
    return (*_uplink_ways(plan, ports), *_downlink_ways(plan, ports))


def disciplines(plan: LinkPlan, places: Sequence[Netem], state: LinkState) -> list[Discipline]:
    """A state's netems, in the order of `places`."""
    options: dict[tuple[int, Direction, Part], bytes] = {}  # of hundreds of stations, most have the same
    found = []
    for one in places:
        key = one.group, one.direction, one.part
        if key not in options:
            options[key] = _options(plan, one, state)
        found.append(
            Discipline(device=one.device, handle=_HANDLE, parent=qdisc.ROOT, kind="netem", options=options[key])
        )
    return found


def second_chance(device: str) -> Discipline:
    """A discipline that passes packets on at once, and whose filters lead some of them elsewhere before."""
    return Discipline(device=device, handle=SECOND_CHANCE, parent=qdisc.ROOT, kind="htb", options=qdisc.htb(default=0))


def _parts(plan: LinkPlan, group: int, direction: Direction) -> tuple[Part, ...]:
    late = plan.ever_late(group, direction)
    if not plan.pays_for_frames or side(plan.first, group, direction).rate is None:
        return ("fate",) if late else ()
    kinds = plan.kinds(group, direction)
    steady = len({one.delay for one in kinds}) == 1
    if steady and not any(one.jitter or one.reorder or one.duplicate for one in kinds):
        return ("both",)
    return ("time", "fate")


def _lanes(plan: LinkPlan) -> list[_Lane]:
    """Stations go apart where each has an air of its own, and where the packets of each keep their own order."""
    found = []
    for group, members in enumerate(plan.groups):
        parts = _parts(plan, group, "uplink")
        timed = plan.profile.medium == "duplex" and parts and parts[0] != "fate"
        ordered = any(one.jitter and one.keep_order for one in plan.kinds(group, "uplink")) if members else False
        if timed or ordered:
            found += [_Lane(station, group, (station,), parts) for station in members]
        elif members:
            found.append(_Lane(str(group), group, tuple(members), parts))
    return found


def _uplink_netems(plan: LinkPlan, ports: Ports) -> Iterator[Netem]:
    lanes = _lanes(plan)
    for lane in lanes:
        for part in lane.parts:
            own = len(lanes) > 1 or part == "time"
            device = _device(lane, part) if own else ports.wired
            yield Netem(device=device, group=lane.group, direction="uplink", part=part, own=own)


def _device(lane: _Lane, part: Part) -> str:
    return f"{'sent' if part == 'time' else 'late'}-{lane.name}"


def _uplink_ways(plan: LinkPlan, ports: Ports) -> Iterator[Way]:
    lanes = _lanes(plan)
    for lane in lanes:
        devices = [_device(lane, part) for part in lane.parts]
        if len(lanes) > 1:
            yield from (
                Way(port=ports.wired, device=device, stations=lane.stations, back_from=before)
                for device, before in zip(devices, ("", *devices), strict=False)
            )
        elif len(devices) > 1:
            yield Way(port=ports.wired, device=devices[0])


def _downlink_netems(plan: LinkPlan, ports: Ports) -> Iterator[Netem]:
    for group, members in enumerate(plan.groups if "downlink" in plan.directions else ()):
        for station in members:
            for part in _parts(plan, group, "downlink"):
                own = part == "time"
                device = _towards(station) if own else ports.stations[station]
                yield Netem(device=device, group=group, direction="downlink", part=part, own=own)


def _towards(station: str) -> str:
    return f"to-{station}"


def _downlink_ways(plan: LinkPlan, ports: Ports) -> Iterator[Way]:
    for group, members in enumerate(plan.groups if "downlink" in plan.directions else ()):
        if "time" in (_parts(plan, group, "downlink") if members else ()):
            yield from (Way(port=ports.stations[station], device=_towards(station)) for station in members)


def _options(plan: LinkPlan, one: Netem, state: LinkState) -> bytes:
    fate, air = side(state, one.group, one.direction), None
    if one.part != "fate":
        # What is held is in its queue: what has left that is on its way at the rate that held before.
        then = plan.first if one.direction in state.held else state
        air = linkplan.air(plan, then, one.group, one.direction)
    if one.part == "time":
        fate = DirectionProfile()
    jitter, values = distribution.table(fate) if fate.jitter else (0.0, _FLAT)
    return qdisc.netem(
        delay=fate.delay,
        jitter=jitter,
        distribution=values,
        keep_order=fate.keep_order,
        reorder=fate.reorder,
        duplicate=fate.duplicate,
        corrupt=fate.corrupt,
        limit=_in_flight(plan.most_in_flight(one.group, one.direction)),
        rate=air.rate * _AHEAD if air and air.rate else None,
        overhead=air.frame_overhead / _AHEAD if air else 0.0,
    )


def _in_flight(bits: float | None) -> int:
    """netem's limit holds packets in flight as well as queued ones: it must never be what limits."""
    return _MAX_IN_FLIGHT if bits is None else min(int(bits * 2 / _SMALLEST_FRAME_BITS) + 10_000, _MAX_IN_FLIGHT)
