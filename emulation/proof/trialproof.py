"""What a link delivered during a trial, by its counters, against what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulation.plan.linkplan import LinkPlan
from emulation.plan.loss import SeededLosses
from emulation.proof.rateproof import RATE_TOLERANCE
from emulation.tc.losstable import LossCount
from emulation.tc.player import Played
from records.directions import Direction
from records.link import LinkCheck

# A change is in force within 5 ms (benchmarks/emulation_accuracy.py); what is later than this spoils a trial.
CHANGE_TOLERANCE_S = 0.02


def loss_checks(losses: Sequence[SeededLosses], counts: Sequence[LossCount]) -> tuple[LinkCheck, ...]:
    """The loss stage's counters over a whole trial against the list: drops must agree.

    The two counters are not read at one instant: a packet that passes meanwhile may be in one and not in the other.
    """
    return tuple(_loss_check(loss, count) for loss, count in zip(losses, counts, strict=True))


def _loss_check(loss: SeededLosses, count: LossCount) -> LinkCheck:
    seen = max(count.seen, 1)
    return LinkCheck(
        quantity="loss",
        direction=loss.direction,
        source="trial",
        asked=loss.share,
        delivered=count.dropped / seen,
        low=loss.dropped_of(max(count.seen - 1, 0)) / seen,
        high=loss.dropped_of(count.seen + 1) / seen,
        detail=f"{count.dropped} of {count.seen} packets dropped, {loss.dropped_of(count.seen)} listed ({loss.name})",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUse:
    """What one queue carried in `seconds`, between two readings.

    rate: bit/s in the mean, a timeline's changes counted.  carried_bits: what could have passed in the time that its
    frames took (records.airtime.carried).  at_once_bits: what passes when a pause has filled the bucket.
    changes_bits: what changes of the rate may have let through or held back.  never_empty: whether packets
    certainly waited all the time.
    """

    name: str
    direction: Direction
    rate: float
    seconds: float
    carried_bits: float
    at_once_bits: float
    never_empty: bool
    changes_bits: float = 0.0


def trial_rate_check(use: QueueUse) -> LinkCheck:
    """A queue may never carry more than its rate, and must carry that when packets waited in it all the time."""
    changes = use.changes_bits / use.seconds
    return LinkCheck(
        quantity="rate",
        direction=use.direction,
        source="trial",
        asked=use.rate,
        delivered=use.carried_bits / use.seconds,
        low=use.rate * (1 - RATE_TOLERANCE) - changes if use.never_empty else 0.0,
        high=use.rate * (1 + RATE_TOLERANCE) + use.at_once_bits / use.seconds + changes,
        detail=f"{use.name}: {'never' if use.never_empty else 'perhaps sometimes'} empty",
    )


def timeline_checks(plan: LinkPlan, played: Sequence[Played], *, until_s: float) -> tuple[LinkCheck, ...]:
    """Whether every change of the link that was due before `until_s` came, and how late the latest one was."""
    due = [step for step in plan.steps if step.at_s <= until_s]
    if not due:
        return ()
    worst = max((one.late_s for one in played), default=0.0) if len(played) >= len(due) else float("inf")
    return (
        LinkCheck(
            quantity="change",
            direction="uplink",
            source="trial",
            asked=0,
            delivered=worst,
            low=0,
            high=CHANGE_TOLERANCE_S,
            detail=f"the latest of {len(played)} changes; {len(due)} were due",
        ),
    )
