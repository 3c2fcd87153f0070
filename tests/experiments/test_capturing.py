from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from emulation import linkplan
from emulation.accesspoint import Ports
from emulation.profile import LinkProfile
from experiments.capturing import CapturePlan, capture_plan, highest_rate
from experiments.settings import CaptureSettings
from topologies.network import Network, Node


def network(stations: int) -> Network:
    names = [f"sta{number}" for number in range(1, stations + 1)]
    nodes = [Node(name="server", role="server", pid=1, address="10.77.0.1", interface="server-eth")]
    nodes += [
        Node(name=name, role="station", pid=10 + n, address=f"10.77.1.{n}", interface=f"{name}-eth")
        for n, name in enumerate(names)
    ]
    ports = Ports(pid=2, stations={name: f"port-{name}" for name in names}, wired="wired", addresses={})
    return Network(nodes=tuple(nodes), ports=ports)


def link(count: int, /, **settings: Any) -> linkplan.LinkPlan:
    profile = LinkProfile.model_validate(
        {"name": "p", "description": "d", "source": "s", "medium": "duplex"} | settings
    )
    names = [f"sta{number}" for number in range(1, count + 1)]
    return linkplan.plan(profile, names, seed=1, seconds=10, timeline_s=10)


def planned(stations: int = 2, capture: dict[str, Any] | None = None, **settings: Any) -> CapturePlan:
    return capture_plan(CaptureSettings.model_validate(capture or {}), link(stations, **settings), network(stations))


def test_a_slow_link_is_recorded_whole_at_every_port() -> None:
    plan = planned(medium="shared", rate=20e6)
    assert plan.snap_bytes == 65_535
    found = [(place.point, place.node, place.tap.pid, place.tap.port) for place in plan.places]
    assert found == [
        ("wired", "server", 2, "wired"),
        ("server", "server", 1, "server-eth"),
        ("station", "sta1", 2, "port-sta1"),
        ("client", "sta1", 10, "sta1-eth"),
        ("station", "sta2", 2, "port-sta2"),
        ("client", "sta2", 11, "sta2-eth"),
    ]
    assert plan.place("port-sta2").node == "sta2"


@pytest.mark.parametrize("settings", [{"medium": "shared", "rate": 21e6}, {"medium": "shared"}, {"rate": 11e6}])
def test_a_faster_link_is_recorded_at_the_access_point_and_cut(settings: dict[str, Any]) -> None:
    plan = planned(**settings)
    assert plan.snap_bytes == 384
    assert {place.point for place in plan.places} == {"station", "wired"}


def test_many_stations_are_recorded_at_the_access_point_only() -> None:
    plan = planned(17, medium="shared", rate=1e6)
    assert {place.point for place in plan.places} == {"station", "wired", "server"}


def test_what_the_scenario_says_holds() -> None:
    plan = planned(capture={"snap_bytes": 96, "points": "wired, server"}, medium="shared", rate=1e6)
    assert (plan.snap_bytes, {place.point for place in plan.places}) == (96, {"wired", "server"})
    again = CaptureSettings.model_validate(CaptureSettings(points=("wired",)).model_dump(mode="json"))
    assert again.points == ("wired",)


@pytest.mark.parametrize("points", ["", "air", "wired, air", []])
def test_points_that_are_none_are_refused(points: object) -> None:
    with pytest.raises(ValidationError, match="station, wired, client, server"):
        CaptureSettings.model_validate({"points": points})


def test_the_rate_of_a_link_is_the_most_it_ever_has_in_a_direction() -> None:
    assert highest_rate(link(3, medium="shared", rate=1e6)) == 1e6
    assert highest_rate(link(3, rate=1e6, downlink={"rate": 2e6})) == 6e6
    assert highest_rate(link(2, rate=1e6, stations={"sta2": {"rate": 4e6}})) == 5e6
    assert highest_rate(link(1, rate=1e6, timeline=[{"at": "2 s", "change": {"rate": 9e6}}])) == 9e6
    assert highest_rate(link(1, uplink={"rate": 1e6})) is None
