"""Frames to a group by the line: who hears them and what they take of the air is as foretold, else found out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from emulated_links import broken, profile, until_it_holds

from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import Via
from emulation.proof.groupproof import foretold, probe_group
from records.link import LinkCheck
from topologies.network import Network, station_ends
from topologies.peers import peers

pytestmark = [pytest.mark.root, pytest.mark.link]
STATIONS = ["sta1", "sta2", "sta3", "sta4"]
LOSSY = {"uplink": {"loss": 0.1}, "downlink": {"loss": 0.3}}


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with peers(stations=len(STATIONS), congestion_control="reno") as built:
        yield built


def planned(via: Via = "access-point", *, group_frames: bool = True, seed: int = 1, **settings: Any) -> LinkPlan:
    return linkplan.plan(
        profile(rate=2e6, **settings), STATIONS, seed=seed, seconds=10, timeline_s=10, made_by="line", via=via,
        group_frames=group_frames,
    )  # fmt: skip


def proven(network: Network, asked: LinkPlan, made: LinkPlan | None = None) -> list[LinkCheck]:
    with applied(made or asked, network.ports) as link:
        return list(probe_group(asked, link, station_ends(network, network.plan.emulated[0].name)))


@pytest.mark.parametrize("via", ["access-point", "ad-hoc"])
def test_on_a_shared_medium_each_takes_the_air_once_a_hop(network: Network, via: Via) -> None:
    plan = planned(via, medium="shared", stations={"sta3": {"downlink": {"loss": 0.5}}}, **LOSSY)
    checks = until_it_holds(lambda: proven(network, plan))
    assert broken(checks) == set()
    assert {one.quantity for one in checks} == {"group", "group_air"}
    assert 0 < checks[0].delivered < 20 * 3


def test_on_a_duplex_medium_each_copy_has_the_losses_of_its_receiver(network: Network) -> None:
    checks = until_it_holds(lambda: proven(network, planned(**LOSSY)))
    assert [(one.quantity, one.holds) for one in checks] == [("group", True)]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({"group_frames": False}, {"group_air"}),  # each copy is a frame of its own
        ({"seed": 7, "uplink": {"loss": 0.5}}, {"group", "group_air"}),
    ],
)
def test_a_medium_that_does_something_else_is_found_out(
    network: Network, made: dict[str, Any], found: set[str]
) -> None:
    asked = planned(medium="shared", uplink={"loss": 0.1})
    other = planned(**({"medium": "shared", "uplink": {"loss": 0.1}} | made))
    assert broken(proven(network, asked, other)) == found


def test_damaged_frames_are_not_counted_on(network: Network) -> None:
    plan = planned(medium="shared", downlink={"corrupt": 0.2})
    (check,) = until_it_holds(lambda: proven(network, plan))
    assert check.low == 1
    assert 1 <= check.delivered <= 60


def test_a_single_station_has_nobody_to_send_to(network: Network) -> None:
    alone = replace(planned(medium="shared"), groups=(("sta1",),))
    with applied(planned(medium="shared"), network.ports) as link:
        ends = station_ends(network, network.plan.emulated[0].name)
        assert probe_group(alone, link, {"sta1": ends["sta1"]}) == ()


def test_what_is_heard_follows_from_the_lists() -> None:
    assert foretold(planned(medium="shared"), "sta1", STATIONS) == (20, 60)
    assert foretold(planned("ad-hoc", medium="shared"), "sta2", STATIONS) == (0, 60)
    lossy = planned(medium="shared", **LOSSY)
    lost = {one.name: set(one.indices.tolist()) for one in lossy.losses}
    came = len(set(range(20)) - lost["uplink"])
    assert foretold(lossy, "sta1", STATIONS) == (came, len(set(range(3 * came)) - lost["downlink"]))
    assert came < 20
