from __future__ import annotations

import pytest
from shapes import EVERY, plan_of

from topologies.plan import MAX_SEGMENTS, MAX_STATIONS, Host, Segment, TopologyPlan, Translator

STATION, SERVER, ROUTER = (Host(name=role, role=role) for role in ("station", "server", "router"))  # type: ignore[arg-type]


def medium(*stations: str, wired: tuple[str, ...] = ("server",), name: str = "medium") -> Segment:
    return Segment(name=name, profile="air", stations=stations, wired=wired)


def test_a_star_has_the_names_and_addresses_that_it_always_had() -> None:
    plan = plan_of(stations=2, kind="star")
    assert [(one.host, one.name, one.port, one.address, one.mac) for one in plan.interfaces] == [
        ("server", "server-eth", "wired", "10.77.0.1", "02:77:00:00:00:01"),
        ("sta1", "sta1-eth", "port-sta1", "10.77.0.2", "02:77:00:00:00:02"),
        ("sta2", "sta2-eth", "port-sta2", "10.77.0.3", "02:77:00:00:00:03"),
    ]


@pytest.mark.parametrize("settings", EVERY, ids=lambda one: str(one["kind"]))
def test_addresses_and_names_are_unique_and_fit(settings: dict[str, object]) -> None:
    plan = plan_of(stations=40, **settings)
    for values in (
        [one.address for one in plan.interfaces],
        [one.mac for one in plan.interfaces],
        [one.name for one in plan.interfaces] + [one.port for one in plan.interfaces],
    ):
        assert len(set(values)) == len(values)
    assert max(len(one.name) for one in plan.interfaces) <= 15


def test_a_host_on_several_segments_is_reached_at_an_address_that_belongs_to_none() -> None:
    plan = plan_of(kind="tree", servers=3, link="wire")
    assert plan.address("server1") == plan.identity("server1") not in {one.address for one in plan.interfaces}
    assert plan.identity("sta1") == ""
    assert [plan.forwards(name) for name in ("server1", "sta1")] == [True, False]


@pytest.mark.parametrize(
    ("hosts", "segments", "said"),
    [
        ((STATION,), (medium("station"),), "there is no host server"),
        ((STATION, SERVER, STATION), (medium("station"),), "hosts: station is there twice"),
        ((STATION, SERVER, ROUTER), (medium("station"),), "host router is on no segment"),
        ((STATION, SERVER), (medium("station"), medium("station", name="other")), "one medium, not on medium, other"),
        ((STATION, SERVER), (medium(wired=("station", "server")),), "has to be on one medium"),
        ((STATION, SERVER), (medium("station"), medium()), "segments: medium is there twice"),
        ((SERVER, ROUTER), (medium("router"), medium("router", name="m" * 10)), "at most 15 characters"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_cannot_be_built_is_refused(hosts: tuple[Host, ...], segments: tuple[Segment, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TopologyPlan(hosts=hosts, segments=segments)


def test_only_a_router_translates_addresses_and_only_on_a_segment_of_its_own() -> None:
    for router in ("server", "router"):
        with pytest.raises(ValueError, match=f"no router {router} on segment medium"):
            TopologyPlan(
                hosts=(STATION, SERVER, ROUTER),
                segments=(medium("station"), medium("router", name="other")),
                translators=(Translator(router=router, outside="medium"),),
            )


def test_there_are_addresses_for_so_many_segments_and_stations_only() -> None:
    hosts = tuple(Host(name=f"s{number}", role="server") for number in range(MAX_SEGMENTS + 1))
    segments = tuple(medium(wired=(host.name,), name=f"m{number}") for number, host in enumerate(hosts))
    with pytest.raises(ValueError, match=f"at most {MAX_SEGMENTS} segments, not {MAX_SEGMENTS + 1}"):
        TopologyPlan(hosts=hosts, segments=segments)
    with pytest.raises(ValueError, match=f"at most {MAX_STATIONS} stations, not {MAX_STATIONS + 1}"):
        plan_of(stations=MAX_STATIONS + 1, kind="star")
