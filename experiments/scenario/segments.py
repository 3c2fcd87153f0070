"""What a scenario's topology means for a trial: its segments, their profiles and link plans, and its paths.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from emulation.line import ceiling
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.plan.stages import Feature, needed
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import Settings
from topologies.plan import Segment, TopologyPlan
from topologies.routes import Crossing, Routes


def topology_plan(settings: Settings) -> TopologyPlan:
    """The network of a cell.  ValueError says why there is none."""
    return settings.topology.plan(stations=settings.stations, network=settings.network)


def servers(settings: Settings) -> tuple[str, ...]:
    """Names of the servers of a cell."""
    return topology_plan(settings).of_role("server")


def is_medium(plan: TopologyPlan, segment: Segment) -> bool:
    """Whether stations hang on a segment, as on the medium that the scenario is about; else it is a link."""
    return any(plan.role(host) == "station" for host in segment.stations)


def profile_of(segment: Segment, network: LinkProfile, links: Mapping[str, LinkProfile], name: str) -> LinkProfile:
    """A segment's profile.  network: that of the profile called `name`; links: those of the others, by name.

    Of settings and outages of single stations, those of the segment's.
    """
    if segment.profile != name:
        return links[str(segment.profile)]
    mine = set(segment.stations)
    events = [one for one in network.timeline if not one.stations or mine & set(one.stations)]
    return network.model_copy(
        update={
            "stations": {station: sides for station, sides in network.stations.items() if station in mine},
            "timeline": tuple(
                one.model_copy(update={"stations": tuple(sta for sta in one.stations if sta in mine)}) for one in events
            ),
        }
    )


def seed_of(seed: int, segment: str) -> int:
    """The seed of a further segment: each loses other packets than its neighbours."""
    return int.from_bytes(hashlib.sha256(f"{seed} {segment}".encode()).digest()[:8]) >> 1


def made_by(profile: LinkProfile, stations: int, *, wanted: MediumName, has_netem: bool) -> MediumName:
    """What makes a further segment's link: what makes the first one's where that can, else the other."""
    if wanted == "line":
        slow = not ceiling.why_not(profile, stations) and not ceiling.is_heavy(profile, stations)
        return "line" if slow or (Feature.NETEM in needed(profile) and not has_netem) else "tc"
    return "line" if Feature.NETEM in needed(profile) and not has_netem else "tc"


def further_plans(
    settings: Settings,
    network: LinkProfile,
    links: Mapping[str, LinkProfile],
    first: LinkPlan,
) -> dict[str, LinkPlan]:
    """The link plan of every emulated segment but the first, by name.  first: the first one's, with its times."""
    plan = topology_plan(settings)
    found = {}
    for segment in plan.emulated[1:]:
        profile = profile_of(segment, network, links, settings.network)
        found[segment.name] = linkplan.plan(
            profile,
            segment.stations,
            seed=seed_of(first.seed, segment.name),
            seconds=first.seconds,
            timeline_s=first.timeline_s,
            made_by=made_by(profile, len(segment.stations), wanted=first.made_by, has_netem=first.times_frames),
            times_frames=first.times_frames,
        )
    return found


def first_profile(settings: Settings, network: LinkProfile) -> LinkProfile:
    """The profile of the first emulated segment, a medium of stations."""
    return profile_of(topology_plan(settings).emulated[0], network, {}, settings.network)


def load_paths(plan: TopologyPlan) -> Iterator[tuple[str, str, tuple[Crossing, ...]]]:
    """Every path that clients' packets can take to servers: station, server, what is crossed.  NoPath if none."""
    routes = Routes(plan)
    for station in plan.of_role("station"):
        for server in plan.of_role("server"):
            yield station, server, routes.path(station, server)


def problems(settings: Settings) -> Iterator[str]:
    """Why a topology cannot be used for a load from stations to servers."""
    try:
        plan = topology_plan(settings)
        if not plan.of_role("server"):
            yield f"{settings.topology.kind} has no server, and pattern '{settings.workload.pattern.value}' needs one"
        elif len(plan.segments) > 1:
            paths = list(load_paths(plan))
            yield from _unproven(paths)
    except ValueError as error:
        yield str(error)


def _unproven(paths: Iterable[tuple[str, str, tuple[Crossing, ...]]]) -> Iterator[str]:
    for station, server, path in paths:
        for one, other in pairwise(path):
            if one.segment == other.segment:
                yield (
                    f"the path from {station} to {server} goes from {one.station} to {other.station} on segment "
                    f"{one.segment}, which no proof covers: links are proven between their medium and their wired side"
                )


def unfit_link(profile: LinkProfile) -> str:
    """Why a profile cannot be that of a link between routers or servers, '' when it can."""
    if profile.timeline:
        return f"profile {profile.name!r} has a timeline, which only the stations' medium plays: give the link another"
    if profile.stations:
        return f"profile {profile.name!r} has settings for single stations, of which a link has none: give it another"
    return ""
