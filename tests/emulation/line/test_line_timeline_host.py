"""Timelines and recorded traces played by the line between real nodes: what comes through, and in which step.

Moments are the line's own (`Played`), which are in order and never early; how late they are is for the trial to judge.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from operator import le
from typing import Any

import numpy as np
import pytest
from emulated_links import gap_trace
from line_worlds import between, line

from emulation.line.link import LineLink, applied, playing
from emulation.plan import linkplan
from emulation.profile import library
from emulation.profile.direction import FULL_FRAME
from emulation.proof.probe import MIN_FRAME, Arrivals
from emulation.proof.traceproof import QueueReading, TraceUse, trace_check
from emulation.tc.player import Played
from records.link import LinkCheck
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


def play(
    network: Network, *, seconds: float, frame: int, spacing_s: float, sender: str = "sta1", receiver: str = "server",
    **settings: Any,
) -> tuple[Arrivals, list[Played], LineLink]:  # fmt: skip
    """What arrives of evenly sent frames while a timeline is played to its end, and when its steps came."""
    with (
        line(network, timeline_s=seconds, **settings) as made,
        between(network, sender, receiver, silence_s=seconds) as probe,
        playing(made) as player,
    ):
        time.sleep(0.05)
        player.start(time.monotonic_ns())
        arrivals = probe.send([frame] * int(seconds / spacing_s), spacing_s=spacing_s)
        deadline = time.monotonic() + 60
        while len(made.steps()) < len(made.plan.steps) and time.monotonic() < deadline:
            time.sleep(0.01)
    return arrivals, player.played, made


def assert_played(played: list[Played], made: LineLink) -> None:
    """Every step once, in its order, and none before its time."""
    assert [(one.label, one.at_s) for one in played] == [(step.label, step.at_s) for step in made.plan.steps]
    assert all(one.t_ns >= one.due_ns for one in played)
    assert all(first.t_ns <= second.t_ns for first, second in pairwise(played))
    assert [second.due_ns - first.due_ns for first, second in pairwise(played)] == pytest.approx(
        [(second.at_s - first.at_s) * 1e9 for first, second in pairwise(made.plan.steps)], abs=1
    )


def test_an_outage_of_one_station_is_not_one_of_the_other(network: Network) -> None:
    events = [{"at": 0.1, "outage": 60, "stations": ["sta1"]}]
    for sender, receiver, through in (("sta2", "server", True), ("server", "sta2", True), ("server", "sta1", False)):
        arrivals, played, made = play(
            network, seconds=0.6, frame=MIN_FRAME, spacing_s=0.01, sender=sender, receiver=receiver, timeline=events
        )
        assert_played(played, made)
        assert (len(arrivals.number) == arrivals.sent) is through


def test_a_handover_has_its_own_losses_and_leads_to_another_delay(network: Network) -> None:
    events = [{"at": 0.2, "handover": {"lasts": 0.4, "loss": 0.5, "extra_delay": 0.05, "to": {"delay": 0.02}}}]
    arrivals, played, made = play(
        network, seconds=1.0, frame=MIN_FRAME, spacing_s=0.004, rate=2e6, delay=0.005, timeline=events
    )
    assert [one.label for one in played] == ["handover begins", "handover ends"]
    assert_played(played, made)
    took = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    first, last = took[arrivals.number < 20], took[arrivals.number > 220]
    # The kernel's stamp of an arrival may be a little before this process has noted the sending: never much.
    assert first.min() > 0.004
    assert last.min() > 0.019
    lost = sorted(set(range(arrivals.sent)) - set(arrivals.number.tolist()))
    assert 20 < len(lost) < 100
    within = made.plan.in_force(made.plan.steps[0].state, 0, "uplink")
    # Those of the handover are numbered for themselves, and are the list's.
    pattern = [one - lost[0] for one in lost]
    listed = [one for one in range(400) if one % within.modulus in set(within.indices.tolist())]
    assert pattern == [one - listed[0] for one in listed[: len(lost)]]


def test_a_queue_takes_as_many_as_its_limit_says_after_a_change_too(network: Network) -> None:
    """No more than that pass, however long the burst takes to be sent: the air is slow."""
    events = [{"at": 1, "change": {"queue_packets": 5}}, {"at": 2, "change": {"queue_packets": 30}}]
    # One passes at once, and one for each 40 ms that the burst takes: more when a stall makes that take long.
    lows, highs = (13, 6, 31), (16, 9, 34)
    for _ in range(5):
        with (
            line(network, rate=1e5, queue_packets=12, timeline=events) as made,
            between(network, "sta1", "server", silence_s=1.0) as path,
        ):
            arrived = [len(path.send([500] * 60).number)]
            for step in made.plan.steps:
                made.go_through([step.state])
                arrived.append(len(path.send([500] * 60).number))
            (queue, *_) = made.queue_counts()
        assert queue.dropped == 180 - sum(arrived)
        if all(map(le, arrived, highs)):
            break
    assert all(map(le, lows, arrived)), arrived
    assert all(map(le, arrived, highs)), arrived


def test_a_trace_lets_through_what_was_recorded_and_nothing_in_its_gap(network: Network) -> None:
    """Counts of the line's own, read in the gap and behind it: whatever the machine does, frames wait all the time."""
    with (
        line(network, rate=6e6, timeline=[gap_trace(500, 800)], timeline_s=2.0) as made,
        between(network, "sta1", "server", silence_s=2) as probe,
        playing(made) as player,
    ):
        probe.hand_over([FULL_FRAME] * 100)  # what the queue holds, and goes out before the trace begins
        time.sleep(0.3)
        before, began = sent(made), time.monotonic_ns()
        player.start(began)
        seen: list[tuple[float, int, int]] = []
        while (since := (time.monotonic_ns() - began) / 1e9) < 2.0:
            probe.emit(3, FULL_FRAME)
            time.sleep(0.003)
            (queue, *_) = made.queue_counts()
            seen.append((since, queue.packets - before, queue.backlog_bytes))
        arrivals = probe.collect(0)
    assert len(arrivals.number) == 0
    assert [one.label for one in player.played][:2] == ["trace begins", ""]
    gap = [count for since, count, _ in seen if 0.6 < since < 1.25]
    assert gap, "readings in the gap"
    assert len(set(gap)) == 1, "nothing begins in it"
    assert gap[0] <= 249 + 2


