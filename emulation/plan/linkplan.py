"""Everything that a profile means for one trial, before a kernel is touched: states, losses, queues.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from emulation.plan import loss
from emulation.plan.loss import SeededLosses
from emulation.profile import distribution, timeline
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.lossmodel import LossModel, has_memory
from emulation.profile.media import MediumName, Via
from emulation.profile.profile import LinkProfile
from emulation.profile.timeline import LinkState, Step
from records.directions import DIRECTIONS, Direction
from records.link import by_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A shaped queue to be: its device, the hooks (station, direction) that lead into it, the groups that use it.

    direction: whose settings give its rate; on a shared medium both say the same.  traced: whether a recorded trace
    sets the rate, and may hold what waits.
    """

    name: str
    direction: Direction
    groups: tuple[int, ...]
    hooks: tuple[tuple[str, Direction], ...]
    traced: bool = False


@dataclass(frozen=True, kw_only=True)
class LinkPlan:
    """groups: stations with equal settings, as in LinkProfile.groups.  losses: every list that may be in force.

    seed, seconds, timeline_s, made_by, times_frames, via, group_frames: as given to `plan`.
    """

    profile: LinkProfile
    groups: tuple[tuple[str, ...], ...]
    steps: tuple[Step, ...]
    losses: tuple[SeededLosses, ...]
    models: tuple[LossModel, ...]
    seed: int
    seconds: float
    timeline_s: float
    made_by: MediumName = "tc"
    times_frames: bool = False
    via: Via = "access-point"
    group_frames: bool = False

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Those whose settings packets meet."""
        return met(self.via)

    @cached_property
    def pays_for_frames(self) -> bool:
        """Whether a frame that finds an idle link takes its transmission time, too, and not just the next one.

        Where `burst_bytes` says what may pass at once, nothing spaces frames out behind the queue.
        """
        return self.made_by == "line" or (self.times_frames and not timeline.bursts(self.profile))

    @property
    def first(self) -> LinkState:
        """The link before its timeline begins."""
        return timeline.initial(self.profile)

    def states(self) -> Iterator[LinkState]:
        """Every state that the link will be in."""
        yield self.first
        for step in self.steps:
            yield step.state

    def in_force(self, state: LinkState, group: int, direction: Direction, station: str = "") -> SeededLosses:
        """The losses of a group's station and direction while the link is in `state`; '' = the group's first."""
        model = side(state, group, direction).loss
        own, shared = (self._lists.get((group, direction, one), []) for one in (station or self.groups[group][0], ""))
        return next(one for theirs, one in (*own, *shared) if theirs == model)

    @cached_property
    def _lists(self) -> dict[tuple[int, Direction, str], list[tuple[LossModel, SeededLosses]]]:
        found: dict[tuple[int, Direction, str], list[tuple[LossModel, SeededLosses]]] = {}
        for model, one in zip(self.models, self.losses, strict=True):
            found.setdefault((one.group, one.direction, one.station), []).append((model, one))
        return found

    def ever_late(self, group: int, direction: Direction) -> bool:
        """Whether packets of a group and direction are at any time delayed, copied or damaged."""
        return any(one.late for one in self._kinds[group, direction])

    def kinds(self, group: int, direction: Direction) -> tuple[DirectionProfile, ...]:
        """The settings that a group's direction has at any time, each but for its rate once."""
        return tuple(self._kinds[group, direction])

    def most_in_flight(self, group: int, direction: Direction) -> float | None:
        """Bits of a group and direction that can be delayed at one time; None = the rate has no limit."""
        kinds = self._kinds[group, direction]
        rates = [one.rate for one in kinds]
        if None in rates:
            return None
        return max(rate for rate in rates if rate is not None) * max(map(distribution.longest, kinds))

    @cached_property
    def _kinds(self) -> dict[tuple[int, Direction], list[DirectionProfile]]:
        """Of each group and direction the settings that it has at any time, each but for its rate once."""
        found: dict[tuple[int, Direction], dict[object, DirectionProfile]] = {}
        for state in self.states():
            for group in range(len(self.groups)):
                for direction in DIRECTIONS:
                    one = side(state, group, direction)
                    key = (
                        one.delay, one.jitter, one.jitter_distribution, one.late, one.keep_order, one.reorder,
                        one.duplicate,
                    )  # fmt: skip
                    seen = found.setdefault((group, direction), {})
                    if key not in seen or (one.rate or 0) > (seen[key].rate or 0):
                        seen[key] = one
        return {key: list(seen.values()) for key, seen in found.items()}


def side(state: LinkState, group: int, direction: Direction) -> DirectionProfile:
    """A group's settings of one direction while the link is in `state`."""
    found: DirectionProfile = getattr(state.sides[group], direction)
    return found


