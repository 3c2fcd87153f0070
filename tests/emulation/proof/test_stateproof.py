"""Which later states of a link are proven, and how long that may take; the proofs themselves: test_stateproof_real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_links import profile

from emulation.kernel.accesspoint import Ports
from emulation.plan import linkplan
from emulation.profile import library
from emulation.profile.direction import DirectionProfile
from emulation.profile.profile import LinkProfile
from emulation.proof import proof, stateproof
from emulation.proof.probe import Arrivals
from emulation.proof.proof import Ends
from emulation.proof.stateproof import LaterState, later_states, proof_plan
from records.directions import Direction

BOTH = ((0, "uplink"), (0, "downlink"))


def states(one: LinkProfile, *, until_s: float = 100, stations: int = 1) -> tuple[LaterState, ...]:
    return later_states(one, one.groups([f"sta{number + 1}" for number in range(stations)]), until_s=until_s)


def test_each_distinct_state_is_proven_once_and_the_first_one_not_again() -> None:
    slow, usual = {"change": {"rate": 1e6}}, {"change": {"rate": 2e6}}
    found = states(profile(rate=2e6, timeline=[{"at": at, **(slow, usual)[at % 2]} for at in range(10)]))
    (only,) = found
    assert (only.change, only.ways, only.dark) == ("rate 1000000.0, at 0 s", BOTH, ())


def test_only_the_direction_that_has_changed_is_proven() -> None:
    (only,) = states(profile(rate=2e6, timeline=[{"at": 1, "change": {"downlink": {"delay": 0.02}}}]))
    assert only.ways == ((0, "downlink"),)


def test_delay_loss_and_rate_are_seen_and_the_length_of_a_queue_is_not() -> None:
    events = [{"at": 1, "change": {"queue_bytes": 9000}}, {"at": 2, "change": {"loss": 0.1}}]
    events += [{"at": 3, "change": {"delay": 0.01}}, {"at": 4, "change": {"rate": 3e6}}]
    assert [one.path[-1].sides[0].uplink.rate for one in states(profile(rate=2e6, timeline=events))] == [2e6, 2e6, 3e6]


def test_a_state_is_reached_by_all_changes_before_it() -> None:
    events = [{"at": 1, "outage": 1}, {"at": 3, "handover": {"lasts": 1, "extra_delay": 0.05}}]
    dark, burst = states(profile(rate=2e6, timeline=events))
    assert [state.dark for state in dark.path] == [True]
    assert dark.dark == ("sta1",)
    assert [state.dark for state in burst.path] == [True, False, False]
    assert burst.path[-1].sides[0].uplink.delay == pytest.approx(0.05)


def test_each_station_that_goes_out_is_proven_to_be_out_once() -> None:
    events = [{"at": at, "outage": 0.5, "stations": [name]} for at, name in ((1, "sta1"), (2, "sta2"), (3, "sta1"))]
    found = states(profile(timeline=events), stations=3)
    assert [(one.change, one.ways, one.dark) for one in found] == [
        ("outage of sta1 begins, at 1 s", (), ("sta1",)),
        ("outage of sta2 begins, at 2 s", (), ("sta2",)),
    ]


OUT_WHILE = [
    {"at": 1, "outage": 9, "stations": ["sta1"]},
    {"at": 2, "change": {"loss": 0.3, "delay": 0.05}},
    {"at": 3, "change": {"loss": 0, "delay": 0}},
]


def test_a_state_in_which_a_groups_first_station_is_out_is_proven_by_another_that_is_not() -> None:
    found = states(profile(timeline=OUT_WHILE), stations=3)
    assert [(one.change, one.ways, one.dark) for one in found] == [
        ("outage of sta1 begins, at 1 s", (), ("sta1",)),
        ("loss 0.3, delay 0.05, at 2 s", BOTH, ()),
    ]
    assert [one.dark for one in states(profile(timeline=OUT_WHILE))] == [("sta1",)], "nobody hears anything of it"


def test_a_state_that_the_whole_link_is_out_in_has_no_ways() -> None:
    events = [{"at": 1, "outage": 9}, *OUT_WHILE[1:]]
    assert [one.ways for one in states(profile(timeline=events), stations=3)] == [()]


def test_what_a_trial_does_not_play_is_not_proven() -> None:
    events = [{"at": at, "change": {"rate": 1e6 * at}} for at in (1, 5, 9)]
    assert [one.change[-5:] for one in states(profile(rate=5e5, timeline=events), until_s=6)] == ["t 1 s", "t 5 s"]


def test_steps_of_a_trace_are_left_to_their_sum_and_what_else_happens_is_proven_without_them() -> None:
    events = [
        {"at": 0, "trace": {"uplink": {"opportunities_ms": list(range(10, 500, 10))}}},
        {"at": 3, "change": {"loss": 0.1}},
    ]
    one = profile(rate=1e6, timeline=events)
    (lossy,) = states(one)
    assert [state.sides[0].uplink.rate for state in lossy.path] == [1e6]
    plan = linkplan.plan(one, ["sta1"], seed=1, seconds=10, timeline_s=10)
    made = proof_plan(plan, until_s=10)
    assert [step.label for step in made.steps] == ["loss 0.1"]
    proven, played = (
        one.in_force(state, 0, "uplink").digest
        for one, state in ((made, made.steps[0].state), (plan, plan.steps[-1].state))
    )
    assert proven == played
    assert not any(queue.traced for queue in linkplan.queues(made))


def test_keys_are_of_what_is_proven_and_of_nothing_else() -> None:
    def key(**change: Any) -> str:
        return states(profile(rate=2e6, timeline=[{"at": 1, "change": change}]))[0].key

    later = states(profile(rate=2e6, timeline=[{"at": 7, "change": {"rate": 1e6}}]))[0].key
    assert key(rate=1e6) == later
    assert len({key(rate=1e6), key(rate=1.1e6), key(delay=0.01), key(loss=0.1)}) == 4


def test_the_library_s_drive_has_four_states_to_prove() -> None:
    car = library.load("vehicle-handover")
    assert [one.change.rpartition(", ")[0].partition(" ")[0] for one in states(car, until_s=90)] == [
        "uplink", "handover", "outage", "handover",
    ]  # fmt: skip


class SimulatedClock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep_until(self, when: float) -> None:
        self.time = max(self.time, when)


class SimulatedPath:
    """One direction of an ideal link, as emulation.proof.probe.ProbePath has it."""

    def __init__(self, side: DirectionProfile, lost: Sequence[int], clock: SimulatedClock) -> None:
        self.side, self.lost, self.clock, self.free, self.sent = side, set(lost), clock, 0.0, 0
        self.under_way: list[tuple[int, float, float, int]] = []

    def wait(self, seconds: float, **_: bool) -> None:
        self.silence = seconds

    def emit(self, count: int, size: int) -> None:
        for _ in range(count):
            self.free = max(self.free, self.clock.time) + self.side.airtime(size)
            self.under_way.append((self.sent, self.clock.time, self.free + self.side.delay, size))
            self.sent += 1

    def collect(self, expected: int, *, since: float | None = None) -> Arrivals:
        assert since is not None
        arrived = [one for one in self.under_way if one[0] not in self.lost]
        last = max([self.clock.time, *(one[2] for one in arrived)])
        self.clock.time = last if arrived and arrived[-1][0] == self.sent - 1 else last + self.silence
        self.under_way = []
        rows = np.array(arrived).reshape(-1, 4)
        return Arrivals(
            sent=expected,
            number=rows[:, 0].astype(np.int64),
            sent_ns=(rows[:, 1] * 1e9).astype(np.int64),
            received_ns=(rows[:, 2] * 1e9).astype(np.int64),
            frame_bytes=rows[:, 3].astype(np.int64),
        )


def test_who_hears_is_probed_and_by_its_own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    burst = {"model": "gilbert-elliott", "p": 0.1, "r": 0.3}  # in which it loses all
    one = profile(loss_channel="station", timeline=[OUT_WHILE[0], {"at": 2, "change": {"loss": burst}}])
    plan = linkplan.plan(one, ["sta1", "sta2", "sta3"], seed=1, seconds=10, timeline_s=10)
    _, lossy = later_states(one, plan.groups, until_s=10)
    now, clock = lossy.path[-1], SimulatedClock()
    assert len({plan.in_force(now, 0, "uplink", station).digest for station in plan.groups[0]}) == 3
    ways: Iterator[Direction] = iter(("uplink", "downlink"))
    probed: list[tuple[int, int]] = []

    @contextmanager
    def in_force(*_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(go_through=lambda _: None)

    @contextmanager
    def simulated(*, from_pid: int, to_pid: int, **_: object) -> Iterator[SimulatedPath]:
        """Of sta2: its own list is what it loses."""
        probed.append((from_pid, to_pid))
        way = next(ways)
        lost = plan.in_force(now, 0, way, "sta2").indices.tolist()
        yield SimulatedPath(linkplan.side(now, 0, way), lost, clock)

    def ends(station: str) -> Ends:
        return Ends(station_pid=int(station[3:]), station_address="", wired_pid=99, wired_address="")

    monkeypatch.setattr(stateproof, "applied", in_force)
    monkeypatch.setattr(stateproof, "probe_way", partial(proof.probe_way, clock=clock))
    monkeypatch.setattr(proof, "probe_path", simulated)
    ports = Ports(pid=1, stations={}, wired="wired", addresses={})
    checks = stateproof.prove_state(plan, ports, lossy, ends)
    assert probed == [(2, 99), (99, 2)]
    assert {check.quantity for check in checks} >= {"delay", "losses"}
    assert [str(check) for check in checks if not check.holds] == []


def probed_s(monkeypatch: pytest.MonkeyPatch, state: LaterState, made: linkplan.LinkPlan, lost: Sequence[int]) -> float:
    """How long probing a state takes on ideal links that lose these packets."""
    clock, side = SimulatedClock(), iter([linkplan.side(state.path[-1], *way) for way in state.ways])

    @contextmanager
    def simulated(**_: object) -> Iterator[SimulatedPath]:
        yield SimulatedPath(next(side), lost, clock)

    monkeypatch.setattr(proof, "probe_path", simulated)
    nowhere = Ends(station_pid=1, station_address="", wired_pid=1, wired_address="")
    for way in state.ways:
        proof.probe_way(made, state.path[-1], way, nowhere, stateproof.SAMPLES, clock=clock)
    return clock.time


@pytest.mark.parametrize("rate", [8e3, 12e3, 64e3, 1e6, 54e6])
@pytest.mark.parametrize("delay", [0.0, 0.27])
def test_the_time_that_a_proof_may_take_follows_from_the_rate(
    monkeypatch: pytest.MonkeyPatch, rate: float, delay: float
) -> None:
    one = profile(rate=1e6, delay=0.01, timeline=[{"at": 1, "change": {"rate": rate, "delay": delay, "loss": 0.01}}])
    (state,) = states(one)
    made = linkplan.plan(one, ["sta1"], seed=1, seconds=10, timeline_s=10)
    sound = probed_s(monkeypatch, state, made, lost=())
    assert 0.5 * sound < stateproof.usual_s(state) < 2 * sound + 2
    # Everything is lost, so that no rate is found and each silence lasts.
    assert sound < probed_s(monkeypatch, state, made, lost=range(100_000)) < stateproof.longest_s(state)
    assert rate > 12e3 or sound > 20, "four seconds, which do for other links, would not do"
