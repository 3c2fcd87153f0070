"""Whose frame a shared medium sends next, and what a slow station's frames cost the others: in virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulation.line.layout import Line
from emulation.line.medium import WIRED
from emulation.plan.linkplan import plan
from emulation.plan.stages import needs_line
from emulation.profile.profile import LinkProfile
from emulation.proof.lanes import shared_uses

S = 10**9
STATIONS = ("sta1", "sta2", "sta3")
MACS = {station: bytes([2, 0, 0, 0, 0, number]) for number, station in enumerate(STATIONS, 1)}
SERVER = bytes([2, 0, 0, 0, 1, 0])
SIZE = 1250
SLOW = {"stations": {"sta1": {"rate": "1 Mbit/s"}}, "station_rate": "phy"}


def made(**settings: Any) -> LinkProfile:
    about = {"name": "made", "description": "made", "source": "made", "medium": "shared", "rate": 10e6}
    return LinkProfile.model_validate(about | settings)


def line_of(profile: LinkProfile) -> Line:
    return Line(plan(profile, STATIONS, seed=5, seconds=5, timeline_s=5, made_by="line"), MACS)


def frame(way: str, sta: int, size: int = SIZE) -> bytes:
    to = SERVER if way == "up" else MACS[f"sta{sta}"]
    return to + bytes(6) + b"\x08\x00" + (way + str(sta)).encode().ljust(size - 14, b"\0")


def flows(profile: LinkProfile, asks: Mapping[tuple[str, int], int], seconds: int = 2) -> Counter[str]:
    """Frames that get through in a time of flows ("up" or "down", station) that always have one of this size."""
    line, came = line_of(profile), Counter[str]()
    for at in range(0, seconds * S, S // 2000):
        for (way, sta), size in asks.items():
            line.medium.arrive(at, WIRED if way == "down" else sta, frame(way, sta, size))
    line.medium.advance(seconds * S)
    for _, _, data in line.medium.come_out(seconds * S):
        came[data[14:20].rstrip(b"\0").decode()] += 1
    return came


UPS = {("up", 1): SIZE, ("up", 2): SIZE, ("up", 3): SIZE}


def test_a_slow_stations_frames_take_longer_of_everybodys_time() -> None:
    """Turns by packet: as many frames for each, one at 1 Mbit/s and two at 10: 1 / (10 + 1 + 1) ms (Heusse 2003)."""
    came = flows(made(turns="packets", **SLOW), UPS)
    assert [came[f"up{sta}"] for sta in (1, 2, 3)] == pytest.approx([2000 / 12] * 3, abs=1)


def test_with_turns_by_airtime_a_slow_station_slows_itself_alone() -> None:
    came = flows(made(turns="airtime", **SLOW), UPS)
    assert [came[f"up{sta}"] for sta in (1, 2, 3)] == pytest.approx([2000 / 30, 2000 / 3, 2000 / 3], abs=11)


def test_a_limited_station_takes_no_more_of_others_time_than_its_frames_would_at_the_mediums_rate() -> None:
    came = flows(made(stations=SLOW["stations"]), UPS)
    assert [came["up1"], came["up2"] + came["up3"]] == pytest.approx([200, 1800], abs=2)


def test_without_turns_who_sends_more_gets_more() -> None:
    """One queue, in the order of arrival: half of the load is sta1's, so is half of what gets through."""
    double = {("up", 1): SIZE, ("down", 1): SIZE, ("up", 2): SIZE, ("down", 3): SIZE}
    came = flows(made(), double)
    # Which frames of a moment find room in a full queue follows the order of the loop that sends them here.
    assert sum(came.values()) == pytest.approx(2000, abs=1)
    one = line_of(made())
    senders = {id(lane.sender) for lane in (*one.up, *one.down)}
    assert len(senders) == 1


def test_by_packets_the_access_point_is_one_contender_and_by_airtime_stations_are() -> None:
    """Two stations load, one sends: the sender gets a half by packets, and a third of the air by airtime."""
    downs = {("down", 1): SIZE, ("down", 2): SIZE, ("up", 3): SIZE}
    packets = flows(made(turns="packets"), downs)
    assert packets["up3"] == pytest.approx(1000, abs=2)
    assert packets["down1"] + packets["down2"] == pytest.approx(1000, abs=2)
    airtime = flows(made(turns="airtime"), downs)
    assert [airtime[name] for name in ("down1", "down2", "up3")] == pytest.approx([2000 / 3] * 3, abs=2)


