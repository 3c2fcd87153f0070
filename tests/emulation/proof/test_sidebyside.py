"""Many probes at the same time: how long they take together, and that none disturbs another."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from emulated_links import profile
from hypothesis import given
from hypothesis import strategies as st

from emulation.plan import linkplan
from emulation.plan.loss import SeededLosses
from emulation.profile.direction import DirectionProfile
from emulation.proof import expectation, proof
from emulation.proof.asked import asked_of
from emulation.proof.lanes import rate_seconds, shared_uses
from emulation.proof.probe import MIN_FRAME, Arrivals
from emulation.proof.sidebyside import Burst, Lane, run
from records.directions import DIRECTIONS

FRAMES_PER_S = 8000.0


class Clock:
    """Waits no time.  overslept_s: how much later than asked it wakes."""

    def __init__(self, overslept_s: float = 0.0) -> None:
        self.time, self.waits, self._overslept_s = 100.0, 0, overslept_s

    def now(self) -> float:
        return self.time

    def sleep_until(self, when: float) -> None:
        assert when < float("inf"), "waits for nothing"
        if when > self.time:
            self.time, self.waits = when + self._overslept_s, self.waits + 1


@dataclass
class Path:
    """A link that does what is asked.  silence_s: how long it is waited for after the last frame of a burst."""

    clock: Clock
    silence_s: float = 0.0
    side: DirectionProfile = field(default_factory=DirectionProfile)
    loss: SeededLosses | None = None
    listed: np.ndarray = field(init=False)
    emitted: list[tuple[float, int]] = field(default_factory=list)
    free: float = 0.0
    arrived: list[tuple[int, float, float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        packets = np.arange(20_000)
        self.listed = self.loss.lists(packets) if self.loss else np.zeros(len(packets), dtype=bool)

    def emit(self, count: int, size: int) -> None:
        for _ in range(count):
            number, now = len(self.emitted), self.clock.now()
            self.emitted.append((now, size))
            self.free = max(self.free, now) + self.side.airtime(size)
            if not self.listed[number]:
                self.arrived.append((number, now, self.free + self.side.delay, size))

    def collect(self, expected: int, *, since: float | None = None) -> Arrivals:
        assert since is not None
        assert since == self.emitted[-1][0], "silence lasts from the last frame on"
        self.clock.sleep_until(since + self.silence_s)
        number, sent, received, sizes = np.array(self.arrived, dtype=float).reshape(-1, 4).T
        self.arrived = []
        return Arrivals(
            sent=expected,
            number=number.astype(np.int64),
            sent_ns=np.round(sent * 1e9).astype(np.int64),
            received_ns=np.round(received * 1e9).astype(np.int64),
            frame_bytes=sizes.astype(np.int64),
        )


def steps(*bursts: Burst) -> Generator[Burst, Arrivals, list[int]]:
    """Send these; how many frames arrived of each."""
    found: list[int] = []
    for burst in bursts:
        arrived = yield burst
        found.append(len(arrived.number))
    return found


def spans(path: Path, burst: Burst) -> tuple[float, float]:
    """When a path's only burst used what it uses."""
    return path.emitted[0][0], path.emitted[0][0] + burst.seconds


def paced(packets: int, spacing_s: float, **others: Any) -> Burst:
    return Burst(size=MIN_FRAME, paced=packets, spacing_s=spacing_s, **others)


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.floats(1e-4, 0.05), st.floats(0, 1), st.sampled_from(["air", "other"])),
        min_size=1,
        max_size=12,
    )
)
def test_bursts_never_use_more_than_there_is(wanted: list[tuple[int, float, float, str]]) -> None:
    clock = Clock()
    bursts = [paced(packets, spacing_s, share=share) for packets, spacing_s, share, _ in wanted]
    paths = [Path(clock) for _ in wanted]
    lanes = [
        Lane(path, steps(burst), {name: 1.0})
        for path, burst, (_, _, _, name) in zip(paths, bursts, wanted, strict=True)
    ]
    assert run(lanes, clock=clock, frames_per_s=1e6) == [[burst.frames] for burst in bursts]
    for begun, path in enumerate(paths):
        moment, name = path.emitted[0][0], wanted[begun][3]
        at_once = [
            one.share
            for other, one, (_, _, _, its) in zip(paths, bursts, wanted, strict=True)
            if its == name and spans(other, one)[0] <= moment < spans(other, one)[1] - 1e-9
        ]
        assert sum(at_once) <= 1 + 1e-6 or len(at_once) == 1


def test_a_burst_that_needs_all_of_a_machine_has_it_alone() -> None:
    clock = Clock()
    bursts = [paced(1000, 1 / FRAMES_PER_S), paced(1000, 0.9 / FRAMES_PER_S), paced(10, 0.01)]
    paths = [Path(clock) for _ in bursts]
    run(
        [Lane(path, steps(one)) for path, one in zip(paths, bursts, strict=True)],
        clock=clock,
        frames_per_s=FRAMES_PER_S,
    )
    used = sorted(spans(path, burst) for path, burst in zip(paths, bursts, strict=True))
    assert all(first[1] <= second[0] + 1e-9 for first, second in pairwise(used))


