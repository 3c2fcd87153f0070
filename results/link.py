"""What was asked of the link and what it delivered (link.json)."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from results.manifest import Record

Direction = Literal["uplink", "downlink"]


class LinkCheck(Record):
    """One quantity, asked against delivered.

    quantity: rate (bit/s at layer 2), delay (seconds, one way), jitter (interquartile range of delays, seconds),
    loss (share), losses (positions that differ from the list), duplicates and reordered (packets; older records have
    the latter only where it was asked for), damage (packets), fates (seconds by which nine of ten delays differ at
    most from what was foretold), bypass (packets that came to the access point and met no list of losses and no
    outage; below 0: that met two), change (seconds that the latest change of a timeline was late).  By a link whose
    fates follow from a seed, duplicates, damage and reordered are packets that differ from theirs.  low..high: what is
    tolerated.  source: `probe` before the trial, `trial` from counters.  delivered is infinite where nothing came.
    state: which change had led to the state of the link that was probed; '' = none, as it is before its timeline
    begins.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")  # JSON has no infinity, and null could not be read back

    quantity: Literal[
        "rate", "delay", "jitter", "loss", "losses", "duplicates", "damage", "reordered", "fates", "bypass", "change"
    ]
    direction: Direction
    source: Literal["probe", "trial"]
    asked: float
    delivered: float
    low: float
    high: float
    detail: str = ""
    state: str = ""

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

    @property
    def holds(self) -> bool:
        """Whether every check holds; a proof without checks proves nothing."""
        return bool(self.checks) and all(check.holds for check in self.checks)
