"""What a scenario's topology means for a trial: its segments, their profiles and link plans, and its paths.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from emulation.line import ceiling
from emulation.line.ceiling import Load
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.plan.stages import Feature, needed, needs_line, needs_tc
from emulation.profile.media import MediumName, WantedMedium
from emulation.profile.profile import LinkProfile
from experiments.scenario import placement
from experiments.scenario.settings import Settings
from topologies.plan import Segment, TopologyPlan
from topologies.routes import Crossing, Routes
from topologies.topology import planned


def topology_plan(settings: Settings) -> TopologyPlan:
    """The network of a cell.  ValueError says why there is none."""
    return planned(settings.topology, stations=settings.stations, network=settings.network)


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


def media(settings: Settings, network: LinkProfile) -> tuple[Load, ...]:
    """The media of stations, which are all made by the same; none where there is no network (see `problems`)."""
    try:
        plan = topology_plan(settings)
    except ValueError:
        return ()
    return tuple(
        Load(
            profile_of(one, network, {}, settings.network),
            len(one.stations),
            settings.group_frames,
            between=not one.wired,
        )
        for one in plan.emulated
        if is_medium(plan, one)
    )


def check_media(settings: Settings, network: LinkProfile) -> None:
    """ValueError for a medium on which a station cannot have the settings that the profile gives it."""
    try:
        plan = topology_plan(settings)
    except ValueError:  # of which the scenario complains by itself
        return
    for one in plan.emulated:
        if is_medium(plan, one):
            linkplan.check_alone(profile_of(one, network, {}, settings.network), one.stations)


def carried(
    settings: Settings, network: LinkProfile, links: Mapping[str, LinkProfile], *, first: MediumName, has_netem: bool
) -> dict[str, Load]:
    """What the line carries in a trial where `first` makes the first segment's link, by segment.

    Where that is the line, all media of stations, and links between routers and servers as long as it carries them
    without being heavy, all of one profile or none, so that equal links are equal; in any case links that need netem,
    where there is none.  All together they may be too much.  Never a link that only tc can make.
    """
    plan = topology_plan(settings)
    of = {
        one.name: Load(
            profile_of(one, network, links, settings.network),
            len(one.stations),
            settings.group_frames and is_medium(plan, one),
            between=not one.wired,
        )
        for one in plan.emulated
    }
    able = {name: load for name, load in of.items() if not needs_tc(load.profile)}
    unlike = [name for name, load in able.items() if not has_netem and Feature.NETEM in needed(load.profile)]
    if first == "tc":
        return {name: load for name, load in able.items() if name in unlike or _needs_line(load)}
    found = {one.name: of[one.name] for one in plan.emulated if is_medium(plan, one) or one.name in unlike}
    for profile in dict.fromkeys(str(one.profile) for one in plan.emulated):
        left = [one.name for one in plan.emulated if one.profile == profile and one.name not in found]
        some = {name: able[name] for name in left if name in able}
        together = (*found.values(), *some.values())
        if not ceiling.why_not(*together) and not ceiling.is_heavy(*together):
            found |= some
    return found


def _needs_line(load: Load) -> str:
    return needs_line(load.profile, group_frames=load.group_frames, between=load.between)


def left_to_tc(settings: Settings, network: LinkProfile, links: Mapping[str, LinkProfile]) -> str:
    """Why the line, insisted on, would not make all links of a topology, '' when it does.

    Media of stations alone may be heavy: who insists has chosen that.
    """
    by_line = carried(settings, network, links, first="line", has_netem=False)
    emulated = topology_plan(settings).emulated
    left = [one for one in emulated if one.name not in by_line]
    for one in emulated:
        if why := needs_tc(profile_of(one, network, links, settings.network)):
            return (
                f"the line cannot make {one.name} ({one.profile}), which has {why}; use medium auto, which leaves it "
                "to tc, or leave that out of the profile"
            )
    if not left:
        return ""
    names, profiles = ", ".join(one.name for one in left), ", ".join(dict.fromkeys(str(one.profile) for one in left))
    return (
        f"beside the stations' media the line has no room for {names} ({profiles}): together they would take more than "
        f"{ceiling.HEAVY_SHARE:.0%} of a core; use slower links or fewer, or medium auto, which leaves them to tc"
    )


def further_plans(
    settings: Settings,
    network: LinkProfile,
    links: Mapping[str, LinkProfile],
    first: LinkPlan,
) -> dict[str, LinkPlan]:
    """The link plan of every emulated segment but the first, by name.  first: the first one's, with its times."""
    plan = topology_plan(settings)
    by_line = carried(settings, network, links, first=first.made_by, has_netem=first.times_frames)
    found = {}
    for segment in plan.emulated[1:]:
        profile = profile_of(segment, network, links, settings.network)
        found[segment.name] = linkplan.plan(
            profile,
            segment.stations,
            seed=seed_of(first.seed, segment.name),
            seconds=first.seconds,
            timeline_s=first.timeline_s,
            made_by="line" if segment.name in by_line else "tc",
            times_frames=first.times_frames,
            group_frames=first.group_frames and is_medium(plan, segment),
            via=segment.via,
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


def problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """Why a topology cannot be used for a load: the key that says so, and what is wrong.

    UnknownStackError as stacks.registry.get.
    """
    try:
        plan = topology_plan(settings)
        yield from placement.problems(settings, plan)
        if len(plan.segments) > 1 and not placement.between_stations(settings):
            for problem in unproven(load_paths(plan)):
                yield "topology", problem
    except ValueError as error:
        yield "topology", str(error)


def wanted_medium(settings: Settings) -> WantedMedium:
    """What a cell may be emulated by: between stations of a medium with a wired side the line only."""
    plan = topology_plan(settings)
    if settings.medium == "auto" and plan.emulated[0].wired and placement.between_stations(settings):
        return "line"
    return settings.medium


def unproven(paths: Iterable[tuple[str, str, tuple[Crossing, ...]]]) -> Iterator[str]:
    """What no proof covers of paths such as load_paths gives."""
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
