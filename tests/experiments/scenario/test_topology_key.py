"""What a scenario says of its topology: what it means, and what is told of what cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from lab_runs import SMALL
from unbuilt import unbuilt

from emulation.plan import linkplan
from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.campaign import campaign as campaigns
from experiments.campaign import prepare
from experiments.scenario import segments
from experiments.scenario.scenario import Scenario, ScenarioError, load
from experiments.scenario.settings import CaptureSettings
from experiments.trial.capturing import capture_plan
from experiments.trial.connect_time import connect_time, connect_time_of
from records.campaign import read_campaign
from topologies.kinds.star import Star
from topologies.plan import Host, Segment, TopologyPlan
from topologies.topology import known

SCENARIOS = Path(__file__).parents[3] / "experiments" / "scenarios"
CHAIN = {"kind": "chain", "routers": 2, "link": "wireline-10m"}


def scenario(folder: Path, **settings: Any) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(SMALL | settings, sort_keys=False))
    return load(path)


def test_left_out_it_is_a_star_and_the_digest_is_what_it_was(tmp_path: Path) -> None:
    plain = scenario(tmp_path)
    assert plain.settings.topology == Star()
    assert "topology" not in plain.cells[0].meaning["settings"]
    assert "links" not in plain.cells[0].meaning
    for said in ("star", {"kind": "star"}, {"kind": "star", "servers": 1}):
        assert scenario(tmp_path, topology=said).digest == plain.digest
    assert scenario(tmp_path, topology={"kind": "star", "servers": 2}).digest != plain.digest


def test_levels_are_called_by_what_they_say_and_nothing_else(tmp_path: Path) -> None:
    tree = {"kind": "tree", "servers": 3, "link": "wireline-10m", "links": {"link2": "wireline-100m"}}
    found = scenario(tmp_path, stations=3, topology=[{"kind": "star"}, {"kind": "star", "servers": 2}, CHAIN, tree])
    assert found.factors["topology"] == (
        "star", "star-2", "chain-2-wireline-10m", "tree-3-wireline-10m-link2-wireline-100m",
    )  # fmt: skip


def test_it_can_be_a_factor_and_a_campaign_keeps_the_profiles_of_its_links(tmp_path: Path) -> None:
    found = scenario(tmp_path, topology=[{"kind": "star", "servers": 1}, CHAIN])
    assert found.factors == {"topology": ("star-1", "chain-2-wireline-10m")}
    folder = campaigns.create(found, tmp_path / "results")
    star, chain = read_campaign(folder).cells
    assert prepare.links_of(star) == {}
    assert prepare.links_of(chain) == {"wireline-10m": library.load("wireline-10m")}
    assert prepare.settings_of(chain).topology == found.cells[1].settings.topology


@pytest.mark.parametrize(
    ("topology", "told"),
    [
        ("torus", f"4: topology: 'torus': kind 'torus' is not one of {', '.join(known())}"),
        ({"kind": "star", "servers": 0}, "6: topology.servers: 0: has to be 1 or more"),
        ({"kind": "chain", "hops": 2}, "4: topology: 'hops' is no key of topology chain, which has kind, link, links"),
        ({"kind": "chain"}, "4: topology.link: is missing"),
        (
            {"kind": "chain", "link": "3g", "routers": 64},
            "7: topology.routers: 64: has to be 63 or less",
        ),
        ({"kind": "chain", "link": "nowhere"}, "6: topology.link: no link profile 'nowhere'"),
        ({"kind": "chain", "link": "vehicle-handover"}, "6: topology.link: profile 'vehicle-handover' has a timeline"),
        ({"kind": "chain", "link": "3g", "links": {"link9": "3g"}}, "4: topology: links: 'link9' is not one of link1"),
        ({"kind": "cells", "cells": 3}, "4: topology: 3 media need 3 stations or more, not 2"),
        ({"kind": "cells", "at": "cell3"}, "4: topology: at: 'cell3' is not one of backbone, cell1, cell2"),
        (
            {"kind": "mesh", "servers": 4, "joined": "1-2 3-4", "link": "3g", "stations_at": "server1"},
            "no packet gets from sta1 to server3",
        ),
        (
            "peers",
            ("4: topology: peers has no server, which stack 'reference' needs: use another topology, or a stack of "),
        ),
        ({"kind": "peers", "via": "air"}, "6: topology.via: 'air': has to be 'access-point' or 'ad-hoc'"),
    ],
    ids=str,
)
def test_what_cannot_be_is_told_with_file_and_line(tmp_path: Path, topology: object, told: str) -> None:
    settings = {"scenario": "small", "network": "nistnet-80211", "stack": "reference", "topology": topology}
    path = tmp_path / "scenario.yaml"
    rest = {key: value for key, value in SMALL.items() if key not in settings}
    path.write_text(yaml.safe_dump(settings | rest, sort_keys=False))
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


class Broken(Star):
    """Its plan and the profiles that it names depend on who asks."""

    found: ClassVar[Any] = None

    def plan(self, *, stations: int, network: str) -> Any:
        del stations, network
        return self.found()

    def profiles(self) -> Iterator[tuple[tuple[str, ...], str]]:
        yield ("link",), self.found().profile


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (lambda: None, ": topology star fails: plan of test_topology_key returns None, which is no TopologyPlan"),
        (lambda: {}["gw"], r": topology star fails: test_topology_key\.py:\d+: KeyError: 'gw'"),
        (lambda: int.bit(3), r": topology star fails: test_topology_key\.py:\d+: AttributeError: type object 'int'"),
    ],
)
def test_a_fault_of_a_topologys_module_is_told_with_its_line_and_the_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Any, told: str
) -> None:
    monkeypatch.setattr(Broken, "found", staticmethod(found))
    monkeypatch.setitem(known(), "star", Broken)
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, topology="star")
    lines = str(caught.value).splitlines()
    assert [line for line in lines if re.search(rf"scenario\.yaml:\d+: topology{told}", line)]
    assert all(line.startswith(f"{tmp_path}/scenario.yaml:") for line in lines)


def profile(**settings: Any) -> LinkProfile:
    about = {"name": "made", "description": "d", "source": "s", "medium": "duplex", "rate": "10 Mbit/s"}
    return LinkProfile.model_validate(about | settings)


def plans(network: LinkProfile, folder: Path, **settings: Any) -> dict[str, linkplan.LinkPlan]:
    cell = scenario(folder, stations=4, **settings).settings
    first = segments.first_profile(cell, network)
    stations = segments.topology_plan(cell).emulated[0].stations
    made = linkplan.plan(first, stations, seed=1, seconds=5, timeline_s=5, made_by="line")
    links = {name: library.load(name) for _, name in cell.topology.profiles()}
    return {"first": made} | segments.further_plans(cell, network, links, made)


def test_each_medium_has_its_stations_settings_and_losses_of_its_own(tmp_path: Path) -> None:
    network = profile(
        loss=0.1,
        stations={"sta2": {"rate": "1 Mbit/s"}},
        timeline=[{"at": 1, "outage": 1, "stations": ["sta1"]}, {"at": 3, "outage": 1}],
    )
    found = plans(network, tmp_path, topology={"kind": "cells", "cells": 2})
    assert {name: plan.groups for name, plan in found.items()} == {
        "first": (("sta1", "sta3"),), "cell2": (("sta4",), ("sta2",)),
    }  # fmt: skip
    assert [len(plan.profile.timeline) for plan in found.values()] == [2, 1]
    assert len({plan.losses[0].digest for plan in found.values()}) == 2


FAST, FAR, WIRE = library.load("wireline-1g"), profile(delay="20 ms"), profile(rate="30 Mbit/s")


def by_line(folder: Path, link: LinkProfile, *, routers: int = 1, network: LinkProfile = FAR, **how: Any) -> list[str]:
    """The segments of a chain that the line makes."""
    topology = CHAIN | {"routers": routers}
    cell = scenario(folder, topology=topology).settings
    return list(segments.carried(cell, network, {"wireline-10m": link}, **how))


def test_a_link_is_made_by_what_makes_the_medium_where_that_can(tmp_path: Path) -> None:
    assert by_line(tmp_path, FAR, first="line", has_netem=False) == ["medium", "link1"]
    assert by_line(tmp_path, FAST, first="line", has_netem=True) == ["medium"]
    assert by_line(tmp_path, FAR, first="tc", has_netem=False, network=WIRE) == ["link1"]
    assert by_line(tmp_path, FAR, first="tc", has_netem=True) == []


def test_links_are_the_lines_as_long_as_it_carries_all_of_the_trial_together(tmp_path: Path) -> None:
    assert len(by_line(tmp_path, WIRE, routers=2, first="line", has_netem=True)) == 3
    assert by_line(tmp_path, WIRE, routers=9, first="line", has_netem=True) == ["medium"], "equal links are equal"
    far = profile(rate="30 Mbit/s", delay="20 ms")
    assert len(by_line(tmp_path, far, routers=9, first="line", has_netem=False)) == 10, "what only it can do it has to"


def test_what_only_tc_can_make_is_never_the_lines(tmp_path: Path) -> None:
    bursts, far = profile(rate="1 Mbit/s", burst_bytes=20_000), profile(burst_bytes=20_000, delay="20 ms")
    for has_netem in (True, False):
        assert by_line(tmp_path, bursts, first="line", has_netem=has_netem) == ["medium"]
        assert by_line(tmp_path, far, first="tc", has_netem=has_netem, network=WIRE) == []
    made = plans(profile(), tmp_path, topology=CHAIN)
    assert [one.made_by for one in made.values()] == ["line"] * 3
    cell = scenario(tmp_path, topology=CHAIN).settings
    found = segments.further_plans(cell, profile(), {"wireline-10m": bursts}, made["first"])
    assert [one.made_by for one in found.values()] == ["tc"] * 2


def test_who_insists_on_the_line_is_told_of_a_link_that_it_cannot_make(tmp_path: Path) -> None:
    about = {"name": "one", "description": "d", "source": "s", "medium": "duplex", "rate": "10 Mbit/s"}
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(about | {"burst_bytes": 20_000}))
    wires = {"kind": "chain", "link": "wireline-10m", "links": {"link2": "one.yaml"}, "routers": 2}
    with pytest.raises(
        ScenarioError, match=r":\d+: medium: 'line': the line cannot make link2 \(one.yaml\), which has"
    ):
        scenario(tmp_path, network="nistnet-80211", topology=wires, medium="line")
    assert scenario(tmp_path, network="nistnet-80211", topology=wires).settings.medium == "auto"


def test_all_media_of_stations_are_made_by_the_same(tmp_path: Path) -> None:
    cell = scenario(tmp_path, stations=4, topology={"kind": "cells", "cells": 4}).settings
    network = profile(rate="40 Mbit/s")
    found = segments.carried(cell, network, {}, first="line", has_netem=True)
    assert list(found) == ["cell1", "cell2", "cell3", "cell4"]
    assert tuple(found.values()) == segments.media(cell, network)
    assert [one.stations for one in found.values()] == [1, 1, 1, 1]


def test_a_line_that_cannot_carry_all_media_is_refused_with_its_line_and_all_figures(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    cells = {"stations": 3, "medium": "line", "topology": {"kind": "cells", "cells": 3}}
    path.write_text(yaml.safe_dump(SMALL | cells, sort_keys=False))
    with pytest.raises(ScenarioError) as caught:
        load(path)
    (line,) = [number for number, text in enumerate(path.read_text().splitlines(), 1) if text.startswith("medium")]
    told = str(caught.value)
    assert told.startswith(f"{path}:{line}: medium: 'line': the line, one process for a trial, carries 50,000 frames/s")
    assert "the trial's 3 links have up to 74,306 together (3 of profile 'wireline-100m' with 1 station, each" in told


def test_who_insists_on_the_line_is_told_of_links_that_it_would_leave_to_tc(tmp_path: Path) -> None:
    wires = {"kind": "chain", "routers": 2, "link": "wireline-100m"}
    with pytest.raises(ScenarioError, match=r"medium: 'line': beside .* no room for link1, link2 \(wireline-100m\)"):
        scenario(tmp_path, network="nistnet-80211", topology=wires, medium="line")
    assert scenario(tmp_path, network="nistnet-80211", topology=wires).settings.medium == "auto"


def test_frames_to_a_group_are_the_media_s_and_not_the_links(tmp_path: Path) -> None:
    cell = scenario(tmp_path, stations=4, topology={"kind": "cells", "cells": 2, "backbone": "wireline-10m"}).settings
    plan = linkplan.plan(
        profile(), ["sta1", "sta3"], seed=1, seconds=5, timeline_s=5, made_by="line", group_frames=True
    )  # fmt: skip
    found = segments.further_plans(cell, profile(), {"wireline-10m": library.load("wireline-10m")}, plan)
    assert {name: one.group_frames for name, one in found.items()} == {"cell2": True, "link1": False, "link2": False}


def test_connecting_may_take_as_long_as_all_links_of_the_longest_path_together(tmp_path: Path) -> None:
    far = profile(delay="300 ms")
    star, chain = (
        connect_time_of(scenario(tmp_path, topology=topology).settings, profile(), {"wireline-10m": far}, kernel="host")
        for topology in ("star", CHAIN)
    )
    assert star == connect_time(scenario(tmp_path).settings, profile(), kernel="host")
    assert chain.expected_s > star.expected_s + 2 * 4 * 0.6
    assert chain.client_s > star.client_s


def test_a_path_that_turns_on_a_medium_is_not_proven_and_is_told() -> None:
    hosts = (Host(name="sta1", role="station"), Host(name="server", role="server"), Host(name="r1", role="router"))
    air = Segment(name="air", profile="lte", stations=("sta1", "server"), wired=("r1",))
    (problem,) = segments.unproven(segments.load_paths(TopologyPlan(hosts=hosts, segments=(air,))))
    assert problem.startswith("the path from sta1 to server goes from sta1 to server on segment air, which no proof")


def test_settings_for_single_stations_are_none_of_a_link(tmp_path: Path) -> None:
    rate = {"medium": "duplex", "rate": "10 Mbit/s", "stations": {"sta1": {"rate": "1 Mbit/s"}}}
    one = {"name": "one", "description": "d", "source": "s"} | rate
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(one))
    with pytest.raises(ScenarioError, match=r"topology\.link: profile 'one' has settings for single stations"):
        scenario(tmp_path, topology={"kind": "chain", "link": "one.yaml"})


def test_every_segments_ports_are_recorded_and_those_of_links_say_so() -> None:
    link = linkplan.plan(profile(), ["sta1"], seed=1, seconds=1, timeline_s=1)
    plan = capture_plan(CaptureSettings(), [link], unbuilt(1, {"kind": "chain", "routers": 1, "link": "wire"}))
    assert [(place.tap.port, place.point, place.node, place.link) for place in plan.places] == [
        ("wired-medium", "wired", "r1", ""),
        ("port-sta1", "station", "sta1", ""),
        ("sta1-eth", "client", "sta1", ""),
        ("wired-link1", "wired", "server", "link1"),
        ("server-eth", "server", "server", "link1"),
        ("port-link1", "station", "r1", "link1"),
    ]


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_scenarios_that_show_topologies_can_be_run(path: Path) -> None:
    found = load(path)
    assert found.name == path.stem
    for cell in found.cells:
        assert list(segments.problems(cell.settings)) == []
