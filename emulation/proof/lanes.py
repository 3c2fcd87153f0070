"""What probes of one link have in common, and how long their bursts may take when they have to go one by one."""

from __future__ import annotations

from collections.abc import Iterable

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.direction import FULL_FRAME
from records.directions import DIRECTIONS, Direction

# On a shared medium the rates of stations that are probed at the same time sum up to this share of it at most.
_MEDIUM_SHARE = 0.9
# All bursts of a proof that measure rates together, where each can be as short as this: the stall that spoils the
# shorter one (RATE_TOLERANCE of it) is 4 ms, and it is sent up to three times.
_ALL_RATES_S, _SHORTEST_S = 20.0, 0.2


def shared_uses(plan: LinkPlan, group: int, direction: Direction) -> dict[str, float]:
    """What a burst that uses all of a group's direction takes of what it shares (see
    emulation.proof.sidebyside.Lane).
    """
    one, whole = (linkplan.side(plan.first, number, direction) for number in (group, 0))
    if plan.profile.medium == "duplex" or not one.rate:
        return {}
    if plan.profile.station_rate == "phy":  # whoever sends uses all of it
        whole = one
    return {"medium": whole.airtime(FULL_FRAME) / one.airtime(FULL_FRAME) / _MEDIUM_SHARE, f"group {group}": 1.0}


def rate_seconds(plan: LinkPlan, groups: Iterable[int], wanted: float, *, frames_per_s: float) -> float:
    """How long the burst that measures a rate should take: `wanted`, or less where many have to go one by one.

    They do on a shared medium, and where they are as fast as this machine can send (`frames_per_s`, all together).
    """
    turns = 0.0
    for group in groups:
        for direction in DIRECTIONS:
            if airtime := linkplan.side(plan.first, group, direction).airtime(FULL_FRAME):
                turns += max(
                    min(1 / airtime / frames_per_s, 1.0), shared_uses(plan, group, direction).get("medium", 0.0)
                )
    return min(wanted, max(_ALL_RATES_S / turns, _SHORTEST_S)) if turns else wanted
