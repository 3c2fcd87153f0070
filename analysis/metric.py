"""What a metric is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["1/s", "bit/s", "s", "share", "B", "count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Values are in `unit` (SI, shares from 0 to 1).  better: None when neither way is.

    label, about: what the report calls it, and what exactly it counts.  compared: whether levels of the compared factor
    are held against each other in it.
    """

    name: str
    label: str
    unit: Unit
    better: Literal["higher", "lower"] | None
    about: str
    compared: bool = False
