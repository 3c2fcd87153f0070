"""Frames between stations by the line, in virtual time: through the access point, directly, and to all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import mean
from typing import Any

import pytest
from emulated_links import profile

from emulation.line.air import NEVER
from emulation.line.layout import Line
from emulation.line.medium import WIRED
from emulation.line.request import Request
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import Via

MS = 10**6
STATIONS = ("sta1", "sta2", "sta3")
TEN = tuple(f"sta{number}" for number in range(1, 11))
SERVER, ALL = bytes([2, 0, 0, 0, 1, 0]), bytes([255] * 6)
BOTH: dict[str, Any] = {"medium": "shared", "rate": 1e6, "uplink": {"delay": 0.005}, "downlink": {"delay": 0.02}}


def macs(stations: Iterable[str]) -> dict[str, bytes]:
    return {station: bytes([2, 0, 0, 0, 0, number]) for number, station in enumerate(stations, 1)}


MACS = macs(STATIONS)


def planned(
    via: Via = "access-point", *, names: tuple[str, ...] = STATIONS, group_frames: bool = False, **settings: Any
) -> LinkPlan:
    return linkplan.plan(
        profile(**settings), names, seed=1, seconds=3, timeline_s=10, made_by="line", via=via,
        group_frames=group_frames,
    )  # fmt: skip


def lose(*numbers: int) -> dict[str, Any]:
    return {"loss": {"model": "recorded", "packets": 1000, "lost": numbers}}


class World:
    """A line whose frames are 125 bytes, 1 ms of air at 1 Mbit/s, and bear a number."""

    def __init__(self, plan: LinkPlan, stations: Mapping[str, bytes] = MACS) -> None:
        self.line = Line(plan, stations)

    def send(self, at_ms: float, port: int, to: bytes, number: int = 0) -> None:
        data = to + bytes(6) + b"\x08\x00" + number.to_bytes(4, "big") + bytes(107)
        self.line.medium.arrive(round(at_ms * MS), port, data)

    def came(self) -> list[tuple[float, int, int]]:
        """Moment (ms), port and number of what comes out until nothing is under way."""
        medium, found = self.line.medium, []
        while (due := medium.due()) != NEVER:
            medium.advance(due)
            found += [(at / MS, port, int.from_bytes(data[14:18], "big")) for at, port, data in medium.come_out(due)]
        return found

    def on_air(self) -> int:
        return sum(air.sent for air in self.line.airs.values())


def test_through_the_access_point_a_frame_takes_the_air_twice_and_meets_both_directions() -> None:
    world = World(planned(**BOTH))
    world.send(0, 1, MACS["sta2"])
    assert world.came() == [(27, 2, 0)]
    assert world.on_air() == 2


def test_ad_hoc_a_frame_takes_the_air_once_and_meets_its_senders_uplink() -> None:
    world = World(planned("ad-hoc", **BOTH))
    world.send(0, 1, MACS["sta2"])
    assert world.came() == [(6, 2, 0)]
    assert world.on_air() == 1
    assert set(world.line.lists) == {"uplink"}


def test_ad_hoc_each_stations_own_uplink_holds() -> None:
    world = World(planned("ad-hoc", medium="duplex", rate=1e6, stations={"sta2": {"uplink": {"delay": 0.05}}}))
    world.send(0, 1, MACS["sta2"])
    world.send(0, 2, MACS["sta1"])
    assert world.came() == [(1, 2, 0), (51, 1, 0)]


def test_ad_hoc_nobody_hears_what_is_for_nobody_and_there_is_no_wired_side() -> None:
    world = World(planned("ad-hoc", **BOTH))
    world.send(0, 1, SERVER)
    world.send(10, WIRED, MACS["sta1"])
    assert world.came() == []
    assert world.on_air() == 1


@pytest.mark.parametrize(("via", "lost"), [("access-point", {0, 1}), ("ad-hoc", {0})])
def test_the_list_of_each_direction_counts_what_comes_to_it(via: Via, lost: set[int]) -> None:
    world = World(planned(via, medium="shared", rate=1e6, uplink=lose(0), downlink=lose(0)))
    for number in range(5):
        world.send(10 * number, 1, MACS["sta2"], number)
    assert set(range(5)) - {number for _, _, number in world.came()} == lost


@pytest.mark.parametrize("out", ["sta1", "sta2"])
def test_ad_hoc_a_station_that_is_out_neither_sends_nor_hears(out: str) -> None:
    events = [{"at": 1, "outage": 1, "stations": [out]}]
    plan = planned("ad-hoc", medium="shared", rate=1e6, timeline=events)
    world = World(plan)
    world.line.enter(0, plan.steps[0].state)
    world.send(1, 1, MACS["sta2"])
    world.send(5, 3, ALL)
    assert {port for _, port, _ in world.came()} == {1, 2} - {int(out[-1])}
    assert world.line.lists["uplink"].dark == 2


def test_on_a_shared_medium_a_frame_to_a_group_takes_the_air_once_up_and_once_down() -> None:
    world = World(planned(group_frames=True, **BOTH))
    world.send(0, 1, ALL)
    assert world.came() == [(6, WIRED, 0), (27, 2, 0), (27, 3, 0)]
    assert world.on_air() == 2
    world.send(100, WIRED, ALL)
    assert world.came() == [(121, port, 0) for port in (1, 2, 3)]
    assert world.on_air() == 3


def test_ad_hoc_a_frame_to_a_group_takes_the_air_once_in_all() -> None:
    world = World(planned("ad-hoc", group_frames=True, **BOTH))
    world.send(0, 1, ALL)
    assert world.came() == [(6, 2, 0), (6, 3, 0)]
    assert world.on_air() == 1


def heard_of_jitter(frames: int, *, every_ms: float, keep_order: bool = True) -> dict[int, list[tuple[float, int]]]:
    """When and in which order each of nine stations hears a tenth one's frames to all, 20 ms late more or less."""
    late = {"delay": 0.02, "jitter": 0.01, "keep_order": keep_order}
    world = World(planned("ad-hoc", names=TEN, group_frames=True, medium="shared", rate=1e6, uplink=late), macs(TEN))
    for number in range(frames):
        world.send(every_ms * number, 4, ALL, number)
    found: dict[int, list[tuple[float, int]]] = {}
    for at_ms, port, number in world.came():
        found.setdefault(port, []).append((at_ms - every_ms * number, number))
    assert sorted(found) == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    return found


