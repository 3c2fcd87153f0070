"""What was asked of the link and what it delivered (link.json)."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from records.directions import Direction
from records.record import Record


def by_number(station: str) -> tuple[int, str]:
    """A key to sort stations by, sta2 before sta10.  The queues of a duplex link are numbered in this order."""
    digits = "".join(filter(str.isdigit, station))
    return int(digits or 0), station


class LinkCheck(Record):
    """One quantity, asked against delivered.

    quantity: rate (bit/s at layer 2), delay (seconds, one way), jitter (interquartile range of delays, seconds),
    loss (share), losses (positions that differ from the list), duplicates and reordered (packets; older records have
    the latter only where it was asked for), damage (packets), fates (seconds by which nine of ten delays differ at
    most from what was foretold), bypass (packets that came to the access point and met no list of losses and no
    outage; below 0: that met two), change (seconds that the latest change of a timeline was late), group (copies
    of frames to all stations that were heard), group_air (times that these frames took a shared air).  By a link whose
    fates follow from a seed, duplicates, damage and reordered are packets that differ from theirs.  low..high: what is
    tolerated.  source: `probe` before the trial, `trial` from counters.  delivered is infinite where nothing came.
    path: the stations that the probe went between (`sta1 to sta2`, `sta1 to all`); '' = a station and the wired side.
    state: which change had led to the state of the link that was probed; '' = none, as it is before its timeline
    begins.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")  # JSON has no infinity, and null could not be read back

    quantity: Literal[
        "rate",
        "delay",
        "jitter",
        "loss",
        "losses",
        "duplicates",
        "damage",
        "reordered",
        "fates",
        "bypass",
        "change",
        "group",
        "group_air",
    ]
    direction: Direction
    source: Literal["probe", "trial"]
    asked: float
    delivered: float
    low: float
    high: float
    detail: str = ""
    state: str = ""
    path: str = ""

    @property
    def holds(self) -> bool:
        """Whether the delivered value lies within the tolerance."""
        return self.low <= self.delivered <= self.high


class LossList(Record):
    """Which packets of a direction were dropped: every index i with i mod `modulus` in the list.

    name: the direction; of other groups of stations, and later states of a timeline, with their numbers.
    """

    name: str = ""
    direction: Direction
    model: str
    seed: int
    modulus: int
    listed: int
    sha256: str


class FateList(Record):
    """What else happens to the packets that meet a list of losses: delay, order, copies, damage.

    name: the list's; `#<k>` behind it for settings that come later.  packets: how many of the first ones the digest
    is of.
    """

    name: str
    packets: int
    sha256: str


class QueueCounters(Record):
    """Counters of one shaped queue between two readings."""

    name: str
    bytes: int
    packets: int
    dropped: int


class LossCounters(Record):
    """name: of the list."""

    name: str = ""
    direction: Direction
    seen: int
    dropped: int


class Counters(Record):
    """during `window`: the measurement window; `trial`: from just before go to the drain's end.

    dark: packets that outages dropped, by direction; None = not recorded.
    """

    during: Literal["window", "trial"]
    seconds: float
    queues: tuple[QueueCounters, ...]
    losses: tuple[LossCounters, ...]
    dark: dict[Direction, int] | None = None


class LinkEvent(Record):
    """A change of the link during the trial.  at_s: when it was asked, after the window's start.

    t_ns: CLOCK_MONOTONIC when it was in force.  label: what it is called.
    """

    at_s: float
    t_ns: int
    label: str


class DirectionState(Record):
    """One direction of a link for a while.  rate: bit/s, None = unlimited.  overhead: seconds beside each frame's bits.

    corrupt: share of packets in which a bit is turned over.
    """

    rate: float | None
    overhead: float
    corrupt: float


class GroupState(Record):
    """The link of stations that have the same settings."""

    stations: tuple[str, ...]
    uplink: DirectionState
    downlink: DirectionState


class LinkState(Record):
    """What the link was asked to be from since_s on, after the window's start; None = as it began.

    label: of the change that led there.
    """

    since_s: float | None
    label: str = ""
    groups: tuple[GroupState, ...]

    @property
    def directions(self) -> tuple[DirectionState, ...]:
        """Of every group, up, then down."""
        return tuple(way for group in self.groups for way in (group.uplink, group.downlink))