def test_by_airtime_both_directions_of_a_station_are_its_one_share() -> None:
    both = {("up", 1): SIZE, ("down", 1): SIZE, ("up", 2): SIZE}
    came = flows(made(turns="airtime"), both)
    assert [came[name] for name in ("up1", "down1", "up2")] == pytest.approx([500, 500, 1000], abs=2)


@given(
    st.lists(st.integers(60, 1514), min_size=3, max_size=3),
    st.sampled_from([1e6, 2e6, 5.5e6]),
    st.sampled_from([0.0, 300e-6]),
)
def test_stations_that_always_have_something_differ_by_one_frame_of_each_in_airtime(
    sizes: list[int], slow: float, overhead: float
) -> None:
    """Goyal 1996, theorem 1: two flows that wait differ by a frame of the one and one of the other at most."""
    profile = made(
        turns="airtime", station_rate="phy", stations={"sta1": {"rate": slow}}, frame_overhead=overhead, rate=5.5e6
    )
    asks = {("up", sta): size for sta, size in zip((1, 2, 3), sizes, strict=True)}
    line = line_of(profile)
    used, most = Counter[int](), Counter[int]()
    at = 0
    lanes = line.up
    while at < S // 2:
        for (_, sta), size in asks.items():
            while len(lanes[sta - 1].sender.queue) < 2:
                line.medium.arrive(at, sta, frame("up", sta, size))
        at = line.medium.due()
        line.medium.advance(at)
        for _, _, data in line.medium.come_out(at):
            sta = int(data[16:17])
            most[sta] = lanes[sta - 1].price.of(len(data))
            used[sta] += most[sta]
    for one in (1, 2, 3):
        for other in (1, 2, 3):
            assert abs(used[one] - used[other]) <= most[one] + most[other] + 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"medium": "duplex", "turns": "packets"}, "turns: packets: on a duplex medium no station waits"),
        ({"medium": "duplex", "station_rate": "phy"}, "station_rate: phy: on a duplex medium"),
        ({"rate": None, "turns": "airtime"}, "turns: airtime: without a rate nobody waits"),
        ({"turns": "airtime", "stations": {"sta1": {"rate": 1e6}}}, "sta1 has a rate of its own"),
        ({"turns": "random"}, "'arrival', 'packets' or 'airtime'"),
        ({"station_rate": "phy", "stations": {"sta2": {"rate": 11e6}}}, "more than the medium's"),
        (
            {"station_rate": "phy", "frame_overhead": 8e-4, "stations": {"sta2": {"frame_overhead": 3e-4}}},
            "frame_overhead 0.0003 s is less than the medium's 0.0008",
        ),
    ],
)
def test_turns_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        made(**settings)


def test_what_only_the_line_can_do_is_told() -> None:
    own = {"stations": {"sta1": {"rate": 1e6}}}
    assert needs_line(made()) == needs_line(made(**own)) == needs_line(made(station_rate="phy")) == ""
    assert needs_line(made(turns="airtime")).startswith("turns: airtime")
    assert needs_line(made(station_rate="phy", **own)).startswith("station_rate: phy")
    assert needs_line(made(station_rate="phy", stations={"sta1": {"loss": 0.1}})) == ""
    assert needs_line(made(), between=True) == ""
    assert needs_line(made(**own), between=True).startswith("stations with settings of their own that send to each")


def test_a_profile_without_a_choice_is_written_as_ever() -> None:
    assert not {"turns", "station_rate"} & set(made().model_dump())
    one = made(turns="packets", **SLOW)
    assert LinkProfile.model_validate_json(one.model_dump_json()) == one
    assert one.model_dump()["turns"] == "packets"


def test_a_burst_of_a_slow_station_is_told_to_use_the_whole_medium() -> None:
    stations = {"stations": {"sta1": {"rate": 1e6}}}
    limited, phy = (plan(made(**one), STATIONS, seed=1, seconds=5, timeline_s=5) for one in (stations, SLOW))
    assert shared_uses(limited, 1, "uplink")["medium"] == pytest.approx(0.1 / 0.9)
    assert shared_uses(phy, 1, "uplink")["medium"] == pytest.approx(1 / 0.9)
