"""A plan as the line's lanes and airs, and the states of its timeline put in force.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emulation import linkplan
from emulation.direction import DirectionProfile
from emulation.line import fate
from emulation.line.air import Air, Sender, price
from emulation.line.medium import WIRED, Counted, Lane, Medium, Sequence
from emulation.linkplan import LinkPlan, Queue, side
from emulation.loss import DIRECTIONS, Direction
from emulation.timeline import LinkState

DIGESTED = 4096  # packets of each sequence that go into a digest


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a lane stands in its plan."""

    station: str
    direction: Direction
    group: int
    queue: Queue | None


class Line:
    """All of a plan's medium, in the state that it begins with.

    macs: station to its MAC address; the ports are numbered in that order, from 1.
    """

    def __init__(self, plan: LinkPlan, macs: Mapping[str, bytes], *, seed: int) -> None:
        self.plan, self.state = plan, plan.first
        self.lists = {one.name: Counted(one) for one in plan.losses}
        self.airs: dict[str, Air[Lane]] = {queue.name: Air(self._left) for queue in linkplan.queues(plan)}
        queues = {hook: queue for queue in linkplan.queues(plan) for hook in queue.hooks}
        group_of = {station: number for number, members in enumerate(plan.groups) for station in members}
        sequences = {name: Sequence(seed, name) for name in _sequences(plan)}
        senders: dict[tuple[str, int], Sender] = {}
        self._lanes: dict[_Place, Lane] = {}
        for direction in DIRECTIONS:
            for port, station in enumerate(macs, 1):
                queue, group = queues.get((station, direction)), group_of[station]
                place = _Place(station, direction, group, queue)
                self._lanes[place] = Lane(
                    station=port,
                    port=WIRED if direction == "uplink" else port,
                    air=self.airs[queue.name] if queue else None,
                    sender=senders.setdefault((queue.name, group), Sender()) if queue else Sender(),
                    sequence=sequences[_sequence(plan, station, direction)],
                )
        self.medium = Medium(
            up=[lane for place, lane in self._lanes.items() if place.direction == "uplink"],
            down=[lane for place, lane in self._lanes.items() if place.direction == "downlink"],
            airs=tuple(self.airs.values()),
            stations={mac: port for port, mac in enumerate(macs.values(), 1)},
        )
        self._set(plan.first)

    def enter(self, now: int, state: LinkState) -> None:
        """Put a state of the timeline in force at a moment (ns)."""
        held = {self.airs[queue.name]: queue.direction in state.held for queue in linkplan.queues(self.plan)}
        self.medium.change(now, lambda: self._set(state), held)

    def renumber(self) -> None:
        """Number packets from zero on, as if none had come yet."""
        for one in self.lists.values():
            one.seen = one.dropped = one.dark = 0
        for lane in self._lanes.values():
            lane.sequence.next = 0

    def _left(self, now: int, lane: Lane, data: bytes) -> None:
        self.medium.left(now, lane, data)

    def _set(self, state: LinkState) -> None:
        self.state = state
        for place, lane in self._lanes.items():
            settings = side(state, place.group, place.direction)
            whole = settings if place.queue is None else linkplan.medium(place.queue, state)
            losses = self.plan.in_force(state, place.group, place.direction, place.station)
            lane.set(
                settings,
                price(whole.rate, whole.frame_overhead),
                self.lists[losses.name],
                dark=state.dark or place.station in state.out,
            )
            if place.queue is not None:
                several = len(place.queue.groups) > 1
                lane.sender.limit_packets = settings.queue_packets
                lane.sender.limit_bytes = settings.queue_limit_bytes
                lane.sender.own = price(settings.rate, settings.frame_overhead) if several else None


def _sequence(plan: LinkPlan, station: str, direction: Direction) -> str:
    """Whose packets are numbered together: a direction's, or those of one station in it, as the profile says."""
    return f"{direction}-{station}" if plan.profile.loss_channel == "station" else direction


def _sequences(plan: LinkPlan) -> list[str]:
    stations = [station for members in plan.groups for station in members]
    return sorted({_sequence(plan, station, direction) for direction in DIRECTIONS for station in stations})


def digests(plan: LinkPlan, *, seed: int) -> dict[str, str]:
    """SHA-256 of the fates of the first 4096 packets of each sequence under each of its settings, by name.

    Names are `<sequence>`, and `<sequence>#<k>` for settings that come later, or that only some of its stations have.
    """
    kinds: dict[str, list[DirectionProfile]] = {}
    group_of = {station: number for number, members in enumerate(plan.groups) for station in members}
    for state in plan.states():
        for direction in DIRECTIONS:
            for station, group in group_of.items():
                one = _without_medium(side(state, group, direction))
                found = kinds.setdefault(_sequence(plan, station, direction), [])
                if one not in found:
                    found.append(one)
    return {
        f"{name}#{number}" if number else name: fate.digest({name: one}, seed=seed, packets=DIGESTED)
        for name, settings in kinds.items()
        for number, one in enumerate(settings)
    }


def _without_medium(one: DirectionProfile) -> DirectionProfile:
    """The settings that fates follow from."""
    kept = ("delay", "jitter", "jitter_distribution", "allow_jitter_beyond_delay", "reorder", "duplicate", "corrupt")
    return DirectionProfile.model_validate({name: getattr(one, name) for name in kept})
