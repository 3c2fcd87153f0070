"""The two ways across a link, as seen from a station."""

from __future__ import annotations

from typing import Literal

Direction = Literal["uplink", "downlink"]
DIRECTIONS: tuple[Direction, Direction] = ("uplink", "downlink")
