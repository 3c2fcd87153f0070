"""What a trial records of its packets: at which ports, and how much of each packet.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from emulation.link.capture import Tap
from emulation.plan.linkplan import LinkPlan, medium, queues, side
from emulation.profile.timeline import LinkState
from experiments.scenario.segments import is_medium
from experiments.scenario.settings import CAPTURE_POINTS, CaptureSettings
from records.directions import DIRECTIONS
from records.manifest import CapturePoint
from topologies.network import BuiltSegment, Network

# On a slow link whole packets cost nothing: at 20 Mbit/s each port's record grows by 2.5 MB a second.
SLOW_BIT_S = 20e6
WHOLE = 65_535
# Headers of Ethernet, IPv4 and TCP with timestamps (66 bytes), those of ActiveMQ's STOMP MESSAGE (213 to 234 in the
# default experiment), the marker (24), and room for longer names: a message at the start of a segment is seen.
FAST_SNAP_BYTES = 384
# A recorder per port and station: with more stations than these, the clients' ports are left out.
MOST_CLIENTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One port to record.  node: at this end or the other end of its cable, '' where nobody is.

    link: the segment, where it is not a medium that stations hang on but a link between routers or servers.
    """

    point: CapturePoint
    node: str
    tap: Tap
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePlan:
    """snap_bytes: how much of each packet is kept.  rate: the most that passes a port, bit/s, None = no limit."""

    snap_bytes: int
    places: tuple[Place, ...]
    rate: float | None

    def place(self, port: str) -> Place:
        """The place whose port has this name."""
        return next(one for one in self.places if one.tap.port == port)


def capture_plan(settings: CaptureSettings, links: Sequence[LinkPlan], network: Network) -> CapturePlan:
    """What is recorded on these links; what the settings leave open is chosen by the highest rate of theirs.

    At most 20 Mbit/s: whole packets, at the access point's ports and the nodes' own.  Faster: the access point's
    ports, and of each packet what a marker is found in.
    """
    rates = [highest_rate(link) for link in links]
    highest = None if None in rates else max(rate for rate in rates if rate is not None)
    snap_bytes, points = snap_and_points(settings, highest, len(network.stations))
    return CapturePlan(
        snap_bytes=snap_bytes,
        places=tuple(place for place in _places(network, turned=_turned(links[0])) if place.point in points),
        rate=highest,
    )


def snap_and_points(
    settings: CaptureSettings, rate: float | None, stations: int
) -> tuple[int, tuple[CapturePoint, ...]]:
    """How much of each packet is kept, and at which points, on a link of this rate (bit/s, None = no limit)."""
    if not settings.enabled:
        return 0, ()
    slow = rate is not None and rate <= SLOW_BIT_S
    return (
        settings.snap_bytes or (WHOLE if slow else FAST_SNAP_BYTES),
        settings.points or _points(slow=slow, stations=stations),
    )


def why_not_kept(settings: CaptureSettings, *, trial: int, sizes: Iterable[int]) -> str:
    """Why captures of these sizes (bytes) do not stay with trial number `trial` (from 1), '' when they do."""
    if not settings.enabled:
        return "nothing was captured: the scenario has capture off"
    if (trial - 1) % settings.keep_every:
        return f"captures are kept of one trial in {settings.keep_every} (capture.keep_every), and not of this one"
    if settings.keep_mb is not None and (size := sum(sizes)) > settings.keep_mb * 1e6:
        return f"captures of {size / 1e6:.1f} MB were not kept: more than {settings.keep_mb:g} MB (capture.keep_mb)"
    return ""


def highest_rate(link: LinkPlan) -> float | None:
    """The most that all stations together can send in one direction at any time, bit/s; None = no limit."""
    totals = [_total(link, state) for state in link.states()]
    return None if None in totals else max(total for total in totals if total is not None)


def _total(link: LinkPlan, state: LinkState) -> float | None:
    if link.profile.medium == "shared":
        found = queues(link)
        return medium(found[0], state).rate if found else None
    rates = {
        direction: [side(state, group, direction).rate for group, some in enumerate(link.groups) for _ in some]
        for direction in DIRECTIONS
    }
    if any(None in some for some in rates.values()):
        return None
    return max(sum(rate for rate in some if rate is not None) for some in rates.values())


def _points(*, slow: bool, stations: int) -> tuple[CapturePoint, ...]:
    if not slow:
        return ("station", "wired")
    return tuple(point for point in CAPTURE_POINTS if point != "client" or stations <= MOST_CLIENTS)


def _turned(link: LinkPlan) -> bool:
    """Whether a frame from station to station passes the wired port between its way up and its way down."""
    return link.made_by == "tc" and link.via == "access-point"


def _places(network: Network, *, turned: bool) -> Iterator[Place]:
    for segment in network.emulated:
        yield from _of_segment(network, segment, turned=turned)


def _of_segment(network: Network, segment: BuiltSegment, *, turned: bool) -> Iterator[Place]:
    """Ports of the access point, and at the other ends of their cables those of servers and stations."""
    ports, name = segment.ports, "" if is_medium(network.plan, segment.plan) else segment.plan.name
    there = {one.host: one for one in network.plan.on(segment.plan.name)}
    behind = segment.plan.wired
    if behind:
        yield Place(point="wired", node=behind[0], tap=Tap(pid=ports.pid, port=ports.wired), link=name)
    elif turned:
        yield Place(point="wired", node="", tap=Tap(pid=ports.pid, port=ports.wired))
    for node in map(network.node, behind):
        if node.role == "server":
            yield Place(point="server", node=node.name, tap=Tap(pid=node.pid, port=there[node.name].name), link=name)
    for node in map(network.node, segment.plan.stations):
        port = Tap(pid=ports.pid, port=ports.stations[node.name])
        yield Place(point="station", node=node.name, tap=port, link=name)
        if node.role == "station":
            yield Place(point="client", node=node.name, tap=Tap(pid=node.pid, port=there[node.name].name))
