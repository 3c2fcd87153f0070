"""Whole profiles in the line: every frame is accounted for, losses are those of the lists, states come in time."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from emulation.line.air import NEVER
from emulation.line.fate import fates
from emulation.line.layout import Line, digests
from emulation.line.medium import WIRED
from emulation.plan.linkplan import LinkPlan, plan
from emulation.profile import library
from emulation.profile.profile import LinkProfile
from emulation.profile.timeline import Step

S = 10**9
STATIONS = ("sta1", "sta2", "sta3")
MACS = {station: bytes([2, 0, 0, 0, 0, number]) for number, station in enumerate(STATIONS, 1)}
SERVER = bytes([2, 0, 0, 0, 1, 0])


def planned(profile: LinkProfile, seconds: float = 3.0, seed: int = 5) -> LinkPlan:
    return plan(profile, STATIONS, seed=seed, seconds=seconds, timeline_s=seconds)


def made(**settings: Any) -> LinkProfile:
    about = {"name": "made", "description": "made", "source": "made", "medium": "shared", "rate": 1e6}
    return LinkProfile.model_validate(about | settings)


def frame(to: bytes, number: int, size: int) -> bytes:
    return to + bytes(6) + b"\x08\x00" + number.to_bytes(4, "big") + bytes(size - 18)


def load(line: Line, *, seconds: float, rate: float, seed: int = 3) -> Counter[bytes]:
    """Frames both ways at random moments, with the timeline played; counts what comes out, by its first 18 bytes."""
    random, out = Random(seed), Counter[bytes]()
    steps: list[Step] = list(line.plan.steps)
    now = number = 0
    while now < seconds * S:
        now += round(random.expovariate(rate) * S)
        while steps and steps[0].at_s * S <= now:
            step = steps.pop(0)
            line.enter(round(step.at_s * S), step.state)
        port = random.randrange(len(STATIONS) + 1)
        to = SERVER if port != WIRED else random.choice(list(MACS.values()))
        line.medium.arrive(now, port, frame(to, number, random.choice((60, 150, 1514))))
        out.update(data[:18] for _, _, data in line.medium.come_out(now))
        number += 1
    for step in steps:
        line.enter(round(step.at_s * S), step.state)
    while (due := line.medium.due()) != NEVER:
        line.medium.advance(due)
        out.update(data[:18] for _, _, data in line.medium.come_out(due))
    out.total = number  # type: ignore[method-assign, assignment]
    return out


@pytest.mark.parametrize("name", library.names())
def test_every_frame_comes_out_or_was_counted_as_lost(name: str) -> None:
    line = Line(planned(library.load(name)), MACS)
    came = load(line, seconds=3, rate=400)
    sent: int = came.total  # type: ignore[assignment]
    seen, dropped, dark = (
        sum(getattr(one, field) for one in line.lists.values()) for field in ("seen", "dropped", "dark")
    )
    overflowed = sum(air.overflowed for air in line.airs.values())
    assert seen == sent - overflowed
    damaged_or_not = len({key[14:18] for key in came})
    # A bit that was turned over may have hit the number, by which frames are told apart here.
    assert damaged_or_not == pytest.approx(seen - dropped - dark, abs=0 if not has(line, "corrupt") else 0.05 * sent)
    for one in line.lists.values():
        if not one.dark:
            assert one.dropped == one.losses.dropped_of(one.seen)


def has(line: Line, setting: str) -> bool:
    return any(getattr(side, setting) for sides in line.plan.first.sides for side in (sides.uplink, sides.downlink))


def test_an_idle_link_costs_each_frame_its_time() -> None:
    """nistnet-80211: 0.8 ms for 100 bytes, 12.112 ms for a full frame."""
    line = Line(planned(made(rate=1e6)), MACS)
    for at, size in ((0, 100), (S, 1514)):
        line.medium.arrive(at, 1, frame(SERVER, 0, size))
    line.medium.advance(2 * S)
    assert [now for now, _, _ in line.medium.come_out(2 * S)] == [800_000, S + 12_112_000]


def test_a_change_of_the_timeline_holds_from_its_moment_on() -> None:
    profile = made(timeline=[{"at": 1, "change": {"rate": "2 Mbit/s", "delay": "10 ms"}}])
    line = Line(planned(profile), MACS)
    line.medium.arrive(0, 1, frame(SERVER, 0, 1250))
    (step,) = line.plan.steps
    line.enter(round(step.at_s * S), step.state)
    line.medium.arrive(S, 1, frame(SERVER, 0, 1250))
    line.medium.advance(2 * S)
    assert [now for now, _, _ in line.medium.come_out(2 * S)] == [10_000_000, S + 15_000_000]


def test_a_station_with_a_rate_of_its_own_is_held_to_it() -> None:
    profile = made(rate=10e6, stations={"sta1": {"rate": "1 Mbit/s"}, "sta2": {}, "sta3": {}})
    line = Line(planned(profile), MACS)
    for number in range(800):
        for port in (1, 2):
            line.medium.arrive(number * 10**6, port, frame(SERVER, port, 1250))
    line.medium.advance(S)
    came = Counter(data[14:18] for _, _, data in line.medium.come_out(S))
    assert came[(1).to_bytes(4, "big")] == pytest.approx(100, abs=1)
    assert came[(2).to_bytes(4, "big")] == pytest.approx(800, abs=1)


def test_bursts_on_a_duplex_medium_are_each_stations_own() -> None:
    burst = {"model": "gilbert-elliott", "p": 0.05, "r": 0.2}
    for channel, lists in (("station", 6), ("shared", 2)):
        line = Line(planned(made(medium="duplex", loss=burst, loss_channel=channel)), MACS)
        load(line, seconds=3, rate=200)
        assert sum(one.seen > 0 for one in line.lists.values()) == lists


def test_digests_name_each_list_and_follow_from_the_seed() -> None:
    changes = [{"at": 1, "change": {"duplicate": "6 %"}}, {"at": 2, "change": {"loss": "1 %"}}]
    own = {"sta3": {"delay": "7 ms"}}
    profile = made(medium="duplex", delay="5 ms", duplicate="3 %", stations=own, timeline=changes)
    found = digests(planned(profile))
    assert set(found) == {
        *("uplink", "uplink#1", "uplink-0-1", "downlink", "downlink#1", "downlink-0-1"),
        *("uplink-1-0", "uplink-1-0#1", "uplink-1-1", "downlink-1-0", "downlink-1-0#1", "downlink-1-1"),
    }
    assert len(set(found.values())) == len(found)
    assert digests(planned(profile)) == found
    assert set(digests(planned(profile, seed=6)).values()).isdisjoint(found.values())


def test_digests_are_of_each_station_where_losses_are() -> None:
    burst = {"model": "gilbert-elliott", "p": 0.05, "r": 0.2}
    profile = made(medium="duplex", loss_channel="station", uplink={"loss": burst}, duplicate="3 %")
    found = digests(planned(profile))
    assert set(found) == {"downlink", *(f"uplink-0-0-{one}" for one in STATIONS)}
    assert len(set(found.values())) == len(found)


def test_what_a_rate_does_is_no_part_of_a_fate() -> None:
    changes = [{"at": at, "change": {"rate": f"{at} Mbit/s"}} for at in (1, 2)]
    assert digests(planned(made(timeline=changes))) == digests(planned(made()))


def copied(line: Line, port: int, packets: int, first: int = 0) -> list[int]:
    """Which of the packets sent from a station's port, one a second, come out twice."""
    came: Counter[int] = Counter()
    for number in range(first, first + packets):
        line.medium.arrive(number * S, port, frame(SERVER, number, 100))
        line.medium.advance((number + 1) * S - 1)
        came.update(int.from_bytes(data[14:18], "big") for _, _, data in line.medium.come_out((number + 1) * S - 1))
    return [number for number, times in came.items() if times == 2]


