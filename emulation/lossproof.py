"""Which probe packets arrived, how often, and how: losses, copies, damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from emulation import damage, expectation
from emulation.asked import Asked
from emulation.expectation import Interval
from emulation.probe import Arrivals
from results.link import LinkCheck


def arrival_checks(asked: Asked, parts: Sequence[Arrivals]) -> tuple[LinkCheck, ...]:
    """Packets against the list of losses, which tolerates no difference, and against what else was to happen.

    Where all of a packet's fate follows from its number, none of these tolerates any; else copies and damage are as
    many as chance allows.  parts: all that was sent since the list began to count.
    """
    if asked.seeded:
        return _by_fate(asked, parts)
    return losses_check(asked, parts), duplicates_check(asked, parts)


def losses_check(asked: Asked, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets whose fate differs from the list's: none is tolerated, but for those that were to be damaged."""
    sent = sum(part.sent for part in parts)
    arrived = _times(parts) > 0
    listed = asked.loss.lists(np.arange(sent))
    tolerated = expectation.corrupted(int(np.count_nonzero(~listed)), asked.side.corrupt)
    return _check(
        asked,
        "losses",
        wanted=asked.side.corrupt * sent,
        found=int(np.count_nonzero(arrived == listed)),
        tolerated=tolerated,
        detail=f"{sent} packets sent, {int(listed.sum())} listed, {int((~arrived).sum())} did not arrive",
    )


def duplicates_check(asked: Asked, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets that arrived more than once."""
    times = _times(parts)
    once = int(np.count_nonzero(times))
    return _check(
        asked,
        "duplicates",
        wanted=asked.side.duplicate * once,
        found=int(times.sum()) - once,
        tolerated=expectation.binomial(once, asked.side.duplicate),
        detail=f"of {once} packets",
    )


def _by_fate(asked: Asked, parts: Sequence[Arrivals]) -> tuple[LinkCheck, ...]:
    """Packets that arrived, or were copied or damaged, otherwise than their fates say: none is tolerated."""
    times = _times(parts)
    fates = list(asked.fates(0, len(times)))
    due = np.array([0 if one is None else (one.damage is None) + (one.copy_ns is not None) for one in fates])
    copied = sum(one is not None and one.copy_ns is not None for one in fates)
    checks = [
        _check(
            asked,
            "losses",
            wanted=0,
            found=int(np.count_nonzero((times > 0) != (due > 0))),
            tolerated=Interval(0, 0),
            detail=f"{len(times)} packets sent, {int((due == 0).sum())} to be lost or damaged, "
            f"{int((times == 0).sum())} did not arrive",
        ),
        _check(
            asked,
            "duplicates",
            wanted=0,
            found=int(np.count_nonzero((times > 0) & (due > 0) & (times != due))),
            tolerated=Interval(0, 0),
            detail=f"{len(times)} packets sent, {copied} to be copied, "
            f"{int(np.maximum(times - 1, 0).sum())} arrived once more",
        ),
    ]
    if asked.side.corrupt:
        bits = {number: one.damage for number, one in enumerate(fates) if one is not None and one.damage is not None}
        listed = [
            [(number, bits[number]) for number in range(part.first, part.first + part.sent) if number in bits]
            for part in parts
        ]
        checks.append(
            _check(
                asked,
                "damage",
                wanted=0,
                found=sum(damage.differences(some, part.damaged) for some, part in zip(listed, parts, strict=True)),
                tolerated=Interval(0, 0),
                detail=f"{len(times)} packets sent, {sum(map(len, listed))} to be damaged in one bit each, "
                f"{sum(len(part.damaged) for part in parts)} were damaged",
            )
        )
    return tuple(checks)


def _times(parts: Sequence[Arrivals]) -> np.ndarray:
    """How often each packet arrived."""
    sent = sum(part.sent for part in parts)
    return np.bincount(np.concatenate([part.number for part in parts]), minlength=sent)


def _check(
    asked: Asked,
    quantity: Literal["losses", "duplicates", "damage"],
    *,
    wanted: float,
    found: int,
    tolerated: Interval,
    detail: str,
) -> LinkCheck:
    return LinkCheck(
        quantity=quantity,
        direction=asked.direction,
        source="probe",
        asked=wanted,
        delivered=found,
        low=tolerated.low,
        high=tolerated.high,
        detail=detail,
    )
