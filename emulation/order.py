"""Packets that overtake others: as many as were asked for, and none where order is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulation import expectation
from emulation.direction import DirectionProfile
from emulation.loss import Direction
from emulation.probe import Arrivals
from results.link import LinkCheck


def reordering_check(side: DirectionProfile, direction: Direction, arrivals: Arrivals) -> LinkCheck:
    """Packets that overtook one that was sent before them."""
    overtook, total = overtakers(arrivals.number), len(np.unique(arrivals.number))
    expected = expectation.binomial(total, side.reorder)
    return LinkCheck(
        quantity="reordered",
        direction=direction,
        source="probe",
        asked=side.reorder * total,
        delivered=overtook,
        low=expected.low,
        high=expected.high,
        detail=f"of {total} packets",
    )


def order_is_kept(side: DirectionProfile) -> bool:
    """Whether no packet of a direction may overtake another."""
    return not side.reorder and (side.keep_order or not side.jitter)


def order_check(direction: Direction, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets that overtook others where order is kept: none is tolerated.  Copies that come later do not count."""
    numbers = np.concatenate([part.number for part in parts])
    return LinkCheck(
        quantity="reordered",
        direction=direction,
        source="probe",
        asked=0,
        delivered=overtakers(numbers),
        low=0,
        high=0,
        detail=f"of {len(np.unique(numbers))} packets, in order",
    )


def overtakers(numbers: np.ndarray) -> int:
    """How many packets arrived before one with a lower number (first arrivals count)."""
    _, first = np.unique(numbers, return_index=True)
    order = numbers[np.sort(first)]
    lowest_later = np.minimum.accumulate(order[::-1])[::-1]
    return int(np.count_nonzero(order[:-1] > lowest_later[1:]))
