"""What may happen to a link while it is in use, as a profile's file says it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.frozen import Frozen
from emulation.profile.ratetrace import RateTrace
from emulation.profile.units import Moment, Seconds, Share

DIRECTION_KEYS = frozenset(DirectionProfile.model_fields)
_WHAT = ("outage", "handover", "change", "trace")
Changes = dict[str, Any]
StationName = Annotated[str, Field(pattern=r"^sta[1-9][0-9]{0,3}$")]


def by_direction(settings: Changes) -> dict[str, Changes]:
    """Settings for each direction: common ones hold for both, those below `uplink` or `downlink` for one.

    ValueError names a key that no direction has.
    """
    known = DIRECTION_KEYS | {"uplink", "downlink"}
    common = {key: value for key, value in settings.items() if key in DIRECTION_KEYS}
    found = {}
    for direction in ("uplink", "downlink"):
        own = settings.get(direction) or {}
        if not isinstance(own, dict):
            raise ValueError(f"{direction}: {own!r} is not a mapping of settings")
        unknown = sorted((set(settings) - known) | (set(own) - DIRECTION_KEYS))
        if unknown:
            raise ValueError(f"unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
        found[direction] = common | own
    return found


class Handover(Frozen):
    """lasts: how long the station is between two cells, while `loss` of the packets are lost and the others are
    `extra_delay` later; then the link has the settings `to`.

    In a profile's file `to` may be the name of another profile, of which both directions are taken, but neither the
    queue nor the timeline.
    """

    lasts: Annotated[Seconds, Field(gt=0)]
    loss: Share = 0.0
    extra_delay: Seconds = 0.0
    to: Changes = Field(default_factory=dict)


class Trace(Frozen):
    """Recorded rates of one direction or both, from the event on; step: how often the rate is set."""

    uplink: RateTrace | None = None
    downlink: RateTrace | None = None
    step: Annotated[Seconds, Field(ge=0.01, le=1)] = 0.05

    @model_validator(mode="after")
    def _of_something(self) -> Trace:
        if self.uplink is None and self.downlink is None:
            raise ValueError("a trace is of the uplink, the downlink or both: give one")
        return self

    @property
    def top_rate(self) -> float:
        """The highest rate (bit/s) of any step."""
        return max(
            float(one.counts(step_s=self.step, until_s=one.period_s).max()) * FULL_FRAME * 8 / self.step
            for one in (self.uplink, self.downlink)
            if one is not None
        )


class Event(Frozen):
    """at: seconds after the measurement window's start.  Exactly one of the others, but for stations.

    outage: for how long every packet is lost; with stations, those to and from these.  change: new settings, from then
    on, for every station.
    """

    at: Moment
    outage: Annotated[Seconds, Field(gt=0)] | None = None
    stations: tuple[StationName, ...] = ()
    handover: Handover | None = None
    change: Changes | None = None
    trace: Trace | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> Event:
        given = [name for name in _WHAT if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an event is one of {', '.join(_WHAT)}; this one is {' and '.join(given) or 'none'}")
        if self.stations and self.outage is None:
            raise ValueError(f"stations: {', '.join(self.stations)}: only an outage can be of some stations alone")
        if self.change == {}:
            raise ValueError("change: {} changes nothing; say what it changes, or leave the event out")
        return self

    @property
    def ends(self) -> float:
        """When an outage or a handover is over; of what does not last, when it is."""
        lasts = self.outage or (self.handover.lasts if self.handover else 0.0)
        return round(self.at + lasts, 9)
