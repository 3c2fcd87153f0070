"""Which netems a plan needs and who is led to them; what they do to packets is in test_stages_lab.py."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from emulated_links import profile

from emulation.kernel.accesspoint import Ports
from emulation.kernel.netlink import attributes
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.timeline import LinkState
from emulation.tc import netems

STATIONS = ["sta1", "sta2"]
PORTS = Ports(
    pid=1,
    stations={name: f"port-{name}" for name in STATIONS},
    wired="wired",
    addresses={"sta1": "10.0.0.1", "sta2": "10.0.0.2"},
)
JITTER = {"delay": 0.01, "jitter": 0.002}


def plan(*, times_frames: bool = False, **settings: Any) -> LinkPlan:
    return linkplan.plan(profile(**settings), STATIONS, seed=1, seconds=10, timeline_s=10, times_frames=times_frames)


def where(made: LinkPlan) -> list[tuple[str, str]]:
    """Device and part of each netem."""
    found = netems.netems(made, PORTS)
    assert all(one.own != (one.device in ("wired", *PORTS.stations.values())) for one in found)
    return [(one.device, one.part) for one in found]


def led(made: LinkPlan) -> list[tuple[str, str, tuple[str, ...], str]]:
    return [(way.port, way.device, way.stations, way.back_from) for way in netems.ways(made, PORTS)]


def rate(made: LinkPlan, device: str, state: LinkState | None = None) -> tuple[int, int]:
    """Bytes/s and bytes of overhead of a device's netem."""
    (one,) = (
        one for one in netems.disciplines(made, netems.netems(made, PORTS), state or made.first) if one.device == device
    )
    per_s, overhead, _, _ = struct.unpack("IiIi", dict(attributes(one.options[24:]))[6])
    return per_s, overhead


def test_nothing_is_late_where_nothing_is_asked() -> None:
    assert where(plan(rate=1e6, loss=0.1)) == []
    assert where(plan(times_frames=True, loss=0.1)) == [], "without a rate a frame takes no time"


@pytest.mark.parametrize("own", [{}, {"stations": {"sta2": {"uplink": {"burst_bytes": 20_000}}}}], ids=["all", "one"])
def test_no_netem_spaces_out_what_may_pass_at_once(own: dict[str, Any]) -> None:
    bursts = plan(times_frames=True, rate=1e6, **(own or {"burst_bytes": 20_000}))
    assert where(bursts) == led(bursts) == []
    late = plan(times_frames=True, rate=1e6, delay=0.01, **(own or {"burst_bytes": 20_000}))
    assert {part for _, part in where(late)} == {"fate"}


def test_ad_hoc_nothing_is_late_on_the_way_down() -> None:
    made = replace(plan(times_frames=True, rate=1e6, **JITTER), via="ad-hoc")
    assert {one.direction for one in netems.netems(made, PORTS)} == {"uplink"}
    assert {way.port for way in netems.ways(made, PORTS)} == {"wired"}


def test_uplink_is_late_at_the_wired_port_and_downlink_at_each_stations() -> None:
    made = plan(delay=0.01)
    assert where(made) == [("wired", "fate"), ("port-sta1", "fate"), ("port-sta2", "fate")]
    assert led(made) == []


def test_where_stations_differ_each_group_is_late_on_a_device_of_its_own() -> None:
    made = plan(delay=0.01, stations={"sta2": {"uplink": {"delay": 0.02}, "downlink": {"delay": 0}}})
    assert where(made) == [("late-0", "fate"), ("late-1", "fate"), ("port-sta1", "fate")]
    assert led(made) == [("wired", "late-0", ("sta1",), ""), ("wired", "late-1", ("sta2",), "")]


def test_stations_keep_each_its_own_order() -> None:
    """On one netem a packet would wait for those of other stations, too."""
    assert [device for device, _ in where(plan(uplink=JITTER))] == ["late-sta1", "late-sta2"]
    assert [device for device, _ in where(plan(uplink=JITTER | {"keep_order": False}))] == ["wired"]


def test_each_uplink_of_a_duplex_medium_has_a_transmission_time_of_its_own() -> None:
    made = plan(times_frames=True, rate=1e6, delay=0.02)
    up = [("late-sta1", "both"), ("late-sta2", "both")]
    assert where(made) == [*up, ("port-sta1", "both"), ("port-sta2", "both")]
    assert led(made) == [("wired", f"late-{name}", (name,), "") for name in STATIONS]


