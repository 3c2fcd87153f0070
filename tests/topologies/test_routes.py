from __future__ import annotations

import ipaddress
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import EVERY, plan_of

from topologies.plan import TopologyPlan
from topologies.routes import Crossing, NoPath, Routes


@st.composite
def meshes(draw: st.DrawFn) -> TopologyPlan:
    """Servers that are all joined, with links beside those that join them."""
    servers = draw(st.integers(2, 7))
    joining = [(draw(st.integers(1, number - 1)), number) for number in range(2, servers + 1)]
    number = st.integers(1, servers)
    more = draw(st.lists(st.tuples(number, number).filter(lambda pair: pair[0] != pair[1]), max_size=5))
    pairs = " ".join(f"{one}-{other}" for one, other in [*joining, *more])
    return plan_of(stations=servers, kind="mesh", servers=servers, joined=pairs, link="wire")


def distance(plan: TopologyPlan, sender: str, receiver: str) -> int:
    """Breadth first, forwards."""
    found, waiting = {sender: 0}, deque([sender])
    while waiting:
        at = waiting.popleft()
        if at != sender and not plan.forwards(at):
            continue
        for segment in plan.segments_of(at):
            for other in segment.members:
                if other not in found:
                    found[other] = found[at] + 1
                    waiting.append(other)
    return found[receiver]


@given(meshes())
def test_a_path_leads_from_host_to_host_over_as_few_segments_as_there_can_be(plan: TopologyPlan) -> None:
    routes = Routes(plan)
    for sender in ("sta1", "server1"):
        for host in plan.hosts:
            hops = routes.hops(sender, host.name)
            assert len(hops) == (distance(plan, sender, host.name) if host.name != sender else 0)
            assert [one.sender for one in hops] == [sender, *(one.receiver for one in hops)][: len(hops)]
            for one in hops:
                assert {one.sender, one.receiver} <= set(plan.segment(one.segment).members)


@given(meshes())
def test_tables_lead_where_paths_go(plan: TopologyPlan) -> None:
    routes, at = Routes(plan), {one.address: one.host for one in plan.interfaces}
    tables = {host.name: list(routes.table(host.name)) for host in plan.hosts}
    for target in ("server1", "sta1"):
        address = ipaddress.ip_address(plan.address(target))
        for host in plan.hosts:
            if not (hops := routes.hops(host.name, target)):
                continue
            fitting = [one for one in tables[host.name] if address in ipaddress.ip_network(one.to)]
            following = [at[one.via] for one in sorted(fitting, key=lambda one: -int(one.to.split("/")[1]))]
            assert (following or [target])[0] == hops[0].receiver


def test_a_path_says_which_segments_and_in_which_direction() -> None:
    routes = Routes(plan_of(kind="chain", routers=2, link="wire"))
    assert routes.path("sta1", "server") == (
        Crossing(segment="medium", direction="uplink", station="sta1"),
        Crossing(segment="link1", direction="uplink", station="r1"),
        Crossing(segment="link2", direction="uplink", station="r2"),
    )
    assert routes.path("server", "sta1")[-1] == Crossing(segment="medium", direction="downlink", station="sta1")
    assert routes.path("sta1", "sta1") == ()


def test_from_station_to_station_of_a_medium_a_packet_goes_up_and_down() -> None:
    path = Routes(plan_of(kind="star")).path("sta1", "sta2")
    assert [(one.direction, one.station) for one in path] == [("uplink", "sta1"), ("downlink", "sta2")]


def test_nothing_is_crossed_on_the_wired_side() -> None:
    assert Routes(plan_of(kind="star", servers=2)).path("server1", "server2") == ()


def test_from_cell_to_cell_both_media_are_crossed_and_the_backbone_where_it_has_a_profile() -> None:
    for backbone, between in (({}, []), ({"backbone": "wire"}, ["link1", "link2"])):
        path = Routes(plan_of(kind="cells", cells=2, **backbone)).path("sta1", "sta2")
        assert [one.segment for one in path] == ["cell1", *between, "cell2"]


@pytest.mark.parametrize("settings", EVERY, ids=lambda one: str(one["kind"]))
def test_every_station_reaches_every_server_and_the_same_plan_gives_the_same_ways(settings: dict[str, object]) -> None:
    one, other = Routes(plan_of(**settings)), Routes(plan_of(**settings))
    plan = plan_of(**settings)
    for station in plan.of_role("station"):
        for server in plan.of_role("server"):
            assert one.path(station, server) == other.path(station, server) != ()
            assert len(one.path(station, server)) == len(one.path(server, station))


def test_nobody_gets_past_a_translator_from_outside() -> None:
    plan = plan_of(kind="cells", cells=2, translate=True)
    routes = Routes(plan)
    assert len(routes.path("sta1", "server")) == 1
    for sender in ("server", "sta2"):
        with pytest.raises(NoPath, match=f"no packet gets from {sender} to sta1"):
            routes.path(sender, "sta1")
    assert routes.load_path("server", "sta1") == (routes.path("sta1", "server")[0].back,)
    assert (routes.answers("server", "sta1"), routes.answers("sta1", "server")) == (True, False)
    cells = {str(plan.subnet(name)) for name in ("cell1", "cell2")}
    assert cells & {one.to for one in routes.table("server")} == set()


def test_what_no_links_join_has_no_path() -> None:
    routes = Routes(plan_of(kind="mesh", servers=3, joined="1-2", link="wire"))
    with pytest.raises(NoPath, match="no packet gets from sta1 to server3"):
        routes.path("sta1", "server3")
