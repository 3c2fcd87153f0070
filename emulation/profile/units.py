"""What quantities of a link may be: rates, times, shares and probabilities, as numbers or as people write them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from records.quantities import parse_rate, parse_share, parse_time

MIN_RATE, MAX_RATE = 8_000, 10_000_000_000

Rate = Annotated[float, BeforeValidator(parse_rate), Field(ge=MIN_RATE, le=MAX_RATE)]
Seconds = Annotated[float, BeforeValidator(parse_time), Field(ge=0, le=60)]
Moment = Annotated[float, BeforeValidator(parse_time), Field(ge=0, le=86_400)]
Share = Annotated[float, BeforeValidator(parse_share), Field(ge=0, lt=1)]
Probability = Annotated[float, BeforeValidator(parse_share), Field(ge=0, le=1)]
