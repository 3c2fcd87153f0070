"""Link profiles: what a link does to packets.  Plain values, checked before any kernel sees them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_RATE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kMG]?bit/s)\s*")
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_TIME = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(s|ms|us)\s*")
MIN_RATE, MAX_RATE = 8_000, 10_000_000_000


def parse_rate(value: object) -> object:
    """`1 Mbit/s` to bit/s; numbers pass through."""
    return _with_unit(value, _RATE, _UNITS, "a rate such as '1 Mbit/s' or a number of bit/s")


def parse_time(value: object) -> object:
    """`20 ms` to seconds; numbers pass through."""
    return _with_unit(value, _TIME, _TIMES, "a time such as '20 ms' or a number of seconds")


def _with_unit(value: object, pattern: re.Pattern[str], units: dict[str, float], what: str) -> object:
    if not isinstance(value, str):
        return value
    match = pattern.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not {what}")
    return float(match[1]) * units[match[2]]


Rate = Annotated[float, BeforeValidator(parse_rate), Field(ge=MIN_RATE, le=MAX_RATE)]
Seconds = Annotated[float, BeforeValidator(parse_time), Field(ge=0, le=60)]
Share = Annotated[float, Field(ge=0, lt=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DirectionProfile(_Frozen):
    """One direction.  rate: bit/s at layer 2, None = unlimited.  queue_bytes: what waits before the medium.

    loss: share of packets dropped, independently (Bernoulli), by a seeded list.  delay: one way, seconds,
    beside queueing and transmission.
    """

    rate: Rate | None = None
    queue_bytes: Annotated[int, Field(ge=3_000, le=1_000_000_000)] = 150_000
    loss: Share = 0.0
    delay: Seconds = 0.0


class LinkProfile(_Frozen):
    """A named pair of directions on a medium.  source: where the figures come from."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
    description: str
    source: str
    medium: Literal["shared", "duplex"]
    uplink: DirectionProfile
    downlink: DirectionProfile

    @model_validator(mode="before")
    @classmethod
    def _common_settings(cls, data: Any) -> Any:
        """Settings beside `medium` hold for both directions; `uplink:` and `downlink:` override them."""
        if not isinstance(data, dict):
            return data
        names = DirectionProfile.model_fields
        common = {key: data[key] for key in names if key in data}
        rest = {key: value for key, value in data.items() if key not in names}
        for direction in ("uplink", "downlink"):
            own = rest.get(direction) or {}
            if isinstance(own, dict):
                rest[direction] = common | own
        return rest

    @model_validator(mode="after")
    def _one_rate_on_a_shared_medium(self) -> LinkProfile:
        up, down = self.uplink, self.downlink
        if self.medium == "shared" and (up.rate, up.queue_bytes) != (down.rate, down.queue_bytes):
            raise ValueError(
                f"medium 'shared' is one capacity and one queue for both directions, but rate and queue_bytes "
                f"are {up.rate}, {up.queue_bytes} up and {down.rate}, {down.queue_bytes} down: "
                "give one of each, or medium 'duplex'"
            )
        return self
