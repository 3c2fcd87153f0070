"""Probes of many links at the same time, where none disturbs another.

A probe mostly waits: for its next packet's turn, for what is under way, for silence.  So all probes go through their
bursts in rounds.  In each round every burst begins as soon as what it uses has room for it, one sender sends all of
them, and what arrives, which the kernel has stamped, is read when all are sent: silence is waited for once for all.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, Protocol, TypeVar

from emulation.kernel import kernel
from emulation.kernel.kernel import KernelName
from emulation.proof.probe import FASTEST_S, HURRY_S, TOGETHER, Arrivals

# Frames a second that all bursts together may send: about a fifth of a core, and a third of the lab kernel's only one.
FRAMES_PER_S: dict[KernelName, float] = {"host": 8000.0, "lab": 1000.0}
_MACHINE = "machine"
_ROUNDING = 1e-9
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Frames of `size` bytes (at layer 2) to be sent through one path: some at once, then others one by one.

    spacing_s: from one of the latter to the next.  lasts_s: until all of them have left the link.  share: how much of
    its link it uses meanwhile, at most 1.
    """

    size: int
    paced: int
    spacing_s: float = 0.0
    at_once: int = 0
    lasts_s: float = 0.0
    share: float = 0.0

    @property
    def frames(self) -> int:
        """How many there are."""
        return self.at_once + self.paced

    @property
    def turn_s(self) -> float:
        """How much of each spacing is its own, when others send as often."""
        return self.share * self.spacing_s

    @property
    def seconds(self) -> float:
        """How long it uses what it uses."""
        return max(self.lasts_s, self.paced * self.spacing_s)


class Path(Protocol):
    """One direction between two nodes, as emulation.proof.probe.ProbePath is."""

    def emit(self, count: int, size: int) -> None:
        """Send frames now."""

    def collect(self, expected: int, *, since: float | None = None) -> Arrivals:
        """What arrived of the frames sent since the last time; the last of them went out at `since`."""


class Clock(Protocol):
    """Seconds of CLOCK_MONOTONIC."""

    def now(self) -> float:
        """The time."""

    def sleep_until(self, when: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's."""

    def now(self) -> float:
        """The time."""
        return time.monotonic()

    def sleep_until(self, when: float) -> None:
        """Wait."""
        if (pause := when - time.monotonic()) > 0:
            time.sleep(pause)


@dataclass(slots=True)
class Lane(Generic[T]):
    """A probe and what it needs.  steps: yields bursts, gets what arrived of each, returns what it found.

    uses: what a burst that uses all of its link takes of what links have in common, by name, as shares of 1: on a
    shared medium a station at half of the medium's rate takes half of it.
    """

    path: Path
    steps: Generator[Burst, Arrivals, T]
    uses: Mapping[str, float] = field(default_factory=dict)


def run(lanes: Sequence[Lane[T]], *, clock: Clock | None = None, frames_per_s: float | None = None) -> list[T]:
    """Go through all probes; what each of them found, in their order.

    frames_per_s: see FRAMES_PER_S, which is what holds where it is None.
    """
    clock, most = clock or SystemClock(), frames_per_s or FRAMES_PER_S[kernel.current()]
    found: dict[int, T] = {}
    burst_of = {number: burst for number in range(len(lanes)) if (burst := _next(lanes, number, None, found))}
    while burst_of:
        sent_at = send_together([(lanes[number], burst) for number, burst in burst_of.items()], clock, most)
        arrived = {
            number: lanes[number].path.collect(burst.frames, since=since)
            for (number, burst), since in zip(burst_of.items(), sent_at, strict=True)
        }
        burst_of = {number: burst for number, here in arrived.items() if (burst := _next(lanes, number, here, found))}
    return [found[number] for number in range(len(lanes))]


def _next(lanes: Sequence[Lane[T]], number: int, arrived: Arrivals | None, found: dict[int, T]) -> Burst | None:
    """A lane's next burst; None when it has none, and what it found is known."""
    steps = lanes[number].steps
    try:
        return next(steps) if arrived is None else steps.send(arrived)
    except StopIteration as end:
        found[number] = end.value
        return None


@dataclass(slots=True)
class _Sending:
    """A burst on its way.  used: what it takes of everything.  late_s: by how much it was held up."""

    path: Path
    burst: Burst
    used: dict[str, float]
    began: float = 0.0
    late_s: float = 0.0
    last: float = 0.0
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.burst.frames


def send_together(bursts: Iterable[tuple[Lane[T], Burst]], clock: Clock, frames_per_s: float) -> list[float]:
    """Send all bursts; when the last frame of each went out."""
    sending = [_Sending(lane.path, burst, _used(lane, burst, frames_per_s)) for lane, burst in bursts]
    waiting = list(range(len(sending)))
    taken: Counter[str] = Counter()
    due: list[tuple[float, int]] = []
    ends: list[tuple[float, int]] = []
    room = True
    while waiting or due:
        now = clock.now()
        while ends and ends[0][0] <= now:
            taken.subtract(sending[heapq.heappop(ends)[1]].used)
            room = True
        if room and waiting:
            begun = list(_that_fit(waiting, sending, taken))
            turns = 0.0
            for place, number in enumerate(begun):
                # Not all in one moment, and then again and again in the same ones.
                one = sending[number]
                one.began = now + place / frames_per_s + min(turns, one.burst.spacing_s)
                turns += one.burst.turn_s
                heapq.heappush(due, (one.began, number))
            waiting = sorted(set(waiting) - set(begun))
        room = False
        clock.sleep_until(min(due[0][0] if due else inf, ends[0][0] if waiting and ends else inf))
        if not due or due[0][0] > (now := clock.now()):
            continue
        when, number = heapq.heappop(due)
        one = sending[number]
        again = _send_some(one, when, now)
        if one.left:
            heapq.heappush(due, (again, number))
        else:
            one.last = clock.now()
            heapq.heappush(ends, (max(one.began + one.late_s + one.burst.seconds, one.last), number))
    return [one.last for one in sending]


def _used(lane: Lane[T], burst: Burst, frames_per_s: float) -> dict[str, float]:
    used = {name: share * burst.share for name, share in lane.uses.items()}
    return used | ({_MACHINE: burst.frames / burst.seconds / frames_per_s} if burst.seconds else {})


def _that_fit(waiting: Sequence[int], sending: Sequence[_Sending], taken: Counter[str]) -> Iterator[int]:
    """Those that may begin now, in order, with what they use taken.  What needs more than all of it begins alone."""
    for number in waiting:
        used = sending[number].used
        if all(taken[name] <= _ROUNDING or taken[name] + share <= 1 + _ROUNDING for name, share in used.items()):
            taken.update(used)
            yield number


def _send_some(one: _Sending, when: float, now: float) -> float:
    """Send what was due at `when`; when the next of it is due.

    Who was held up for more than HURRY_S does not make that good, as a burst might find the queue full.
    """
    burst = one.burst
    if one.left > burst.paced:
        for first in range(0, burst.at_once, TOGETHER):
            one.path.emit(min(TOGETHER, burst.at_once - first), burst.size)
        one.left = burst.paced
        return now + burst.spacing_s  # at once it would be one more that has to wait
    count = min(1 if burst.spacing_s > FASTEST_S else TOGETHER, one.left)
    if count:
        one.path.emit(count, burst.size)
    one.left -= count
    start = max(now - HURRY_S, when)
    one.late_s += start - when
    return start + count * burst.spacing_s
