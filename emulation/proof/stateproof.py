"""Proof of the states that a timeline leads to, each distinct one once, reached by the changes that lead there.

What a probe can see of a state is delay, loss and rate, and whether anything gets through.  The steps of a recorded
trace are not proven one by one: emulation.proof.traceproof holds their sum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from emulation.kernel.accesspoint import Ports
from emulation.line.serving import LineProcess
from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile import distribution, timeline
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.profile import LinkProfile
from emulation.profile.timeline import LinkState
from emulation.proof.between import asked_between
from emulation.proof.peerproof import PeerEnds, probe_peers
from emulation.proof.probe import HURRY_S, MIN_FRAME, probe_path
from emulation.proof.proof import MORE_S, Ends, Samples, loss_packets, probe_way, room, single_frames
from emulation.proof.rateproof import RATE_TRIES, rate_frame_bytes, rate_frames
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck

_VISIBLE = frozenset(
    ("rate", "frame_overhead", "loss", "delay", "jitter", "jitter_distribution", "keep_order", "reorder", "duplicate",
     "corrupt")
)  # fmt: skip
# Fewer than for the link's first state: there may be many others.
SAMPLES = Samples(delay=20, jitter=100, loss=150, loss_most=150, rate_s=0.3)
_DARK_PACKETS, _DARK_SPACING_S = 20, 0.002
_PATIENCE_S = 0.2
# Putting a link on and taking it off: 5.5 s build 200 stations (`python benchmarks/emulation_accuracy.py`).
_APPLY_USUAL_S, _APPLY_LONGEST_S = 0.3, 20.0

Way = tuple[int, Direction]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterState:
    """A state of the link after some of its timeline's changes.

    change: the one that leads there, and when.  path: the states on the way there, itself the last.
    ways: the groups of stations and directions whose settings are new in it.  dark: stations to and from which nothing
    gets through for the first time.  key: SHA-256 of what is to be proven of it.
    """

    change: str
    path: tuple[LinkState, ...]
    ways: tuple[Way, ...]
    dark: tuple[str, ...]
    key: str


def later_states(
    profile: LinkProfile, groups: Sequence[Sequence[str]], *, until_s: float, met: Sequence[Direction] = DIRECTIONS
) -> tuple[LaterState, ...]:
    """The distinct states that a probe can tell from those before them, in the order in which the timeline comes there.

    groups: as in LinkProfile.groups.  until_s: how much of the timeline is played, in seconds.  met: the directions
    whose settings packets meet (LinkPlan.directions).
    """
    first = timeline.initial(profile)
    every = [way for way in _ways(groups) if way[1] in met]
    proven: dict[Way, set[object]] = {way: {_visible(first, way)} for way in every}
    known_dark: set[str] = set()
    states: list[LinkState] = []
    found = []
    for step in timeline.states(_without_traces(profile), until_s=until_s):
        states.append(step.state)
        out = _unreachable(step.state, groups)
        ways = tuple(way for way in every if _heard(step.state, groups[way[0]]))
        ways = tuple(way for way in ways if _visible(step.state, way) not in proven[way])
        dark = tuple(one for one in out if one not in known_dark)
        if not ways and not dark:
            continue
        known_dark.update(dark)
        for way in ways:
            proven[way].add(_visible(step.state, way))
        found.append(
            LaterState(
                change=f"{step.label}, at {step.at_s:g} s",
                path=tuple(states),
                ways=ways,
                dark=dark,
                key=_key(profile.medium, step.state, ways, dark),
            )
        )
    return tuple(found)


def proof_plan(plan: LinkPlan, *, until_s: float) -> LinkPlan:
    """The plan of the link on which later states are proven: the trial's own, but for the steps of traces.

    It is made anew, because a line's process makes its plan from a profile and times, and must come to the same.
    """
    made = linkplan.plan(
        _without_traces(plan.profile),
        [station for members in plan.groups for station in members],
        seed=plan.seed,
        seconds=plan.seconds,
        timeline_s=until_s,
        made_by=plan.made_by,
        via=plan.via,
        group_frames=plan.group_frames,
    )
    return replace(made, times_frames=plan.times_frames)


def prove_state(
    plan: LinkPlan, ports: Ports, state: LaterState, ends: Callable[[str], Ends],
    pairs: Sequence[PeerEnds] | None = None, *, process: LineProcess | None = None,
) -> tuple[LinkCheck, ...]:  # fmt: skip
    """Put the link on, take it through its changes to `state`, and measure what is new there.

    plan: of `proof_plan`.  ends: where a station's link is probed.  pairs: stations that are not out, between which
    ways are probed instead, as there is no server: those of `unmet` not; None where there is one.  process: as in
    link.applied.  Nothing else may use the link meanwhile.
    """
    now = state.path[-1]
    with applied(plan, ports, process) as link:
        link.go_through(state.path)
        if pairs is not None:
            new = [one for one in pairs if not _met(plan, now, one).isdisjoint(state.ways)]
            checks = list(probe_peers(plan, new, SAMPLES, renumber=link.renumber, state=now))
        else:
            ways = ((way, _heard(now, plan.groups[way[0]])) for way in state.ways)
            checks = [
                check for way, who in ways for check in probe_way(plan, now, way, ends(who), SAMPLES, station=who)
            ]
        for station in state.dark:
            group = next(number for number, members in enumerate(plan.groups) if station in members)
            checks += [
                _dark_check(linkplan.side(now, group, direction), direction, station, ends(station))
                for direction in DIRECTIONS
            ]
    return tuple(check.model_copy(update={"state": state.change}) for check in checks)


def unmet(plan: LinkPlan, state: LaterState, pairs: Sequence[PeerEnds]) -> frozenset[Way]:
    """The new ways of a state that no packet between these stations meets."""
    return frozenset(state.ways).difference(*(_met(plan, state.path[-1], pair) for pair in pairs))


def _met(plan: LinkPlan, state: LinkState, pair: PeerEnds) -> set[Way]:
    """The groups of stations and directions that packets between two stations meet."""
    hops = asked_between(plan, state, pair.sender, pair.receiver).hops
    return {(one.loss.group, one.loss.direction) for one in hops}


def usual_s(state: LaterState) -> float:
    """About how long proving a state takes, in seconds, on a link that holds."""
    return (
        _APPLY_USUAL_S
        + sum(_probing_s(side, tries=1, silences=5 * side.loss_share) for side in _sides(state))
        + _darkness_s(state)
    )


def longest_s(state: LaterState) -> float:
    """How long proving a state can take: what is sent last is always lost, and each rate has to be measured anew."""
    probing = sum(
        _probing_s(side, tries=RATE_TRIES, silences=4 + RATE_TRIES)
        + (MORE_S * len(single_frames(side, SAMPLES)) if side.loss_share else 0.0)
        for side in _sides(state)
    )
    return _APPLY_LONGEST_S + probing + 2 * _darkness_s(state)


def _without_traces(profile: LinkProfile) -> LinkProfile:
    if not any(event.trace for event in profile.timeline):
        return profile
    return profile.model_copy(update={"timeline": tuple(one for one in profile.timeline if not one.trace)})


def _ways(groups: Sequence[Sequence[str]]) -> list[Way]:
    return [(number, direction) for number, members in enumerate(groups) if members for direction in DIRECTIONS]


def _visible(state: LinkState, way: Way) -> object:
    side = linkplan.side(state, *way)
    return tuple(getattr(side, name) for name in sorted(_VISIBLE))


def _unreachable(state: LinkState, groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Stations that nothing gets through to: of each group the first, when it is the whole link."""
    if state.dark:
        return tuple(members[0] for members in groups if members)
    return tuple(station for members in groups for station in members if station in state.out)