class LinkInterruption(Record):
    """An outage or a handover of these stations, as it was asked: at_s after the window's start."""

    at_s: float
    lasts_s: float
    stations: tuple[str, ...]


class LaterProof(Record):
    """A later state of the link, by the change that leads there, and the trial (cell/trial) that has proven it."""

    state: str
    proven_by: str


class LinkProof(Record):
    """profile: its name.  rate: capacity of the medium in bit/s, None = unlimited.

    overhead: seconds that each frame takes on the medium beside its bits.  events: changes of a timeline, in
    order; of a recorded trace only its beginning, its steps are in the trial's resources.
    fates: of a link whose packets' fates follow from a seed; () where they do not, but for their losses.
    later: states that the timeline leads to, each proven once per campaign; None = not recorded.
    states: what the link was asked to be, in order, of a recorded trace only its beginning; interruptions: what was
    asked to interrupt it.  None = not recorded (records.store fills them in from the manifest's profile).
    made_by: what made the link.  transmission_time: whether a frame takes its transmission time on it when it is idle,
    too.  '' and None = not recorded: then the manifest says both of the first segment's.
    segment: whose proof it is, '' where the network has no other.  further: the other segments', in the proof of the
    first one, which is a medium that stations hang on.  link: whether it is of no medium, but of a link between routers
    or servers.
    """

    profile: str
    medium: Literal["shared", "duplex"]
    rate_uplink: float | None
    rate_downlink: float | None
    overhead_uplink: float = 0.0
    overhead_downlink: float = 0.0
    events: tuple[LinkEvent, ...] = ()
    checks: tuple[LinkCheck, ...]
    loss_lists: tuple[LossList, ...]
    fates: tuple[FateList, ...] = ()
    counters: tuple[Counters, ...]
    later: tuple[LaterProof, ...] | None = None
    states: tuple[LinkState, ...] | None = None
    interruptions: tuple[LinkInterruption, ...] | None = None
    made_by: Literal["tc", "line", ""] = ""
    transmission_time: bool | None = None
    segment: str = ""
    link: bool = False
    further: tuple[LinkProof, ...] = ()

    @property
    def segments(self) -> tuple[LinkProof, ...]:
        """Every segment's proof, this one first."""
        return (self, *self.further)

    @property
    def all_checks(self) -> tuple[LinkCheck, ...]:
        """Those of all segments; where there are several, each says in its detail which it is of."""
        if not self.further:
            return self.checks
        return tuple(
            check.model_copy(update={"detail": f"segment {one.segment}: {check.detail}"})
            for one in self.segments
            for check in one.checks
        )

    @property
    def holds(self) -> bool:
        """Whether every check of every segment holds; a proof without checks proves nothing."""
        return all(one.checks and all(check.holds for check in one.checks) for one in self.segments)

    @property
    def directions(self) -> tuple[tuple[DirectionState, ...], ...]:
        """State by state, the settings of every group's directions."""
        return tuple(state.directions for state in self.states or ())

    @property
    def media(self) -> tuple[LinkProof, ...]:
        """The segments that stations hang on."""
        return tuple(one for one in self.segments if not one.link)

    @property
    def damaging(self) -> tuple[LinkProof, ...]:
        """The segments that turn bits over at any time."""
        return tuple(one for one in self.segments if any(way.corrupt for ways in one.directions for way in ways))

    @property
    def all_interruptions(self) -> tuple[LinkInterruption, ...]:
        """Those of all media."""
        return tuple(interruption for one in self.media for interruption in one.interruptions or ())

    @property
    def all_events(self) -> tuple[LinkEvent, ...]:
        """The changes of all segments in order; one that several have at one time is told once, as it first came."""
        found: dict[tuple[float, str], LinkEvent] = {}
        for event in sorted((event for one in self.segments for event in one.events), key=lambda event: event.t_ns):
            found.setdefault((event.at_s, event.label), event)
        return tuple(found.values())

    @property
    def changes_overhead(self) -> bool:
        """Whether what a frame costs beside its bits changes at any time."""
        return len({tuple(way.overhead for way in ways) for ways in self.directions}) > 1
