"""Link profiles: what a link does to packets.  Plain values, checked before any kernel sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from emulation.profile.direction import DirectionProfile
from emulation.profile.events import DIRECTION_KEYS, Event, StationName, by_direction
from emulation.profile.frozen import Frozen
from emulation.profile.lossmodel import has_memory

LossChannel = Literal["shared", "station"]
Turns = Literal["arrival", "packets", "airtime"]
StationRate = Literal["limit", "phy"]
_WITHOUT_A_CHOICE = {"loss_channel": "shared", "turns": "arrival", "station_rate": "limit"}


class Sides(Frozen):
    """Both directions of one station's link."""

    uplink: DirectionProfile
    downlink: DirectionProfile

    def changed(self, settings: dict[str, Any]) -> Sides:
        """With other settings, of both directions or of one (`uplink:`, `downlink:`)."""
        each = by_direction(settings)
        return Sides(uplink=self.uplink.changed(each["uplink"]), downlink=self.downlink.changed(each["downlink"]))


class LinkProfile(Frozen):
    """A named pair of directions on a medium.  source: where the figures come from.

    loss_channel: whose packets losses with a memory (bursts, records) follow: `shared`, those of all stations with
    equal settings, as they come, or `station`, each station's own.  Files may leave it open: then it is `station` on
    a duplex medium, where each station has a cable or a radio of its own, and `shared` on a shared one.  Records
    from before there was the choice do not have it, and mean `shared`.
    stations: what is different for some of them, by name (sta1, sta2, ...); on a shared medium a station's rate
    limits that station, and the profile's own all of them together.  timeline: what happens to the link
    while it is in use.

    On a shared medium: turns: whose frame is sent next.  `arrival`: one queue for all stations of equal settings, in
    both directions; those with settings of their own take turns with it, packet by packet (by tc: by 1,600 bytes).
    `packets`: every station and the access point, with one queue for all that goes down, take turns packet by packet,
    as 802.11's distributed coordination function lets them in the mean.  `airtime`: every station has as much of the
    medium as any other, up and down together, with a queue for each at the access point (Hoiland-Jorgensen et al.,
    Ending the Anomaly, USENIX ATC 2017).  station_rate: what a station's rate is.  `limit`: its frames take as long as
    any, and it is held to that rate.  `phy`: its frames are sent at that rate and take longer of everybody's time
    (Heusse et al., Performance Anomaly of 802.11b, INFOCOM 2003).
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
    description: str
    source: str
    medium: Literal["shared", "duplex"]
    loss_channel: LossChannel = "shared"
    turns: Turns = "arrival"
    station_rate: StationRate = "limit"
    uplink: DirectionProfile
    downlink: DirectionProfile
    stations: dict[StationName, Sides] = Field(default_factory=dict)
    timeline: tuple[Event, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _common_settings(cls, data: Any) -> Any:
        """Settings beside `medium` hold for both directions; `uplink:` and `downlink:` override them.

        A station's settings override those of the profile in the same way.
        """
        if not isinstance(data, dict):
            return data
        sides, rest = _sides(data, {"uplink": {}, "downlink": {}})
        stations = rest.get("stations")
        if isinstance(stations, dict):
            rest["stations"] = {
                name: _station(own, sides) if isinstance(own, dict) else own for name, own in stations.items()
            }
        return rest | sides

    @model_validator(mode="after")
    def _one_medium(self) -> LinkProfile:
        for who, sides in self.all_sides().items():
            up, down = sides.uplink, sides.downlink
            if self.medium == "shared" and up.medium != down.medium:
                raise ValueError(
                    f"{who}: medium 'shared' is one capacity and one queue for both directions, but rate, "
                    f"frame_overhead, burst_bytes and queue (bytes, packets) are {up.medium} up and {down.medium} "
                    "down: give one of each, or medium 'duplex'"
                )
        self._no_station_faster_than_the_medium()
        rated = {sides.uplink.rate is None for sides in self.all_sides().values()}
        if self.medium == "shared" and len(rated) > 1:
            raise ValueError("stations: on a shared medium either every station has a rate or none")
        return self

    def _no_station_faster_than_the_medium(self) -> None:
        whole = self.uplink.rate
        if self.medium != "shared" or whole is None:
            return
        for name, sides in self.stations.items():
            if sides.uplink.rate and sides.uplink.rate > whole:
                raise ValueError(
                    f"stations: {name}: rate {sides.uplink.rate:g} bit/s is more than the medium's {whole:g}"
                )
            if self.station_rate == "phy" and sides.uplink.frame_overhead < self.uplink.frame_overhead:
                raise ValueError(
                    f"stations: {name}: frame_overhead {sides.uplink.frame_overhead:g} s is less than the medium's "
                    f"{self.uplink.frame_overhead:g}, which with station_rate phy is that of whose frames cost least"
                )

    @model_validator(mode="after")
    def _turns_that_can_be(self) -> LinkProfile:
        chosen = [
            f"{key}: {value}"
            for key, value in (("turns", self.turns), ("station_rate", self.station_rate))
            if value != _WITHOUT_A_CHOICE[key]
        ]
        if chosen and self.medium == "duplex":
            raise ValueError(
                f"{chosen[0]}: on a duplex medium no station waits for another: leave it out, or give medium 'shared'"
            )
        if chosen and self.uplink.rate is None:
            raise ValueError(f"{chosen[0]}: without a rate nobody waits for a turn; give a rate, or leave it out")
        limited = [name for name, sides in self.stations.items() if sides.uplink.rate != self.uplink.rate]
        if self.turns != "arrival" and limited and self.station_rate == "limit":
            raise ValueError(
                f"turns: {self.turns}: {limited[0]} has a rate of its own, and nothing here holds a station to one: "
                "give station_rate: phy, with which its frames take longer, or leave turns out"
            )
        return self

    @model_validator(mode="after")
    def _a_timeline_that_can_be(self) -> LinkProfile:
        from emulation.profile.timeline import check  # noqa: PLC0415 - a timeline is made of profiles

        check(self)
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As before there was a choice, where none was made: digests of scenarios stay what they were."""
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if _WITHOUT_A_CHOICE.get(key) != value}

    @property
    def loss_has_memory(self) -> bool:
        """Whether there are losses at any time for which it matters whose packets they follow."""
        from emulation.profile.timeline import all_states  # noqa: PLC0415 - a timeline is made of profiles

        sides = [both for state in all_states(self) for both in state.sides]
        return any(has_memory(side.loss) for both in sides for side in (both.uplink, both.downlink))

    def sides(self) -> Sides:
        """Both directions of a station that has no settings of its own."""
        return Sides(uplink=self.uplink, downlink=self.downlink)

    def all_sides(self) -> dict[str, Sides]:
        """`every station`, and each that has settings of its own."""
        return {"every station": self.sides(), **self.stations}

    @property
    def named_stations(self) -> frozenset[str]:
        """Those that have settings or events of their own."""
        return frozenset({*self.stations, *(name for event in self.timeline for name in event.stations)})

    def groups(self, stations: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Stations that share settings, in the order of `all_sides`; the first group can be empty.

        ValueError when the profile speaks of a station that is not among `stations`.
        """
        if unknown := sorted(self.named_stations - set(stations)):
            there = "is 1 station" if len(stations) == 1 else f"are {len(stations)} stations"
            raise ValueError(f"profile {self.name!r} has settings or events for {unknown[0]}, and there {there}")
        return tuple(name for name in stations if name not in self.stations), *((name,) for name in self.stations)


def _sides(data: dict[str, Any], base: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both directions as mappings, and what else `data` says."""
    common = {key: data[key] for key in DIRECTION_KEYS if key in data}
    rest = {key: value for key, value in data.items() if key not in DIRECTION_KEYS}
    sides: dict[str, Any] = {}
    for direction in ("uplink", "downlink"):
        own = rest.pop(direction, None) or {}
        sides[direction] = base[direction] | common | own if isinstance(own, dict) else own
    return sides, rest


def _station(own: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    sides, rest = _sides(
        own, base if all(isinstance(side, dict) for side in base.values()) else {"uplink": {}, "downlink": {}}
    )
    return rest | sides
