"""The way from one station to another, as one direction that would come to the same.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from emulation.plan.linkplan import LinkPlan
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.timeline import LinkState
from emulation.proof.asked import Asked, asked_of


def asked_between(plan: LinkPlan, state: LinkState, sender: str, receiver: str) -> Asked:
    """What a plan asks of the way from a station to another while the link is in `state`.

    Up and down again through the access point; of an ad-hoc link the sender's uplink alone.
    """
    group_of = {station: number for number, members in enumerate(plan.groups) for station in members}
    parts = tuple(
        asked_of(plan, state, group_of[station], direction, station)
        for station, direction in zip((sender, receiver), plan.directions, strict=False)
    )
    if len(parts) == 1:
        return parts[0]
    one_air = plan.profile.medium == "shared"
    sides = [one.side for one in parts]
    air = _in_a_row(sides, _airs_in_a_row([one.air for one in parts]))
    limits = [one for one in (*sides, *([air] if one_air else [])) if one.rate is not None]
    return Asked(
        side=_in_a_row(sides, max(limits, key=lambda one: one.airtime(FULL_FRAME), default=air)),
        air=air,
        loss=parts[0].loss,
        pays_for_frames=plan.pays_for_frames,
        seeded=parts[0].seeded,
        parts=parts,
        one_air=one_air,
        one_queue=plan.profile.turns == "arrival",
    )


def _airs_in_a_row(airs: Sequence[DirectionProfile]) -> DirectionProfile:
    """An air on which a frame takes as long as on all of these, one after the other."""
    limited = [one for one in airs if one.rate is not None]
    if not limited:
        return airs[0]
    rate = 1 / sum(1 / one.rate for one in limited if one.rate)
    return limited[0].model_copy(update={"rate": rate, "frame_overhead": sum(one.frame_overhead for one in limited)})


def _in_a_row(sides: Sequence[DirectionProfile], medium: DirectionProfile) -> DirectionProfile:
    """Settings that do what all of these do one after the other, at the rate and with the bucket of `medium`."""
    limited = [one for one in sides if one.rate is not None]
    changes: dict[str, object] = {
        "delay": sum(one.delay for one in sides),
        "jitter": sum(one.jitter for one in sides),
        "keep_order": all(one.keep_order or not one.jitter for one in sides),
        **{name: _either([getattr(one, name) for one in sides]) for name in ("reorder", "duplicate", "corrupt")},
    }
    if any(one.queue_packets is not None for one in limited):
        packets = min(one.queue_limit_bytes // FULL_FRAME for one in limited)
        changes |= {"queue_packets": packets, "queue_bytes": None, "queue_time": None}
    elif limited:
        changes |= {"queue_bytes": min(one.queue_limit_bytes for one in limited), "queue_time": None}
    return medium.model_copy(update=changes)


def _either(shares: Sequence[float]) -> float:
    none = 1.0
    for share in shares:
        none *= 1 - share
    return 1 - none
