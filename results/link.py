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
    the latter only where it was asked for), change (seconds that the latest change of a timeline was late).
    low..high: what is tolerated.  source: `probe` before the trial, `trial` from counters.  delivered is infinite
    where nothing came.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")  # JSON has no infinity, and null could not be read back

    quantity: Literal["rate", "delay", "jitter", "loss", "losses", "duplicates", "reordered", "change"]
    direction: Direction
    source: Literal["probe", "trial"]
    asked: float
    delivered: float
    low: float
    high: float
    detail: str = ""

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
    """during `window`: the measurement window; `trial`: from the moment the link was applied to the drain's end."""

    during: Literal["window", "trial"]
    seconds: float
    queues: tuple[QueueCounters, ...]
    losses: tuple[LossCounters, ...]


class LinkEvent(Record):
    """A change of the link during the trial.  at_s: when it was asked, after the window's start.

    t_ns: CLOCK_MONOTONIC when it was in force.  label: what it is called.
    """

    at_s: float
    t_ns: int
    label: str


class LinkProof(Record):
    """profile: its name.  rate: capacity of the medium in bit/s, None = unlimited.

    overhead: seconds that each frame takes on the medium beside its bits.  events: changes of a timeline, in
    order; of a recorded trace only its beginning, its steps are in the trial's resources.
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
    counters: tuple[Counters, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds; a proof without checks proves nothing."""
        return bool(self.checks) and all(check.holds for check in self.checks)