def plan(
    profile: LinkProfile,
    stations: Sequence[str],
    *,
    seed: int,
    seconds: float,
    timeline_s: float,
    made_by: MediumName = "tc",
    times_frames: bool = False,
    via: Via = "access-point",
    group_frames: bool = False,
) -> LinkPlan:
    """What `profile` does to `stations`.  ValueError when it speaks of a station that is not there.

    seconds: how long packets are sent at most; the loss lists are as long.  timeline_s: from the window's start
    to the end, which is how much of the timeline is seen.  made_by: what is to make the link.  times_frames: whether
    tc gives each frame its transmission time, for which the kernel must have netem
    (emulation.link.features.times_frames).
    via: how frames come from one station to another.  group_frames: whether frames to a group (broadcast, multicast)
    reach all stations, and take a shared medium once, not once for each of them.
    """
    groups = profile.groups(stations)
    check_alone(profile, stations)
    # Lists are as long for one medium as for the other, so that both lose the same packets.
    listed = timeline.states(profile, until_s=timeline_s)
    steps = listed if made_by == "tc" else timeline.states(profile, until_s=timeline_s, made_by=made_by)
    losses: list[SeededLosses] = []
    models: list[LossModel] = []
    states = [timeline.initial(profile), *(step.state for step in listed if step.label)]
    for group, members in enumerate(groups):
        for direction in met(via) if members else ():
            sides = [side(state, group, direction) for state in states]
            rates = [one.rate for one in sides]
            rate = None if None in rates else max(rate for rate in rates if rate is not None)
            for number, model in enumerate(dict.fromkeys(one.loss for one in sides)):
                whose = channels(profile, members, model)
                modulus = loss.modulus_for(rate=rate, seconds=seconds, lists=len(whose))
                for station in whose:
                    one = loss.expand(
                        model,
                        seed=seed,
                        direction=direction,
                        modulus=modulus,
                        group=group,
                        state=number,
                        station=station,
                    )
                    losses.append(one)
                    models.append(model)
    return LinkPlan(
        profile=profile,
        groups=groups,
        steps=steps,
        losses=tuple(losses),
        models=tuple(models),
        seed=seed,
        seconds=seconds,
        timeline_s=timeline_s,
        made_by=made_by,
        times_frames=times_frames,
        via=via,
        group_frames=group_frames,
    )


def check_alone(profile: LinkProfile, stations: Sequence[str]) -> None:
    """ValueError for a station that is alone and slower than its shared medium: its rate would be the medium's, on
    which each of its frames takes longer than beside another station.
    """
    groups = profile.groups(stations)
    used = [number for number, members in enumerate(groups) if members]
    if profile.medium != "shared" or profile.station_rate == "phy" or len(used) != 1 or used[0] == 0:
        return
    state = timeline.initial(profile)
    for direction in DIRECTIONS:
        whole, own = (side(state, number, direction) for number in (0, used[0]))
        if (whole.rate, whole.frame_overhead) != (own.rate, own.frame_overhead):
            raise ValueError(
                f"stations: {groups[used[0]][0]} is alone on a shared medium and has a rate of its own below it: use "
                "another station beside it, give the medium that rate, or say `station_rate: phy`"
            )


def met(via: Via) -> tuple[Direction, ...]:
    """The directions whose settings packets meet: of an ad-hoc link each sender's uplink."""
    return ("uplink",) if via == "ad-hoc" else DIRECTIONS


def channels(profile: LinkProfile, members: Sequence[str], model: LossModel) -> Sequence[str]:
    """Whose packets are numbered for themselves: each station's of a group, or ("",), all of them together.

    Losses without memory hit any packets alike, whoever's these are, so one list does for all.
    """
    apart = profile.loss_channel == "station" and has_memory(model) and len(members) > 1
    return members if apart else ("",)


def queues(plan: LinkPlan) -> tuple[Queue, ...]:
    """Which shaped queues the medium needs: one for all on a shared medium, two per station on a duplex one."""
    traced = {
        direction
        for event in plan.profile.timeline
        for direction in DIRECTIONS
        if event.trace and getattr(event.trace, direction)
    }
    used = tuple(number for number, members in enumerate(plan.groups) if members)
    stations = [station for members in plan.groups for station in members]
    if plan.profile.medium == "shared":
        if side(plan.first, used[0], "uplink").rate is None:
            return ()
        hooks = tuple((station, direction) for station in stations for direction in plan.directions)
        return (Queue(name="air", direction="uplink", groups=used, hooks=hooks, traced=bool(traced)),)
    group_of = {station: number for number, members in enumerate(plan.groups) for station in members}
    return tuple(
        Queue(
            name=f"{direction}-{number}",
            direction=direction,
            groups=(group_of[station],),
            hooks=((station, direction),),
            traced=direction in traced,
        )
        for number, station in enumerate(sorted(stations, key=by_number))
        for direction in plan.directions
        if side(plan.first, group_of[station], direction).rate is not None
    )


def takes_time(plan: LinkPlan) -> bool:
    """Whether a frame takes its transmission time on an idle link, too; without a rate it has none."""
    return plan.pays_for_frames or not queues(plan)


def medium(queue: Queue, state: LinkState) -> DirectionProfile:
    """What limits all that passes a queue: on a shared medium the profile's own settings, not a station's."""
    return side(state, 0 if len(queue.groups) > 1 else queue.groups[0], queue.direction)


def shortest_full_frame_s(plan: LinkPlan) -> float:
    """Seconds that a full frame takes where and while the medium is fastest; 0 where its rate has no limit."""
    used = [number for number, members in enumerate(plan.groups) if members]
    return min(
        air(plan, state, group, direction).airtime(FULL_FRAME)
        for state in plan.states() for group in used for direction in plan.directions
    )  # fmt: skip


def air(plan: LinkPlan, state: LinkState, group: int, direction: Direction) -> DirectionProfile:
    """The settings whose rate and overhead say how long a frame of a group is being sent on an idle medium."""
    used = [number for number, members in enumerate(plan.groups) if members]
    whole = plan.profile.medium == "shared" and plan.profile.station_rate != "phy" and len(used) > 1
    return side(state, 0 if whole else group, direction)
