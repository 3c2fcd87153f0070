"""What a metric is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Unit = Literal["1/s", "bit/s", "s", "share", "B", "count"]
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Values are in `unit` (SI, shares from 0 to 1).  better: None when neither way is.

    label, about: what the report calls it, and what exactly it counts.  compared: whether levels of the compared factor
    are held against each other in it.  leads: whether a campaign that has it is about it, so that it leads the answer
    and has a headline.  each: of what so many a second are, short; '' = the load's
    messages.  ValueError for another unit, another word of `better`, and texts that are none.
    """

    name: str
    label: str
    unit: Unit
    better: Better | None
    about: str
    compared: bool = False
    leads: bool = False
    each: str = ""

    def __post_init__(self) -> None:
        if not all(isinstance(one, str) for one in (self.name, self.label, self.about)) or not self.label:
            raise ValueError(f"metric {self.name!r}: name, label and about have to be texts, and a label not empty")
        if self.unit not in get_args(Unit):
            raise ValueError(f"metric {self.name!r}: unit {self.unit!r} is not one of {', '.join(get_args(Unit))}")
        if self.better not in (None, *get_args(Better)):
            raise ValueError(f"metric {self.name!r}: better {self.better!r} is not one of higher, lower, None")