def test_frames_are_sent_at_their_pace_and_who_was_held_up_does_not_make_it_good() -> None:
    for overslept_s, apart_s in ((0.0, 0.01), (0.005, 0.013)):
        clock = Clock(overslept_s)
        path = Path(clock)
        run([Lane(path, steps(paced(50, 0.01)))], clock=clock, frames_per_s=FRAMES_PER_S)
        times = np.diff([when for when, _ in path.emitted])
        assert times[1:] == pytest.approx(apart_s, abs=1e-9)


def test_those_that_begin_together_do_not_send_in_the_same_moments() -> None:
    clock = Clock()
    paths = [Path(clock) for _ in range(10)]
    run([Lane(path, steps(paced(20, 0.01))) for path in paths], clock=clock, frames_per_s=FRAMES_PER_S)
    moments = sorted(when for path in paths for when, _ in path.emitted)
    assert min(np.diff(moments)) >= 0.9 / FRAMES_PER_S


def test_single_frames_of_both_directions_find_the_air_idle() -> None:
    """Two that begin together and send as often would meet with every frame."""
    side = DirectionProfile(rate=6e6, frame_overhead=734e-6, delay=0.005, jitter=0.0026)
    bursts = proof.single_frames(side, replace(proof.USUAL, apart=3.0))
    clock = Clock()
    paths = [Path(clock) for _ in DIRECTIONS]
    uses = {"medium": 1 / 0.9, "group 1": 1.0}
    run([Lane(path, steps(*bursts), uses) for path in paths], clock=clock, frames_per_s=FRAMES_PER_S)
    for burst in bursts:
        moments = sorted(when for path in paths for when, size in path.emitted if size == burst.size)
        assert len(moments) == 2 * burst.paced
        assert min(np.diff(moments)) >= side.airtime(burst.size)


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What delays may be is drawn from fewer runs: the subject is when packets are sent."""
    monkeypatch.setattr(expectation, "_REPLICATES", 20)


def probes(settings: dict[str, Any], stations: int, silence_s: float) -> tuple[Clock, list[Path]]:
    """The probes that a proof sends to so many stations, all with settings of their own; a link that does as asked."""
    names = [f"sta{number}" for number in range(1, stations + 1)]
    own = {name: {"loss": 0.001 * (number + 1)} for number, name in enumerate(names)}
    plan = linkplan.plan(profile(**settings, stations=own), names, seed=1, seconds=5, timeline_s=5)
    seconds = rate_seconds(plan, range(1, stations + 1), proof.USUAL.rate_s, frames_per_s=FRAMES_PER_S)
    clock, samples = Clock(), replace(proof.USUAL, rate_s=seconds)
    lanes, paths = [], []
    for group, members in enumerate(plan.groups):
        for direction in DIRECTIONS if members else ():
            asked = asked_of(plan, plan.first, group, direction)
            path = Path(clock, silence_s, asked.side.model_copy(update={"jitter": 0.0}), asked.loss)
            lanes.append(Lane(path, proof.probe_direction(asked, samples), shared_uses(plan, group, direction)))
            paths.append(path)
    run(lanes, clock=clock, frames_per_s=FRAMES_PER_S)
    return clock, paths


CASES: Sequence[tuple[str, dict[str, Any]]] = (
    ("duplex, 1 Mbit/s", {"rate": 1e6}),
    ("duplex, 100 kbit/s", {"rate": 1e5}),
    ("duplex, 20 Mbit/s", {"rate": 2e7}),
    ("duplex, a satellite", {"rate": 2e6, "delay": 0.27, "jitter": 0.01}),
    ("shared, 1 Mbit/s", {"rate": 1e6, "medium": "shared"}),
    ("shared, 11 Mbit/s", {"rate": 1.1e7, "medium": "shared"}),
    ("shared, 54 Mbit/s with jitter", {"rate": 5.4e7, "medium": "shared", "delay": 0.02, "jitter": 0.005}),
)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=[name for name, _ in CASES])
def test_fifty_stations_are_probed_in_less_than_a_minute_of_the_links_time(name: str, settings: dict[str, Any]) -> None:
    clock, paths = probes(settings, 50, silence_s=0.5)
    assert len(paths) == 100
    sent = {tuple(size for _, size in path.emitted) for path in paths}
    assert len(sent) == 1, "no station gets less of it than another, and no rate is measured twice"
    assert clock.time - 100 < 60


def test_silence_is_waited_for_as_often_for_fifty_stations_as_for_one() -> None:
    """A link without a rate, on which all waiting is for silence: as much of it, however many there are."""
    rounds = [probes({}, stations, silence_s=5.0)[0].time - 100 for stations in (1, 50)]
    assert rounds[0] > 15
    assert rounds[1] < rounds[0] + 10