def test_frames_of_one_air_are_apart_already() -> None:
    made = plan(times_frames=True, medium="shared", rate=1e6, frame_overhead=0.001)
    assert where(made) == [("wired", "both"), ("port-sta1", "both"), ("port-sta2", "both")]
    assert led(made) == []


@pytest.mark.parametrize(
    "settings",
    [
        JITTER,
        JITTER | {"keep_order": False},
        {"delay": 0.01, "reorder": 0.1},
        {"duplicate": 0.1},
        {"timeline": [{"at": 1, "change": {"delay": 0.01}}]},
    ],
    ids=str,
)
def test_what_may_not_wait_for_the_frames_before_it_is_behind_a_second_netem(settings: dict[str, Any]) -> None:
    made = plan(times_frames=True, rate=1e6, **settings)
    assert where(made)[:4] == [
        ("sent-sta1", "time"),
        ("late-sta1", "fate"),
        ("sent-sta2", "time"),
        ("late-sta2", "fate"),
    ]
    assert where(made)[4:6] == [("to-sta1", "time"), ("port-sta1", "fate")]
    assert led(made) == [
        ("wired", "sent-sta1", ("sta1",), ""),
        ("wired", "late-sta1", ("sta1",), "sent-sta1"),
        ("wired", "sent-sta2", ("sta2",), ""),
        ("wired", "late-sta2", ("sta2",), "sent-sta2"),
        ("port-sta1", "to-sta1", (), ""),
        ("port-sta2", "to-sta2", (), ""),
    ]


def test_where_all_go_alike_they_meet_the_second_one_at_the_port() -> None:
    made = plan(times_frames=True, medium="shared", rate=1e6, duplicate=0.1)
    assert where(made)[:2] == [("sent-0", "time"), ("wired", "fate")]
    assert led(made)[0] == ("wired", "sent-0", (), "")


def test_a_netem_that_duplicates_is_alone_on_its_device() -> None:
    """Linux 6.16 refuses it beside another one in the same tree."""
    own = {"sta2": {"uplink": {"duplicate": 0.2}}}
    made = plan(times_frames=True, rate=1e6, **JITTER, duplicate=0.1, stations=own)
    devices = [device for device, _ in where(made)]
    assert len(set(devices)) == len(devices)


def test_a_frame_takes_its_bits_and_its_overhead_and_leaves_a_little_before_the_next_one_comes() -> None:
    made = plan(times_frames=True, medium="shared", rate=11e6, frame_overhead=974e-6)
    per_s, overhead = rate(made, "wired")
    assert 11e6 / 8 < per_s < 1.002 * 11e6 / 8
    assert overhead == round(974e-6 * 11e6 / 8)


def test_on_a_shared_medium_a_frame_takes_what_the_medium_says() -> None:
    """A station's own rate holds that station back, and its frames are as long as others'."""
    made = plan(times_frames=True, medium="shared", rate=4e6, stations={"sta2": {"rate": 1e6}})
    assert rate(made, "late-1") == rate(made, "late-0") == rate(made, "port-sta2")


def test_a_change_of_the_rate_changes_it_and_a_held_queue_does_not() -> None:
    events = [{"at": 1, "change": {"rate": 2e6}}]
    made = plan(times_frames=True, rate=1e6, timeline=events)
    assert rate(made, "late-sta1", made.steps[0].state)[0] == 2 * rate(made, "late-sta1")[0]
    trace = {"at": 0, "trace": {"uplink": {"opportunities_ms": [1, 2, 3, 4, 1000]}}}
    traced = plan(times_frames=True, uplink={"rate": 1e6}, timeline=[trace])
    held = next(step.state for step in traced.steps if step.state.held)
    assert held.sides[0].uplink.rate < 1e6
    assert rate(traced, "late-sta1", held) == rate(traced, "late-sta1")


def test_all_states_have_the_same_netems() -> None:
    events = [{"at": 1, "handover": {"lasts": 1, "extra_delay": 0.01}}, {"at": 3, "change": {"rate": 2e6}}]
    made = plan(times_frames=True, rate=1e6, timeline=events)
    shapes = {tuple(map(str, netems.disciplines(made, netems.netems(made, PORTS), state))) for state in made.states()}
    assert len(shapes) == 1
