"""Stages that need no netem, on the machine's own kernel: they do what is asked, and what does not is found out.

Each by queueing disciplines and by the line.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pytest
from emulated_links import broken, ends, gap_trace, holding, link, path, plan_of, profile, prove, until_it_holds

from emulation.link.link import playing
from emulation.plan.linkplan import LinkPlan
from emulation.plan.loss import SeededLosses
from emulation.profile import library
from emulation.profile.direction import FULL_FRAME
from emulation.profile.media import MediumName
from emulation.proof.probe import MIN_FRAME, Arrivals, probe_path
from emulation.proof.proof import Samples, probe_link
from records.link import LinkCheck
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]

BURSTS = {"model": "gilbert-elliott", "p": 0.02, "r": 0.25, "loss_bad": 0.8}
RECORD = {"model": "recorded", "packets": 50, "lost": (3, 4, 5, 49)}


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=3, congestion_control="reno") as built:
        yield built


@pytest.mark.parametrize(
    "settings",
    [
        {"uplink": {"rate": "2 Mbit/s"}, "downlink": {"rate": "20 Mbit/s"}},
        {"medium": "shared", "rate": "11 Mbit/s", "frame_overhead": "974 us"},
        {"rate": "5 Mbit/s", "uplink": {"queue_packets": 20}, "downlink": {"queue_time": "100 ms"}},
        {"rate": "10 Mbit/s", "uplink": {"loss": 0.1}, "downlink": {"loss": BURSTS}},
        {"loss": RECORD},
        {"medium": "shared", "rate": "4 Mbit/s", "stations": {"sta2": {"rate": "1 Mbit/s", "loss": 0.1}}},
        {"medium": "shared", "rate": "54 Mbit/s", "stations": {"sta2": {"rate": "1 Mbit/s"}}},
        {"rate": "4 Mbit/s", "stations": {"sta1": {"rate": "1 Mbit/s"}, "sta3": {"downlink": {"loss": 0.2}}}},
    ],
    ids=str,
)
def test_a_link_does_what_is_asked(network: Network, made_by: MediumName, settings: dict[str, Any]) -> None:
    checks = holding(network, profile(**settings), made_by=made_by)
    assert broken(checks) == set(), [check for check in checks if not check.holds]


@pytest.mark.parametrize(
    ("asked", "made", "found"),
    [
        ({"rate": "11 Mbit/s", "frame_overhead": "974 us"}, {"rate": "11 Mbit/s"}, {"rate"}),
        ({"rate": "2 Mbit/s"}, {"rate": "2.2 Mbit/s"}, {"rate"}),
        ({"rate": 1e7, "loss": BURSTS}, {"rate": 1e7, "loss": BURSTS | {"r": 0.5}}, {"losses"}),
        ({"loss": RECORD}, {"loss": RECORD | {"lost": (3, 4, 6, 49)}}, {"losses"}),
        ({"rate": 1e7, "loss": 0.05}, {"rate": 1e7}, {"losses"}),
        (
            {"rate": 1e7, "stations": {"sta2": {"loss": 0.05}}},
            {"rate": 1e7, "stations": {"sta2": {"loss": 0.0}}},
            {"losses"},
        ),
    ],
    ids=["overhead", "rate", "bursts", "record", "no loss", "one station's loss"],
)
def test_a_link_that_does_something_else_is_found_out(
    network: Network, asked: dict[str, Any], made: dict[str, Any], found: set[str]
) -> None:
    """By tc; that the same proof finds out a line is in test_line_stages."""
    assert found <= broken(prove(network, profile(**asked), profile(**made)))


@pytest.mark.parametrize(
    ("settings", "waits"), [({"queue_bytes": 30_280}, 20), ({"queue_packets": 12}, 12), ({"queue_time": 0.2}, 16)]
)
def test_a_queue_holds_what_its_limit_says(
    network: Network, made_by: MediumName, settings: dict[str, Any], waits: int
) -> None:
    # One passes at once, and more while the burst is being sent: more again when a stall makes that take long.
    arrived: list[int] = []
    while len(arrived) < 5 and not (arrived and arrived[-1] <= waits + 3):
        with link(network, made_by=made_by, rate=1e6, **settings), path(network) as burst:
            arrived.append(len(burst.send([FULL_FRAME] * 60).number))
    assert waits + 1 <= min(arrived) <= waits + 3, arrived


def play(
    network: Network, *, seconds: float, frame: int, spacing_s: float, **settings: Any
) -> tuple[Arrivals, list[tuple[int, int]]]:
    """What arrives of evenly sent frames while a timeline is played, and between which moments each step came.

    Both in wall-clock ns: when it was due, and when it was in force.
    """
    with (
        link(network, timeline_s=seconds, **settings) as made,
        path(network, silence_s=seconds) as probe,
        playing(made) as player,
    ):
        time.sleep(0.1)
        offset_ns = max(
            time.time_ns() - time.monotonic_ns() for _ in range(5)
        )  # a pause between the two makes it small
        began = time.monotonic()
        player.start(time.monotonic_ns())
        arrivals = probe.send([frame] * int(seconds / spacing_s), spacing_s=spacing_s)
        time.sleep(max(began + max(step.at_s for step in made.plan.steps) + 0.2 - time.monotonic(), 0))
    assert len(player.played) == len(made.plan.steps)
    return arrivals, [(one.due_ns + offset_ns, one.t_ns + offset_ns) for one in player.played]


def test_an_outage_loses_everything_and_ends(network: Network, made_by: MediumName) -> None:
    lost: list[int] = []
    for _ in range(5):  # a sender that is stalled all through the outage loses nothing
        events = [{"at": 0.3, "outage": 0.3}]
        arrivals, ((_, begun), (ends, _)) = play(
            network, seconds=0.9, frame=MIN_FRAME, spacing_s=0.002, timeline=events, made_by=made_by
        )
        lost = sorted(set(range(arrivals.sent)) - set(arrivals.number.tolist()))
        if lost and lost[-1] + 1 < arrivals.sent:
            break
    assert 0 < lost[0] <= lost[-1] < arrivals.sent - 1
    assert lost == list(range(lost[0], lost[-1] + 1)), "all in it, and none before or after"
    assert not np.any((arrivals.sent_ns > begun) & (arrivals.received_ns < ends))


@pytest.mark.parametrize(
    ("channel", "lost"),
    [("station", ([3, 4, 5], [3, 4, 5])), ("shared", ([2], [1, 2]))],
)
def test_a_burst_follows_the_packets_of_one_station_or_of_all(
    network: Network, made_by: MediumName, channel: str, lost: tuple[list[int], ...]
) -> None:
    paths = []
    with link(network, made_by=made_by, loss=RECORD, loss_channel=channel), ExitStack() as opened:
        for number, station in enumerate(("sta1", "sta2")):
            where = ends(network, station)
            to = {"to_pid": where.wired_pid, "to_address": where.wired_address, "port": 7007 + number}
            paths.append(opened.enter_context(probe_path(from_pid=where.station_pid, **to)))  # type: ignore[arg-type]
            paths[-1].wait(0.5)
        for _ in range(10):  # by turns
            for path in paths:
                path.hand_over([MIN_FRAME])
                time.sleep(0.002)
        arrived = [set(path.collect(10).number.tolist()) for path in paths]
    assert tuple(sorted(set(range(10)) - seen) for seen in arrived) == lost


def test_losses_of_a_handover_have_a_list_of_their_own(network: Network, made_by: MediumName) -> None:
    about: dict[str, Any] = {"rate": 2e6, "timeline": [{"at": 0.2, "handover": {"lasts": 0.4, "loss": 0.2}}]}
    with link(network, made_by=made_by, **about) as made, path(network) as probe, playing(made) as player:
        before: SeededLosses = made.plan.losses[0]
        within = made.plan.in_force(made.plan.steps[0].state, 0, "uplink")
        time.sleep(0.1)
        player.start(time.monotonic_ns())
        probe.send([MIN_FRAME] * 400, spacing_s=0.002)
        counts = {one.name: one for one in made.loss_counts()}
    assert counts[before.name].dropped == 0
    seen = counts[within.name].seen
    assert seen > 0
    assert counts[within.name].dropped == within.dropped_of(seen)


def rates(plan: LinkPlan, network: Network) -> list[LinkCheck]:
    found = probe_link(plan, {0: ends(network)}, Samples(rate_s=0.2, loss=1))
    return [one for one in found if one.quantity == "rate"]


def test_a_rate_is_changed_in_place(network: Network, made_by: MediumName) -> None:
    events = [{"at": 1, "change": {"rate": "4 Mbit/s"}}, {"at": 2, "change": {"rate": "1 Mbit/s"}}]
    with link(network, made_by=made_by, rate=2e6, timeline=events) as made:
        for step, rate in zip(made.plan.steps, (4e6, 1e6), strict=True):
            made.go_through([step.state])
            now = plan_of(network, profile(rate=rate), made_by=made_by)
            found = until_it_holds(partial(rates, now, network))
            assert {one.asked for one in found} == {rate}
            assert broken(found) == set(), found


def test_what_waits_in_a_gap_of_a_trace_goes_on_when_it_is_over(network: Network, made_by: MediumName) -> None:
    """Nothing else is sent that could wake the queue."""
    with (
        link(network, made_by=made_by, rate=6e6, timeline=[gap_trace(300, 500)], timeline_s=1.1) as made,
        path(network, silence_s=2) as probe,
        playing(made) as player,
    ):
        time.sleep(0.1)
        began = time.time_ns()
        player.start(time.monotonic_ns())
        probe.send([FULL_FRAME] * 2)
        time.sleep(0.45)
        arrivals = probe.send([FULL_FRAME] * 20)
    assert arrivals.number.tolist() == list(range(2, 22))
    assert (arrivals.received_ns.min() - began) / 1e9 > 0.79


def test_a_trace_delivers_what_it_recorded(network: Network, made_by: MediumName) -> None:
    found: list[tuple[int, int, int]] = []
    while len(found) < 5 and not (found and as_recorded(*found[-1])):  # a stall of the sender leaves chances unused
        about: dict[str, Any] = {"rate": 6e6, "timeline": [gap_trace(500, 400)], "made_by": made_by}
        arrivals, ((_, began), *_) = play(network, seconds=1.4, frame=FULL_FRAME, spacing_s=0.0015, **about)
        arrived = (arrivals.received_ns - began) / 1e9
        first, gap, rest = (arrived < 0.6), (arrived > 0.53) & (arrived < 0.89), (arrived > 0.9)
        found.append((int(first.sum()), int(gap.sum()), int(rest.sum())))
    assert as_recorded(*found[-1]), found


def as_recorded(first: int, gap: int, rest: int) -> bool:
    """Frames before, in and after the gap: one each 2 ms, which are 249 chances, then none, then again."""
    return 235 <= first <= 265 and gap == 0 and rest > 200


def test_every_profile_that_needs_no_netem_holds(network: Network, made_by: MediumName) -> None:
    for name in ("80211b-2m", "stepped-trace"):
        checks = holding(network, library.load(name), made_by=made_by)
        assert broken(checks) == set(), (name, [check for check in checks if not check.holds])