def sent(made: LineLink) -> int:
    return made.queue_counts()[0].packets


def carried(network: Network, seconds: float) -> LinkCheck:
    """The check of stepped-trace's downlink, kept full for a time."""
    one = library.load("stepped-trace")
    plan = linkplan.plan(one, list(network.ports.stations), seed=1, seconds=20, timeline_s=seconds, made_by="line")
    with (
        applied(plan, network.ports) as made,
        between(network, "server", "sta1") as path,
        playing(made) as player,
    ):
        start_ns = time.monotonic_ns()
        player.start(start_ns)
        readings: list[QueueReading] = []
        while time.monotonic_ns() - start_ns < seconds * 1e9:
            t_ns, counts = made.timed_queue_counts()
            (queue,) = (found for found in counts if found.name == "downlink-0")
            if not readings or t_ns - readings[-1].t_ns > 250e6:
                readings.append(QueueReading(t_ns=t_ns, sent_bytes=queue.bytes, backlog_bytes=queue.backlog_bytes))
            room = 150_000 - queue.backlog_bytes
            path.emit(max(min(room // FULL_FRAME, 40), 1), FULL_FRAME)
            time.sleep(0.01)
    (event,) = one.timeline
    assert event.trace
    assert player.played[0].label == "trace begins"
    return trace_check(
        TraceUse(
            queue="downlink-0", direction="downlink", trace=event.trace, rate_before=6e6,
            begins_ns=player.played[0].due_ns, late_s=max(one.late_s for one in player.played), readings=readings,
        )
    )  # fmt: skip


def test_stepped_trace_carries_what_it_recorded(network: Network) -> None:
    found: list[LinkCheck] = []
    while len(found) < 3 and not (found and found[-1].holds):  # readings while the machine stalls are late
        found.append(carried(network, 10.0))
    assert found[-1].holds, found
    assert found[-1].low > 0, "packets waited"
    assert np.isclose(found[-1].delivered, found[-1].asked, rtol=0.05)
