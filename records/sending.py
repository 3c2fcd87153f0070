"""When messages of a load are sent and how large they are: what workloads of all patterns say alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
    model_validator,
)

from records.clients import Count
from records.marker import SIZE as MARKER_BYTES
from records.quantities import parse_share, parse_time
from records.written import Written

LARGEST_BODY_BYTES = 16 << 20
Size = Annotated[int, Field(ge=MARKER_BYTES, le=LARGEST_BODY_BYTES)]
Rate = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]  # its inverse is a time
_Share = Annotated[float, BeforeValidator(parse_share), Field(gt=0, le=1)]
_SIZE: TypeAdapter[int] = TypeAdapter(Size)
_MIX: TypeAdapter[dict[int, float]] = TypeAdapter(Annotated[dict[Size, _Share], Field(min_length=1)])


def time_s(low: float, high: float) -> Any:
    """Type of a time in seconds, or as in `20 ms`, within bounds."""
    return Annotated[float, BeforeValidator(parse_time), Field(ge=low, le=high, allow_inf_nan=False)]


def _body_bytes(value: object) -> int | dict[int, float]:
    if not isinstance(value, Mapping):
        return _SIZE.validate_python(value)
    mix = _MIX.validate_python(value)
    if not math.isclose(total := sum(mix.values()), 1, abs_tol=1e-9):
        raise ValueError(f"the shares of the sizes are {total:g} together: they have to be 1")
    return mix


class Bursts(Written):
    """After every so many messages of a producer nothing is sent for pause_s; in a closed loop from the last answer."""

    messages: Annotated[int, Field(ge=1, le=1_000_000)]
    pause_s: time_s(0.001, 3600)  # type: ignore[valid-type]


class Ramp(Written):
    """The rate changes evenly from `rate` at the window's start to `to` at its end."""

    to: Rate


class Sending(Written):
    """body_bytes: of every message, or a mix: a size to the share of messages that have it.

    loop: `closed` sends when an answer is there, so that in_flight messages of a producer are without one; `open`
    sends on a schedule of `rate` messages per second and producer, whose gaps are constant or exponential (`poisson`).
    With bursts `rate` is that inside a burst.
    """

    body_bytes: Annotated[int | dict[int, float], SerializeAsAny(), PlainValidator(_body_bytes)]
    loop: Literal["closed", "open"] = "closed"
    in_flight: Count = 1
    rate: Rate | None = None
    arrivals: Literal["constant", "poisson"] = "constant"
    bursts: Bursts | None = None
    ramp: Ramp | None = None

    @model_validator(mode="after")
    def _a_schedule_belongs_to_an_open_loop(self) -> Sending:
        is_open = self.loop == "open"
        if is_open != (self.rate is not None):
            raise ValueError("loop 'open' needs a rate (messages/s per producer), and only an open loop has one")
        if is_open and self.in_flight > 1:
            raise ValueError("in_flight: an open loop waits for no answer; only a closed loop has a number in flight")
        if not is_open and (self.arrivals != "constant" or self.ramp is not None):
            raise ValueError("arrivals and ramp are of a schedule: say loop: open and a rate")
        if self.bursts is not None and self.ramp is not None:
            raise ValueError(
                "bursts, ramp: a ramp has one rate at each time, bursts have pauses: leave one of them out"
            )
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what was not chosen, as before there was the choice: digests of scenarios stay what they were."""
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if (key, value) not in _WITHOUT_A_CHOICE}

    @property
    def sizes(self) -> dict[int, float]:
        """Each size of a body, and its share of the messages."""
        return self.body_bytes if isinstance(self.body_bytes, dict) else {self.body_bytes: 1.0}

    @property
    def mean_body_bytes(self) -> float:
        """Of the messages that are sent."""
        return sum(size * share for size, share in self.sizes.items())

    @property
    def highest_rate(self) -> float | None:
        """Of each producer, in messages per second; None in a closed loop."""
        return None if self.rate is None else max(self.rate, self.ramp.to if self.ramp else 0.0)


_WITHOUT_A_CHOICE = (
    ("pattern", "pubsub"),
    ("in_flight", 1),
    ("arrivals", "constant"),
    ("bursts", None),
    ("ramp", None),
)