def test_ad_hoc_a_frame_to_a_group_is_as_late_for_each_as_is_asked_whoever_else_hears_it() -> None:
    """Means of 400 that are spread by 10 ms: none is off by four standard errors.  A frame is 1 ms on the air."""
    for came in heard_of_jitter(400, every_ms=50).values():
        assert mean(late_ms for late_ms, _ in came) == pytest.approx(21, abs=4 * 10 / 3**0.5 / 400**0.5)


def test_ad_hoc_each_hears_a_senders_frames_in_their_order_where_that_is_kept() -> None:
    for came in heard_of_jitter(300, every_ms=2).values():
        assert [number for _, number in came] == list(range(300))
    for came in heard_of_jitter(300, every_ms=2, keep_order=False).values():
        assert [number for _, number in came] != sorted(number for _, number in came) == list(range(300))


@pytest.mark.parametrize("asked", [{"medium": "duplex", "group_frames": True}, {"medium": "shared"}])
def test_else_each_copy_is_a_frame_of_its_own(asked: dict[str, Any]) -> None:
    world = World(planned(**(BOTH | asked)))
    world.send(0, 1, ALL)
    assert len(world.came()) == 3
    assert world.on_air() == 3


@pytest.mark.parametrize("via", ["access-point", "ad-hoc"])
def test_who_hears_a_frame_to_a_group_has_losses_of_its_own(via: Via) -> None:
    """Of four stations' worth of numbers each receiver takes the next: number 1 is the second who hears the first."""
    way = "downlink" if via == "access-point" else "uplink"
    world = World(planned(via, group_frames=True, medium="shared", rate=1e6, **{way: lose(1, 2)}))
    world.send(0, 1, ALL, number=1)
    world.send(50, 1, ALL, number=2)
    heard = [(port, number) for _, port, number in world.came() if port != WIRED]
    assert heard == [(2, 1), (3, 2)]


def test_a_frame_to_a_group_takes_as_long_as_who_is_the_slowest_to_reach() -> None:
    own = {"sta3": {"rate": "0.5 Mbit/s"}}
    world = World(planned(group_frames=True, medium="shared", rate=1e6, station_rate="phy", stations=own))
    world.send(0, WIRED, ALL)
    assert {at for at, _, _ in world.came()} == {2}


@pytest.mark.parametrize("turns", ["arrival", "packets", "airtime"])
def test_frames_to_a_group_wait_their_turn_and_find_a_full_queue_full(turns: str) -> None:
    plan = planned(group_frames=True, medium="shared", rate=1e6, queue_packets=4, turns=turns)
    world = World(plan)
    for number in range(10):
        world.send(0, WIRED, ALL, number)
    assert len(world.came()) == 5 * len(STATIONS), "one on air, four that wait, heard by all"


def test_the_lines_process_is_told_of_both() -> None:
    plan = planned("ad-hoc", group_frames=True, **BOTH)
    told = Request.of(plan, pid=1, macs={name: mac.hex() for name, mac in MACS.items()})
    again = Request.model_validate_json(told.model_dump_json()).plan()
    assert (again.via, again.group_frames) == ("ad-hoc", True)
    assert [one.digest for one in again.losses] == [one.digest for one in plan.losses]
