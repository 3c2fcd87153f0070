"""Which probe packets arrived, how often, and how: losses, copies, damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from emulation.proof import damage, expectation
from emulation.proof.asked import Asked
from emulation.proof.expectation import Interval
from emulation.proof.foretold import foretell
from emulation.proof.probe import Arrivals
from records.link import LinkCheck


def arrival_checks(asked: Asked, parts: Sequence[Arrivals]) -> tuple[LinkCheck, ...]:
    """Packets against the list of losses, which tolerates no difference, and against what else was to happen.

    Where all of a packet's fate follows from its number, none of these tolerates any; else copies and damage are as
    many as chance allows, and losses, too, where it is not known which number a packet has (Asked.numbered).  parts:
    all that was sent since the lists began to count.
    """
    if asked.seeded:
        return _by_fate(asked, parts)
    if not asked.numbered:
        return _by_chance(asked, parts)
    return losses_check(asked, parts), duplicates_check(asked, parts)


def losses_check(asked: Asked, parts: Sequence[Arrivals]) -> LinkCheck:
    """Packets whose fate differs from the list's: none is tolerated, but for those that were to be damaged."""
    sent = sum(part.sent for part in parts)
    arrived = _times(parts) > 0
    listed = asked.lost(sent)
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
    foretold = [foretell(asked, part) for part in parts]
    due = np.bincount(np.concatenate([one.received().number for one in foretold]), minlength=len(times))
    copied = sum(len(one.number) - len(np.unique(one.number)) for one in foretold)
    unsure = [number for one in foretold for number in one.unsure]
    times[unsure] = due[unsure]
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
    if asked.side.corrupt and len(asked.hops) == 1:
        listed = [
            [(number, draw) for number, draw in zip(one.number.tolist(), one.damage.tolist(), strict=True) if draw >= 0]
            for one in foretold
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


def _by_chance(asked: Asked, parts: Sequence[Arrivals]) -> tuple[LinkCheck, ...]:
    """Packets that were lost or copied on the way through several directions: as many as chance allows."""
    times = _times(parts)
    sides = [one.side for one in asked.hops]
    missing, copies = expectation.through(sides, asked.loss, packets=len(times))
    detail = f"of {len(times)} packets, by chance: which are copied or damaged on the way up is not known"
    gone, more = int(np.count_nonzero(times == 0)), int(np.maximum(times - 1, 0).sum())
    return (
        _check(asked, "losses", wanted=missing.middle, found=gone, tolerated=missing, detail=detail),
        _check(asked, "duplicates", wanted=copies.middle, found=more, tolerated=copies, detail=detail),
    )


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
