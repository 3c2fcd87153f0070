"""A profile's timeline as the sequence of states that its link goes through.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from emulation.profile import ratetrace
from emulation.profile.direction import DirectionProfile
from emulation.profile.events import Event, Handover, Trace
from emulation.profile.media import MediumName
from emulation.profile.ratetrace import Pace
from records.directions import DIRECTIONS, Direction
from records.refusals import in_words

if TYPE_CHECKING:
    from emulation.profile.profile import LinkProfile, Sides

_MOST_SAID = 16  # values of a list that a change's name has
_LONGEST_EVENT_S = 61.0  # an outage or a handover lasts a minute at most


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """sides: of every group of equal stations (see LinkProfile.groups).  dark: nothing gets through.
    out: stations to and from which nothing gets through.

    held: directions whose queues keep what they have.  holds: those in which that begins, and lasts for as long as a
    full frame takes at the rate in `sides`.
    """

    sides: tuple[Sides, ...]
    dark: bool = False
    out: frozenset[str] = frozenset()
    held: frozenset[Direction] = frozenset()
    holds: frozenset[Direction] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change of the link.  at_s: after the window's start.  label: what it is called; '' = one step of a trace."""

    at_s: float
    label: str
    state: LinkState


@dataclass(frozen=True, slots=True, kw_only=True)
class _Action:
    """One thing that changes: only what is not None.  burst: settings that hold until the next action with one."""

    at_s: float
    label: str
    dark: bool | None = None
    goes_out: frozenset[str] = frozenset()
    comes_back: frozenset[str] = frozenset()
    burst: Handover | None = None
    burst_ends: bool = False
    settings: dict[str, Any] | None = None
    paces: dict[Direction, Pace] | None = None


def check(profile: LinkProfile) -> None:
    """ValueError names an event that cannot be: an impossible setting, or something that a trace cannot go with."""
    _no_overlaps(profile.timeline)
    traces = [event for event in profile.timeline if event.trace]
    if traces and any("rate" in keys for event in profile.timeline for keys in _settings_of(event)):
        raise ValueError("timeline: a trace sets the rate, so no change and no handover can")
    if len(traces) > 1:
        raise ValueError("timeline: one trace at most")
    if traces and profile.stations:
        raise ValueError("timeline: a trace is the rate of all stations, and here some have a rate of their own")
    for trace in traces:
        assert trace.trace
        if any("frame_overhead" in keys for event in profile.timeline for keys in _settings_of(event)):
            raise ValueError("timeline: a trace says what arrives, overhead and all: no change sets frame_overhead")
        for direction in ("uplink", "downlink"):
            if getattr(trace.trace, direction) and getattr(profile, direction).frame_overhead:
                raise ValueError(
                    f"timeline: a trace says what the {direction} delivers, overhead and all: leave frame_overhead out"
                )
            if getattr(trace.trace, direction) and getattr(profile, direction).rate is None:
                raise ValueError(f"timeline: a trace sets the rate of the {direction}, which has none to begin with")
        if profile.medium == "shared" and trace.trace.uplink != trace.trace.downlink:
            raise ValueError("timeline: a shared medium has one rate, so its trace is the same for both directions")
    all_states(profile)


def _no_overlaps(events: Sequence[Event]) -> None:
    """What lasts must be over before another of its kind begins: two outages of one station at once have no meaning."""
    for kind in ("outage", "handover"):
        lasting = sorted((one for one in events if getattr(one, kind) is not None), key=lambda one: one.at)
        for first, second in combinations(lasting, 2):
            if not _share_a_station(first, second):
                continue
            if round(first.ends * 1e6) >= round(second.at * 1e6):
                raise ValueError(
                    f"timeline: the {kind} that begins at {first.at:g} s ends at {first.ends:g} s, and another begins "
                    f"at {second.at:g} s: begin that one later, or make one of both"
                )


def _share_a_station(first: Event, second: Event) -> bool:
    """Events that name no station are of all."""
    return not first.stations or not second.stations or bool(set(first.stations) & set(second.stations))


def _settings_of(event: Event) -> Iterator[set[str]]:
    """The keys that an event changes, of both directions together."""
    changes = event.change if event.change is not None else event.handover.to if event.handover else {}
    yield set(changes) | {key for own in changes.values() if isinstance(own, dict) for key in own}


def initial(profile: LinkProfile) -> LinkState:
    """The link before anything has happened to it."""
    return LinkState(sides=tuple(profile.all_sides().values()))


def bursts(profile: LinkProfile) -> bool:
    """Whether some of it may, at any time, pass at once after a pause."""
    sides = [both for state in all_states(profile) for both in state.sides]
    return any(getattr(both, way).burst_bytes for both in sides for way in DIRECTIONS)


def all_states(profile: LinkProfile) -> list[LinkState]:
    """Every state that the link can be in, but for the rates of a trace."""
    plain = [event for event in profile.timeline if event.trace is None]
    end = max((event.at + _LONGEST_EVENT_S for event in plain), default=0.0)
    return [initial(profile), *(step.state for step in _states(profile, plain, end))]


def states(profile: LinkProfile, *, until_s: float, made_by: MediumName = "tc") -> tuple[Step, ...]:
    """Every change up to `until_s` seconds after the window's start, in order.

    made_by: what plays them, which decides how the steps of a trace come to let through what was recorded.
    """
    return _states(profile, profile.timeline, until_s, made_by)


