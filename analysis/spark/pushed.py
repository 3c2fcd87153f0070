"""What a query's filters leave of a capture: files, ranges and packets that cannot match are not read or not sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from analysis.capture.columns import Packets
from analysis.capture.ranges import Range

_EARLIEST, _LATEST = -(2**63), 2**63 - 1
_NUMBERS = frozenset({"sport", "dport", "protocol"})  # equality alone; their names are those of `Packets` too


@dataclass(slots=True)
class Wanted:
    """low_ns, high_ns: times that are asked for, both included.  captures: files, None for all.

    numbers: values asked of sport, dport and protocol.  Each leaves too much rather than too little: what is left has
    to be filtered exactly.
    """

    low_ns: int = _EARLIEST
    high_ns: int = _LATEST
    captures: frozenset[str] | None = None
    numbers: dict[str, frozenset[int]] = field(default_factory=dict)

    def of(self, capture: str) -> bool:
        """Whether packets of a file can match."""
        return self.captures is None or capture in self.captures

    def within(self, piece: Range) -> bool:
        """Whether packets of a range can match, by their times."""
        return piece.low_ns <= self.high_ns and piece.high_ns >= self.low_ns

    def among(self, packets: Packets) -> Packets:
        """The packets that can match."""
        which = np.ones(len(packets), dtype=bool)
        if (self.low_ns, self.high_ns) != (_EARLIEST, _LATEST):
            which &= (packets.t_ns >= self.low_ns) & (packets.t_ns <= self.high_ns)
        for name, values in self.numbers.items():
            which &= np.isin(getattr(packets, name).astype(np.int64), sorted(values))
        return packets.select(which)


def pushed(filters: Iterable[Filter]) -> Wanted:
    """What all of these filters leave; those of other kinds and columns leave everything."""
    wanted = Wanted()
    for one in filters:
        name = ".".join(getattr(one, "attribute", ()))
        if name == "ts_ns":
            _narrow(wanted, one)
        elif name == "capture" and (values := _values(one)) is not None:
            texts = frozenset(value for value in values if isinstance(value, str))
            wanted.captures = texts if wanted.captures is None else wanted.captures & texts
        elif name in _NUMBERS and (values := _values(one)) is not None:
            numbers = frozenset(_whole(values))
            wanted.numbers[name] = wanted.numbers.get(name, numbers) & numbers
    return wanted


def _values(one: Filter) -> tuple[object, ...] | None:
    """The values of which a column must have one, None when the filter does not say it so; no value equals NULL."""
    if isinstance(one, EqualTo | In):
        return tuple(one.value) if isinstance(one, In) else (one.value,)
    return None


def _whole(values: Iterable[object]) -> Iterator[int]:
    return (value for value in values if isinstance(value, int))


def _narrow(wanted: Wanted, one: Filter) -> None:
    if (values := _values(one)) is not None:
        times = list(_whole(values))
        wanted.low_ns = max(wanted.low_ns, min(times, default=_LATEST))
        wanted.high_ns = min(wanted.high_ns, max(times, default=_EARLIEST))
    elif isinstance(one, GreaterThan | GreaterThanOrEqual) and isinstance(one.value, int):
        wanted.low_ns = max(wanted.low_ns, one.value + isinstance(one, GreaterThan))
    elif isinstance(one, LessThan | LessThanOrEqual) and isinstance(one.value, int):
        wanted.high_ns = min(wanted.high_ns, one.value - isinstance(one, LessThan))