@pytest.mark.parametrize("channel", ["shared", "station"])
def test_what_groups_send_beside_one_another_moves_no_fate_of_another_group(channel: str) -> None:
    """Their packets meet lists of their own, and are numbered by these."""
    profile = made(duplicate=0.2, loss_channel=channel, stations={"sta2": {"delay": "1 ms"}})
    alone, beside = Line(planned(profile), MACS), Line(planned(profile), MACS)
    for number in range(7):
        beside.medium.arrive(number, 1, frame(SERVER, number, 100))
    beside.medium.advance(S)
    list(beside.medium.come_out(S))
    assert copied(alone, 2, 100) == copied(beside, 2, 100) != []


def test_a_list_that_comes_into_force_later_counts_from_zero_and_so_do_the_fates() -> None:
    profile = made(duplicate=0.2, timeline=[{"at": 1, "change": {"loss": 0.1}}, {"at": 2, "change": {"loss": 0.0}}])
    plan = planned(profile)
    later = plan.in_force(plan.steps[0].state, 0, "uplink")
    lost = set(later.indices.tolist())
    before, during = (
        [number for number, one in enumerate(fates(side, seed=5, name=name, packets=100)) if one.copy_ns is not None]
        for side, name in ((plan.first.sides[0].uplink, "uplink"), (plan.steps[0].state.sides[0].uplink, later.name))
    )
    line = Line(plan, MACS)
    assert copied(line, 1, 50) == [number for number in before if number < 50]
    line.enter(1000 * S, plan.steps[0].state)
    assert copied(line, 1, 50, first=1000) == [1000 + number for number in during if number < 50 and number not in lost]
    line.enter(2000 * S, plan.steps[1].state)
    assert copied(line, 1, 50, first=2050) == [2000 + number for number in before if number >= 50], "the first goes on"
