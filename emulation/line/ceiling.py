"""What the line carries, and what a profile may ask of it: frames a second, of all stations and both directions.  Pure.

The line is one process on one core, so what counts is how many frames it takes in and gives out, whoever's they are.
Measured (`python benchmarks/line.py --only ceiling drawn`, 2026-11-23, 2 cores, Linux 6.18, with other work beside):
70,000 frames/s of 100 bytes without loss and 99.9 % within 0.5 ms where fates are lists; where they are drawn 30,000
(99.9 % within 0.4 to 0.9 ms), and at 50,000 still none was lost, but 99.9 % were within 1.7 to 4.3 ms only.  A
prototype's rates were exact (0.002 %) at 100 Mbit/s, and 896 Mbit/s went through.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a profile asks at most.  frames_s: of all stations and both directions, None = without limit.

    rate: the highest of one queue, bit/s.  drawn: whether fates of packets are drawn (a list of losses is not).
    """

    frames_s: float | None
    rate: float | None
    drawn: bool

    @property
    def limit_frames_s(self) -> int:
        """What the line carries of this kind."""
        return CEILING_DRAWN_FRAMES_S if self.drawn else CEILING_FRAMES_S

    @property
    def fits(self) -> bool:
        """Whether the line carries it."""
        return (
            self.frames_s is not None
            and self.rate is not None
            and self.frames_s <= self.limit_frames_s
            and self.rate <= CEILING_BIT_S
        )


def asked(profile: LinkProfile, stations: int) -> Asked:
    """What a profile asks of the line when all stations send full frames both ways, in its busiest state."""
    return _asked(profile, list(_states(profile)), stations)


def is_heavy(profile: LinkProfile, stations: int) -> bool:
    """Whether the line carries a profile, but may take more than HEAVY_SHARE of a core for it."""
    found = asked(profile, stations)
    return found.fits and (found.frames_s or 0.0) * _FRAME_COST_S > HEAVY_SHARE


def most_stations(profile: LinkProfile) -> int:
    """How many stations the line carries this profile for, at most MOST_STATIONS; 0 when not for any."""
    least = max((int(name.removeprefix("sta")) for name in profile.stations), default=1)
    states = list(_states(profile))
    carried = bisect_left(
        range(least, MOST_STATIONS + 1), True, key=lambda stations: not _asked(profile, states, stations).fits
    )
    return least + carried - 1 if carried else 0


def has_room(profile: LinkProfile, stations: int, *, trials: int) -> bool:
    """Whether so many trials of a profile can run side by side; each has a line of its own, on the same processors."""
    found = asked(profile, stations)
    return found.fits and (found.frames_s or 0.0) * trials <= found.limit_frames_s


def why_not(profile: LinkProfile, stations: int) -> str:
    """Why the line cannot carry a profile, with both figures and what can be done; '' when it can."""
    found = asked(profile, stations)
    if found.fits:
        return ""
    who = f"profile {profile.name!r} with {stations} station{'s' * (stations != 1)}"
    if found.frames_s is None or found.rate is None:
        return f"the line needs a rate for every station and direction, and {who} has one without limit: use medium tc"
    if found.rate > CEILING_BIT_S:
        return (
            f"the line carries {CEILING_BIT_S / 1e6:g} Mbit/s at most, and {who} has {found.rate / 1e6:g} Mbit/s: "
            "use a slower profile, or medium tc"
        )
    drawn = " where jitter, order, copies or damage are drawn" if found.drawn else ""
    most = most_stations(profile)
    fewer = f"{most} station{'s' * (most != 1)} at most" if most else "a slower profile"
    return (
        f"the line carries {found.limit_frames_s:,} frames/s at most{drawn}, and {who} has up to {found.frames_s:,.0f} "
        f"(full frames and their acknowledgements, of all stations, both ways): use {fewer}, or medium tc"
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """What a direction's frames cost: bit/s (None = nothing), seconds beside it."""

    rate: float | None
    overhead: float

    def takes_s(self, frame_bytes: int) -> float:
        return 0.0 if self.rate is None else float(airtime(frame_bytes, rate=self.rate, overhead=self.overhead))


_Both = tuple[_Way, _Way]


def _asked(profile: LinkProfile, states: Sequence[Sequence[_Both]], stations: int) -> Asked:
    rates = [way.rate for state in states for both in state for way in both]
    limited = [rate for rate in rates if rate is not None]
    if len(limited) < len(rates):
        return Asked(frames_s=None, rate=None, drawn=_drawn(profile))
    frames_s = max(_frames_s(profile, state, stations) for state in states)
    return Asked(frames_s=frames_s, rate=max(limited), drawn=_drawn(profile))


def _frames_s(profile: LinkProfile, state: Sequence[_Both], stations: int) -> float:
    """state: both directions of the stations without settings of their own, then of each of the others."""
    if profile.medium == "shared":
        air, _ = state[0]
        return (_ANSWERED + 1) / (_ANSWERED * air.takes_s(FULL_FRAME) + air.takes_s(_ACKNOWLEDGEMENT))
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
