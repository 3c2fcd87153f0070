"""What a trial's link is asked to be over time, as its link.json tells it.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from emulation.plan.linkplan import LinkPlan
from emulation.profile import timeline
from emulation.profile.direction import DirectionProfile
from records.link import DirectionState, GroupState, LinkInterruption, LinkState


def states(plan: LinkPlan) -> tuple[LinkState, ...]:
    """The link as it begins, and after each change that has a name: of a trace that is its beginning."""
    first = _state(plan, plan.first, since_s=None)
    return (first, *(_state(plan, one.state, since_s=one.at_s, label=one.label) for one in plan.steps if one.label))


def interruptions(plan: LinkPlan) -> Iterator[LinkInterruption]:
    """Outages and handovers, with the stations that they are of."""
    every = tuple(name for group in plan.groups for name in group)
    for event in plan.profile.timeline:
        lasts_s = event.handover.lasts if event.handover else event.outage
        if lasts_s is not None:
            yield LinkInterruption(at_s=event.at, lasts_s=lasts_s, stations=event.stations or tuple(sorted(every)))


def _state(plan: LinkPlan, state: timeline.LinkState, *, since_s: float | None, label: str = "") -> LinkState:
    groups = tuple(
        GroupState(stations=names, uplink=_direction(sides.uplink), downlink=_direction(sides.downlink))
        for names, sides in zip(plan.groups, state.sides, strict=True)
    )
    return LinkState(since_s=since_s, label=label, groups=groups)


def _direction(side: DirectionProfile) -> DirectionState:
    return DirectionState(rate=side.rate, overhead=side.frame_overhead, corrupt=side.corrupt)
