"""A plan as the line's lanes and airs, and the states of its timeline put in force.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from emulation.line import fate
from emulation.line.adhoc import AdHoc
from emulation.line.air import Air, Contender, Price, Sender, Turns, price
from emulation.line.medium import WIRED, Counted, Lane, Medium
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan, Queue, side
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.lossmodel import LossModel
from emulation.profile.timeline import LinkState
from records.directions import DIRECTIONS, Direction

_DIGESTED, _FEWEST, _OF_ALL = 4096, 256, 1 << 18  # packets that go into the digest of a list, and of all together


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lane stands in its plan.  queue: None = its rate has no limit."""

    station: str
    direction: Direction
    group: int
    queue: Queue | None


class Line:
    """All of a plan's medium, in the state that it begins with.

    macs: station to its MAC address; the ports are numbered in that order, from 1.  up, down: the lanes of each port.
    """

    def __init__(self, plan: LinkPlan, macs: Mapping[str, bytes]) -> None:
        self.plan, self.state = plan, plan.first
        self.lists = {one.name: Counted(one) for one in plan.losses}
        turns: Turns = "airtime" if plan.profile.turns == "airtime" else "packets"
        self.airs: dict[str, Air[Lane]] = {queue.name: Air(self._left, turns=turns) for queue in linkplan.queues(plan)}
        queues = {hook: queue for queue in linkplan.queues(plan) for hook in queue.hooks}
        group_of = {station: number for number, members in enumerate(plan.groups) for station in members}
        self._senders = Senders(plan)
        self._lanes: dict[Place, Lane] = {}
        for direction in plan.directions:
            for port, station in enumerate(macs, 1):
                queue, group = queues.get((station, direction)), group_of[station]
                place = Place(station, direction, group, queue)
                self._lanes[place] = Lane(
                    station=port,
                    port=WIRED if direction == "uplink" else port,
                    air=self.airs[queue.name] if queue else None,
                    sender=self._senders.of(place),
                )
        self.up, self.down = (
            [lane for place, lane in self._lanes.items() if place.direction == way] for way in DIRECTIONS
        )
        self._to_all = list(self._lanes_to_all())
        kind = AdHoc if plan.via == "ad-hoc" else Medium
        self.medium = kind(
            up=self.up,
            down=self.down,
            airs=tuple(self.airs.values()),
            stations={mac: port for port, mac in enumerate(macs.values(), 1)},
            to_all=[lane for _, lane in self._to_all],
        )
        self._ways: dict[tuple[int, Direction], list[tuple[Place, Lane]]] = {}
        for place, lane in (*self._lanes.items(), *self._to_all):
            self._ways.setdefault((place.group, place.direction), []).append((place, lane))
        self._models: dict[tuple[int, Direction], LossModel] = {}
        self._direction = {self.airs[queue.name]: queue.direction for queue in linkplan.queues(plan)}
        for state in plan.states():
            for group, direction in self._ways:  # what takes milliseconds is not left for when frames come
                fate.odds(side(state, group, direction))
        self._set(0, plan.first)

    def enter(self, now: int, state: LinkState) -> None:
        """Put a state of the timeline in force at a moment (ns)."""
        held = {air: direction in state.held for air, direction in self._direction.items()} if state.held else {}
        self.medium.change(now, lambda: self._set(now, state), held)

    def renumber(self) -> None:
        """Number packets from zero on, as if none had come yet."""
        for one in self.lists.values():
            one.seen = one.dropped = one.dark = 0

    def _lanes_to_all(self) -> Iterator[tuple[Place, Lane]]:
        """Lanes of frames to a group, where these take the air once: for each port that they come from."""
        shared = linkplan.queues(self.plan) if self.plan.profile.medium == "shared" else ()
        if not self.plan.group_frames or not shared or len(self.down) < 2:
            return
        (queue,) = shared
        place = Place("", "downlink", queue.groups[0], queue)
        for port in range(len(self.down) + 1):
            lane = Lane(station=port, port=WIRED, air=self.airs[queue.name], sender=self._senders.of(place))
            lane.heard = tuple(one for one in self.down if one.station != port)
            yield place, lane

    def _left(self, now: int, lane: Lane, data: bytes) -> None:
        self.medium.left(now, lane, data)

    def _set(self, now: int, state: LinkState) -> None:
        self.state = state
        own: dict[Sender, Price | None] = {}
        for way, lanes in self._ways.items():
            group, direction = way
            settings = side(state, group, direction)
            queue = lanes[0][0].queue
            whole = settings if queue is None else linkplan.medium(queue, state)
            paid = settings if self.plan.profile.station_rate == "phy" else whole
            odds, cost = fate.odds(settings), price(paid.rate, paid.frame_overhead)
            limited = price(settings.rate, settings.frame_overhead) if queue and self._limited(queue) else None
            relisted = self._models.get(way) != settings.loss
            self._models[way] = settings.loss
            for place, lane in lanes:
                lane.price, lane.odds, lane.keep_order = cost, odds, settings.keep_order
                lane.dark = state.dark or place.station in state.out
                if relisted:
                    lane.losses = self.lists[self.plan.in_force(state, group, direction, place.station).name]
                if queue:
                    sender = lane.sender
                    limits = whole if sender is self._senders.access_point else settings
                    sender.limit_packets, sender.limit_bytes = limits.queue_packets, limits.queue_limit_bytes
                    own[sender] = limited
        for sender, one in own.items():
            sender.set_own(now, one)
        for _, lane in self._to_all:  # as long as whom it takes longest to reach
            lane.price = max((one.price for one in lane.heard), key=lambda price: price.of(FULL_FRAME))
        if isinstance(self.medium, AdHoc):
            self.medium.deafen({lane.station for place, lane in self._lanes.items() if place.station in state.out})

    def _limited(self, queue: Queue) -> bool:
        """Whether stations are held to rates of their own."""
        about = self.plan.profile
        return len(queue.groups) > 1 and about.station_rate == "limit" and about.turns == "arrival"


