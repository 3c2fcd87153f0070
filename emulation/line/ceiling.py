"""What the line carries, and what links may ask of it: frames a second, of all stations and both directions.  Pure.

The line is one process on one core, so what counts is how many frames it takes in and gives out, whoever's they are:
those of all links of a trial together, and every copy of a frame to a group.
Measured (`python benchmarks/line.py --only ceiling drawn`, 2026-11-23, 2 cores, Linux 6.18, with other work beside):
70,000 frames/s of 100 bytes without loss and 99.9 % within 0.5 ms where fates are lists; where they are drawn 30,000
(99.9 % within 0.4 to 0.9 ms), and at 50,000 still none was lost, but 99.9 % were within 1.7 to 4.3 ms only.  A
prototype's rates were exact (0.002 %) at 100 Mbit/s, and 896 Mbit/s went through.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulation.profile import timeline
from emulation.profile.direction import FULL_FRAME, DirectionProfile
from emulation.profile.profile import LinkProfile
from records.airtime import airtime
from records.directions import DIRECTIONS, Direction

CEILING_FRAMES_S = 50_000
CEILING_DRAWN_FRAMES_S = 30_000
CEILING_BIT_S = 150e6
MOST_STATIONS = 250
# Of a core, beside the trial's own processes.  The default experiment's wire (49,500 frames/s: 66 % of a core) had
# half of tc's throughput by the line, on two cores that broker and clients use up by themselves.
HEAVY_SHARE, _FRAME_COST_S = 0.6, 13.4e-6  # 70,000 frames/s took 94 % (`python benchmarks/line.py --only ceiling`)
_ACKNOWLEDGEMENT = 66  # bytes of a bare one, with timestamps
_ANSWERED = 2  # full frames that one answers (RFC 5681: at least every second one)
_DRAWN = ("jitter", "reorder", "duplicate", "corrupt")


@dataclass(frozen=True, slots=True)
class Load:
    """A link for the line to carry.  stations: how many it has.  group_frames: see linkplan.plan.

    between: whether its stations send to each other, as there is nobody else.
    """

    profile: LinkProfile
    stations: int
    group_frames: bool = False
    between: bool = False

    def __str__(self) -> str:
        return f"profile {self.profile.name!r} with {self.stations} station{'s' * (self.stations != 1)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What links ask at most, together.  frames_s: of all stations and both directions, None = without limit.

    rate: the highest of one queue, bit/s.  drawn: whether fates of packets are drawn (a list of losses is not).
    share: of all that the line carries, which is fewer frames where their fates are drawn.
    """

    frames_s: float | None
    rate: float | None
    drawn: bool
    share: float

    @property
    def limit_frames_s(self) -> int:
        """What the line carries of this kind, or of this mixture of kinds."""
        return round(self.frames_s / self.share) if self.frames_s else _limit(drawn=self.drawn)

    @property
    def fits(self) -> bool:
        """Whether the line carries it."""
        return self.share <= 1 and self.rate is not None and self.rate <= CEILING_BIT_S


def asked(*loads: Load) -> Asked:
    """What links ask of the line, each in its busiest state, when all stations send full frames both ways."""
    found = [_asked(one.profile, list(_states(one.profile)), one.stations, one.group_frames) for one in loads]
    drawn, share = any(one.drawn for one in found), sum(one.share for one in found)
    frames = [one.frames_s for one in found if one.frames_s is not None]
    rates = [one.rate for one in found if one.rate is not None]
    if len(frames) < len(found):
        return Asked(frames_s=None, rate=None, drawn=drawn, share=share)
    return Asked(frames_s=sum(frames), rate=max(rates, default=0.0), drawn=drawn, share=share)


def is_heavy(*loads: Load) -> bool:
    """Whether the line carries these links, but may take more than HEAVY_SHARE of a core for them."""
    found = asked(*loads)
    return found.fits and (found.frames_s or 0.0) * _FRAME_COST_S > HEAVY_SHARE


def most_stations(profile: LinkProfile) -> int:
    """How many stations the line carries this profile for, at most MOST_STATIONS; 0 when not for any."""
    return _most_stations(profile, group_frames=False)


def has_room(*loads: Load, trials: int) -> bool:
    """Whether so many trials with these links can run side by side; each has a process, on the same processors."""
    found = asked(*loads)
    return found.fits and found.share * trials <= 1


def why_not(*loads: Load) -> str:
    """Why the line cannot carry links, with all figures and what can be done; '' when it can."""
    found = asked(*loads)
    if found.fits:
        return ""
    if alone := next((why for one in loads if (why := _why_not_alone(one))), ""):
        return alone
    each = ", ".join(
        f"{f'{times} of ' if times > 1 else ''}{one}{', each' if times > 1 else ''}: {asked(one).frames_s:,.0f}"
        for one, times in _counted(loads)
    )
    return (
        f"the line, one process for a trial, carries {found.limit_frames_s:,} frames/s at most"
        f"{_of_drawn(found)}, and the trial's {len(loads)} links have up to {found.frames_s:,.0f} together "
        f"({each}; {_counts(loads)}): use fewer links, slower profiles, or medium tc"
    )


