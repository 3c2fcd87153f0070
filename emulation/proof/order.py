"""Packets that overtake others: as many as were asked for, or those that must, and none where order is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulation.profile.direction import DirectionProfile
from emulation.proof import expectation
from emulation.proof.asked import Asked
from emulation.proof.foretold import foretell, pairs
from emulation.proof.probe import MIN_FRAME, Arrivals
from records.directions import Direction
from records.link import LinkCheck

# What is due nearer together than this may come in either order, as it may have come to the link.
_NEAR_NS = 1_000_000
_STALLED = 0.02  # of all packets, which met a stall of this machine before the link


def order_checks(asked: Asked, parts: Sequence[Arrivals]) -> tuple[LinkCheck, ...]:
    """Which packets overtook others; nothing where any may, and which of them is not known."""
    if asked.keeps_order:
        return (order_check(asked.direction, parts),)
    if asked.seeded:
        return (foretold_order_check(asked, parts),)
    return (reordering_check(asked.side, asked.direction, parts[-1]),) if asked.side.reorder else ()


def foretold_order_check(asked: Asked, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets that overtook one that was sent before them and should not have, or should have and did not.

    Without jitter none is tolerated: a stall of this machine is shorter than what they overtake by.
    """
    wrong = packets = overtook = 0
    for part in parts:
        due = foretell(asked, part).received()
        mine, theirs = pairs(due, part)
        number, first = np.unique(due.number[mine], return_index=True)  # of a packet and its copy what comes first
        at_ns = due.at_ns[mine][first]
        passed = _latest_before(at_ns) - at_ns
        found = _latest_before(theirs[first]) > theirs[first]
        wrong += int(np.count_nonzero(found & (passed < -_NEAR_NS)) + np.count_nonzero(~found & (passed > _NEAR_NS)))
        packets, overtook = packets + len(number), overtook + int(found.sum())
    return LinkCheck(
        quantity="reordered",
        direction=asked.direction,
        source="probe",
        asked=0,
        delivered=wrong,
        low=0,
        high=int(_STALLED * packets) if asked.side.jitter else 0,
        detail=f"{overtook} of {packets} packets overtook others; so many otherwise than foretold",
    )


def _latest_before(values: np.ndarray) -> np.ndarray:
    """The largest of all values before each; of the first one its own, less than any difference that matters."""
    if not len(values):
        return values
    return np.concatenate([values[:1] - (1 << 40), np.maximum.accumulate(values)[:-1]])


def reordering_check(side: DirectionProfile, direction: Direction, arrivals: Arrivals) -> LinkCheck:
    """Packets that overtook one that was sent before them."""
    overtook, total = overtakers(arrivals.number), len(np.unique(arrivals.number))
    # Who takes longer to send than the delay that it is spared has nobody before it to overtake.
    share = side.reorder if side.airtime(MIN_FRAME) < side.delay else 0.0
    expected = expectation.binomial(total, share)
    return LinkCheck(
        quantity="reordered",
        direction=direction,
        source="probe",
        asked=share * total,
        delivered=overtook,
        low=expected.low,
        high=expected.high,
        detail=f"of {total} packets",
    )


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