class Senders:
    """The queues of a plan, each made when it is first asked for.  access_point: the one for all that goes down."""

    def __init__(self, plan: LinkPlan) -> None:
        self._turns = plan.profile.turns
        self._made: dict[tuple[str, str | int], Sender] = {}
        self._stations: dict[str, Contender] = {}
        self.access_point: Sender | None = Sender() if self._turns == "packets" else None

    def of(self, place: Place) -> Sender:
        """The queue in which the frames of a lane wait (see LinkProfile for who contends)."""
        if place.queue is None:
            return Sender()
        if self._turns == "arrival":
            return self._made.setdefault((place.queue.name, place.group), Sender())
        if self._turns == "packets":
            if self.access_point and place.direction == "downlink":
                return self.access_point
            return self._made.setdefault((place.direction, place.station), Sender())
        station = self._stations.setdefault(place.station, Contender())
        return self._made.setdefault((place.direction, place.station), Sender(contender=station))


def digested(plan: LinkPlan) -> int:
    """How many packets of each list go into its digest: fewer where there are many lists (2 us a packet)."""
    return max(min(_DIGESTED, _OF_ALL // len(plan.losses)), _FEWEST)


def digests(plan: LinkPlan) -> dict[str, str]:
    """SHA-256 of the fates of the first packets of each list of losses under each of its settings, by name.

    Names are the lists', and `<list>#<k>` for settings that come later.
    """
    found = {}
    for direction in DIRECTIONS:
        for group, members in enumerate(plan.groups):
            kinds = dict.fromkeys((side(state, group, direction) for state in plan.states()) if members else ())
            lists: dict[str, dict[DirectionProfile, None]] = {}
            for one in kinds:
                for model, losses in zip(plan.models, plan.losses, strict=True):
                    if (losses.group, losses.direction) == (group, direction) and model == one.loss:
                        lists.setdefault(losses.name, {})[_without_medium(one)] = None
            for name, settings in lists.items():
                for number, one in enumerate(settings):
                    key = f"{name}#{number}" if number else name
                    found[key] = fate.digest({name: one}, seed=plan.seed, packets=digested(plan))
    return found


@lru_cache(maxsize=4096)
def _without_medium(one: DirectionProfile) -> DirectionProfile:
    """The settings that fates follow from."""
    kept = ("delay", "jitter", "jitter_distribution", "allow_jitter_beyond_delay", "reorder", "duplicate", "corrupt")
    return DirectionProfile.model_validate({name: getattr(one, name) for name in kept})