def _why_not_alone(one: Load) -> str:
    found, profile = asked(one), one.profile
    if found.fits:
        return ""
    if found.frames_s is None or found.rate is None:
        return f"the line needs a rate for every station and direction, and {one} has one without limit: use medium tc"
    if found.rate > CEILING_BIT_S:
        return (
            f"the line carries {CEILING_BIT_S / 1e6:g} Mbit/s at most, and {one} has {found.rate / 1e6:g} Mbit/s: "
            "use a slower profile, or medium tc"
        )
    most = _most_stations(profile, group_frames=one.group_frames)
    fewer = f"{most} station{'s' * (most != 1)} at most" if most else "a slower profile"
    return (
        f"the line carries {found.limit_frames_s:,} frames/s at most{_of_drawn(found)}, and {one} has up to "
        f"{found.frames_s:,.0f} ({_counts([one])}): use {fewer}, or medium tc"
    )


def _counted(loads: Sequence[Load]) -> list[tuple[Load, int]]:
    """Each of several that are equal once, with how many they are."""
    found: list[tuple[Load, int]] = []
    for one in loads:
        if one not in [other for other, _ in found]:
            found.append((one, sum(one == other for other in loads)))
    return found


def _of_drawn(found: Asked) -> str:
    return " where jitter, order, copies or damage are drawn" if found.drawn else ""


def _counts(loads: Sequence[Load]) -> str:
    copies = ", and a copy for each station of frames to a group" if any(one.group_frames for one in loads) else ""
    return f"full frames and their acknowledgements, of all stations, both ways{copies}"


@dataclass(frozen=True, slots=True)
class _Way:
    """What a direction's frames cost: bit/s (None = nothing), seconds beside it."""

    rate: float | None
    overhead: float

    def takes_s(self, frame_bytes: int) -> float:
        return 0.0 if self.rate is None else float(airtime(frame_bytes, rate=self.rate, overhead=self.overhead))


_Both = tuple[_Way, _Way]


def _asked(profile: LinkProfile, states: Sequence[Sequence[_Both]], stations: int, group_frames: bool) -> Asked:
    rates = [way.rate for state in states for both in state for way in both]
    limited, drawn = [rate for rate in rates if rate is not None], _drawn(profile)
    if len(limited) < len(rates):
        return Asked(frames_s=None, rate=None, drawn=drawn, share=math.inf)
    frames_s = max(_frames_s(profile, state, stations, group_frames) for state in states)
    return Asked(frames_s=frames_s, rate=max(limited), drawn=drawn, share=frames_s / _limit(drawn=drawn))


def _limit(*, drawn: bool) -> int:
    return CEILING_DRAWN_FRAMES_S if drawn else CEILING_FRAMES_S


def _most_stations(profile: LinkProfile, *, group_frames: bool) -> int:
    least = max((int(name.removeprefix("sta")) for name in profile.stations), default=1)
    states = list(_states(profile))
    carried = bisect_left(
        range(least, MOST_STATIONS + 1),
        True,
        key=lambda stations: not _asked(profile, states, stations, group_frames).fits,
    )
    return least + carried - 1 if carried else 0


def _frames_s(profile: LinkProfile, state: Sequence[_Both], stations: int, group_frames: bool) -> float:
    """state: both directions of the stations without settings of their own, then of each of the others."""
    if profile.medium == "shared":
        air, _ = state[0]
        full = air.takes_s(FULL_FRAME)
        answered = (_ANSWERED + 1) / (_ANSWERED * full + air.takes_s(_ACKNOWLEDGEMENT))
        # A frame to a group takes the air once, unanswered, and is given out once for each station.  On a duplex link
        # each copy takes its receiver's time, which is counted.
        return max(answered, stations / full) if group_frames else answered
    own = state[1:]
    each = [*[state[0]] * max(stations - len(own), 0), *own]
    # What acknowledgements take of the other direction's time is left out: it is little, and this a bound from above.
    return sum((_ANSWERED + 1) / (_ANSWERED * way.takes_s(FULL_FRAME)) for both in each for way in both)


def _drawn(profile: LinkProfile) -> bool:
    sides = [getattr(both, way) for state in timeline.all_states(profile) for both in state.sides for way in DIRECTIONS]
    return any(getattr(side, what) for side in sides for what in _DRAWN)


def _states(profile: LinkProfile) -> Iterator[list[_Both]]:
    """Of every state each group of equal stations, both directions; of a recorded trace the fastest step."""
    traces = [event.trace for event in profile.timeline if event.trace]

    def way(side: DirectionProfile, direction: Direction) -> _Way:
        steps = [one.top_rate for one in traces if getattr(one, direction)]
        return _Way(max((side.rate, *steps)) if side.rate is not None else None, side.frame_overhead)

    for state in timeline.all_states(profile):
        yield [(way(both.uplink, "uplink"), way(both.downlink, "downlink")) for both in state.sides]