def _heard(state: LinkState, members: Sequence[str]) -> str:
    """The station that speaks for a group: the first that anything gets through to, '' when there is none."""
    return "" if state.dark else next((one for one in members if one not in state.out), "")


def _key(medium: str, state: LinkState, ways: Sequence[Way], dark: Sequence[str]) -> str:
    settings = [
        [group, direction, linkplan.side(state, group, direction).model_dump(mode="json", include=set(_VISIBLE))]
        for group, direction in ways
    ]
    text = json.dumps([medium, settings, list(dark)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _dark_check(side: DirectionProfile, direction: Direction, station: str, ends: Ends) -> LinkCheck:
    """None of a few packets may arrive."""
    there, back = (ends.station_pid, ends.station_address), (ends.wired_pid, ends.wired_address)
    (from_pid, _), (to_pid, to_address) = (there, back) if direction == "uplink" else (back, there)
    with probe_path(from_pid=from_pid, to_pid=to_pid, to_address=to_address) as path:
        path.wait(_dark_silence_s(side), in_order=False)
        arrivals = path.send([MIN_FRAME] * _DARK_PACKETS, spacing_s=_DARK_SPACING_S)
    return LinkCheck(
        quantity="losses",
        direction=direction,
        source="probe",
        asked=0,
        delivered=len(arrivals.number),
        low=0,
        high=0,
        detail=f"{_DARK_PACKETS} packets sent, all to be lost, {len(arrivals.number)} arrived at or from {station}",
    )


def _dark_silence_s(side: DirectionProfile) -> float:
    return _PATIENCE_S + side.delay + distribution.longest(side) + _DARK_PACKETS * side.airtime(MIN_FRAME)


def _darkness_s(state: LaterState) -> float:
    """Sending into the dark and waiting for nothing."""
    sides = [getattr(both, way) for both in state.path[-1].sides for way in DIRECTIONS]
    each = _DARK_PACKETS * _DARK_SPACING_S + max(map(_dark_silence_s, sides))
    return len(state.dark) * len(DIRECTIONS) * each


def _sides(state: LaterState) -> Iterator[DirectionProfile]:
    for way in state.ways:
        yield linkplan.side(state.path[-1], *way)


def _probing_s(side: DirectionProfile, *, tries: int, silences: float) -> float:
    """Seconds that probe_way takes: what is sent and how far apart, by the rate; then waits for what was lost."""
    frame_s = side.airtime(MIN_FRAME)
    singles = single_frames(side, SAMPLES)
    total = frame_s + sum(burst.seconds for burst in singles)
    if side.rate:
        total += tries * sum(rate_frames(side, SAMPLES.rate_s)) * side.airtime(rate_frame_bytes(side))
    loss_s = max(frame_s, side.delay / 20, 2 * HURRY_S / room(side))
    total += loss_packets(side, SAMPLES, loss_s) * loss_s
    waits = side.queue_limit_bytes / FULL_FRAME * side.airtime(FULL_FRAME)
    silence = _PATIENCE_S + side.delay + distribution.longest(side) + waits
    return total + (2 + len(singles) + tries) * (side.delay + distribution.longest(side)) + silences * silence