def _states(
    profile: LinkProfile, events: Sequence[Event], until_s: float, made_by: MediumName = "tc"
) -> tuple[Step, ...]:
    now = initial(profile)
    settled = now.sides
    burst: Handover | None = None
    paces: dict[Direction, Pace] = {}
    steps = []
    for action in sorted(_actions(events, until_s, made_by), key=lambda one: one.at_s):
        if action.at_s > until_s:
            break
        try:
            if action.settings is not None:
                settled = tuple(_with(sides, action.settings, profile) for sides in settled)
            burst = None if action.burst_ends else action.burst or burst
            sides = settled if burst is None else tuple(_burst(one, burst) for one in settled)
        except (ValidationError, ValueError) as error:
            raise ValueError(f"timeline: at {action.at_s:g} s: {action.label}: {_first(error)}") from None
        paces = action.paces or paces
        now = LinkState(
            sides=tuple(_paced(one, paces) for one in sides),
            dark=now.dark if action.dark is None else action.dark,
            out=(now.out | action.goes_out) - action.comes_back,
            held=frozenset(direction for direction, pace in paces.items() if pace.held),
            holds=frozenset(direction for direction, pace in (action.paces or {}).items() if pace.holds),  # once
        )
        steps.append(Step(at_s=action.at_s, label=action.label, state=now))
    return tuple(steps)


def _actions(events: Sequence[Event], until_s: float, made_by: MediumName) -> Iterator[_Action]:
    for event in events:
        if event.outage is not None:
            out = frozenset(event.stations)
            what = f"outage of {', '.join(event.stations)}" if out else "outage"
            yield _Action(at_s=event.at, label=f"{what} begins", dark=None if out else True, goes_out=out)
            yield _Action(at_s=event.ends, label=f"{what} ends", dark=None if out else False, comes_back=out)
        elif event.handover is not None:
            yield _Action(at_s=event.at, label="handover begins", burst=event.handover)
            yield _Action(
                at_s=event.ends,
                label="handover ends",
                burst_ends=True,
                settings=event.handover.to,
            )
        elif event.change is not None:
            yield _Action(at_s=event.at, label=_named(event.change), settings=event.change)
        elif event.trace is not None:
            yield from _trace_actions(event, event.trace, until_s, made_by)


def _trace_actions(event: Event, trace: Trace, until_s: float, made_by: MediumName) -> Iterator[_Action]:
    paced = ratetrace.shares if made_by == "line" else ratetrace.paces
    length = max(until_s - event.at, trace.step)
    paces = {
        direction: paced(one.counts(step_s=trace.step, until_s=length), step_s=trace.step)
        for direction in DIRECTIONS
        if (one := getattr(trace, direction)) is not None
    }
    for number in range(max(map(len, paces.values()))):
        yield _Action(
            at_s=event.at + number * trace.step,
            label="" if number else "trace begins",
            paces={direction: values[number] for direction, values in paces.items()},
        )


def _named(settings: dict[str, Any]) -> str:
    words = []
    for key, value in settings.items():
        inner = value.items() if isinstance(value, dict) and key in ("uplink", "downlink") else None
        words += [f"{key} {name} {_short(one)}" for name, one in inner] if inner else [f"{key} {_short(value)}"]
    return ", ".join(words) or "change of nothing"


def _short(value: object) -> object:
    """A value, but of what came out of a file how much it is, and a digest."""
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list | tuple) and len(value) > _MOST_SAID:
        return f"{len(value)} values {hashlib.sha256(repr(value).encode()).hexdigest()[:8]}"
    return value


def _with(sides: Sides, settings: dict[str, Any], profile: LinkProfile) -> Sides:
    new = sides.changed(settings)
    for direction in ("uplink", "downlink"):
        was, now = getattr(sides, direction).rate, getattr(new, direction).rate
        if (was is None) != (now is None):
            raise ValueError(f"{direction}: a rate can change, but not come or go while the link is in use")
        if (getattr(sides, direction).queue_packets is None) != (getattr(new, direction).queue_packets is None):
            raise ValueError(f"{direction}: a queue that counts packets cannot begin or cease to while in use")
    if profile.medium == "shared" and new.uplink.medium != new.downlink.medium:
        raise ValueError("a shared medium has one rate, one overhead and one queue: change them for both directions")
    return new


def _burst(sides: Sides, handover: Handover) -> Sides:
    def one(side: DirectionProfile) -> dict[str, Any]:
        return {"loss": handover.loss or side.loss, "delay": side.delay + handover.extra_delay}

    return sides.changed({"uplink": one(sides.uplink), "downlink": one(sides.downlink)})


def _paced(sides: Sides, paces: dict[Direction, Pace]) -> Sides:
    """Rates of a trace may be below what a profile may ask for: nearly nothing, when nothing was delivered."""
    return sides.model_copy(
        update={
            direction: getattr(sides, direction).model_copy(
                # The queue stays what it is at the profile's own rate.
                update={
                    "rate": pace.rate,
                    "queue_time": None,
                    "queue_bytes": getattr(sides, direction).queue_limit_bytes,
                }
                if getattr(sides, direction).queue_packets is None
                else {"rate": pace.rate}
            )
            for direction, pace in paces.items()
        }
    )


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"]))
        return f"{where}: {detail['input']!r}: {in_words(detail)}"
    return str(error)
