from __future__ import annotations

import pytest
from pydantic import ValidationError
from shapes import plan_of

from topologies import topology
from topologies.routes import Routes


def segments(stations: int = 4, **settings: object) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {one.name: (one.stations, one.wired) for one in plan_of(stations=stations, **settings).segments}


def test_kinds_are_found_by_their_modules() -> None:
    assert {"star", "cells", "chain", "tree", "mesh"} <= set(topology.known())


def test_a_star_puts_all_servers_on_the_wired_side() -> None:
    assert segments(2, kind="star", servers=2) == {"medium": (("sta1", "sta2"), ("server1", "server2"))}


def test_stations_are_dealt_out_to_cells_and_servers_to_their_places() -> None:
    assert segments(kind="cells", cells=2, servers=3, at="backbone cell2") == {
        "cell1": (("sta1", "sta3"), ("gw1",)),
        "cell2": (("sta2", "sta4"), ("gw2", "server2")),
        "backbone": ((), ("server1", "server3", "gw1", "gw2")),
    }


def test_a_backbone_with_a_profile_is_a_link_for_each_cell() -> None:
    plan = plan_of(kind="cells", cells=2, backbone="wire")
    assert [(one.name, one.profile) for one in plan.segments] == [
        ("cell1", "air"), ("cell2", "air"), ("link1", "wire"), ("link2", "wire"), ("backbone", None),
    ]  # fmt: skip


def test_a_chain_has_a_link_behind_each_router_and_single_ones_may_differ() -> None:
    plan = plan_of(1, kind="chain", routers=2, link="wire", links={"link2": "slow"})
    assert [(one.name, one.profile, one.stations, one.wired) for one in plan.segments] == [
        ("medium", "air", ("sta1",), ("r1",)),
        ("link1", "wire", ("r1",), ("r2",)),
        ("link2", "slow", ("r2",), ("server",)),
    ]


def test_a_chain_has_as_many_routers_as_a_packet_passes() -> None:
    longest = plan_of(1, kind="chain", routers=63, link="wire")
    assert len(Routes(longest).hops("sta1", "server")) == 64, "of which the sender's own is none to be counted down"
    for more in (64, 65):
        with pytest.raises(ValidationError, match="routers\n  Input should be less than or equal to 6"):
            plan_of(1, kind="chain", routers=more, link="wire")


def test_a_tree_has_stations_at_its_leaves_or_where_it_is_said() -> None:
    assert segments(kind="tree", servers=4, link="wire") == {
        "at-3": (("sta1", "sta3"), ("server3",)),
        "at-4": (("sta2", "sta4"), ("server4",)),
        "link2": (("server2",), ("server1",)),
        "link3": (("server3",), ("server1",)),
        "link4": (("server4",), ("server2",)),
    }
    assert next(iter(segments(kind="tree", link="wire", stations_at="server1"))) == "at-1"
    assert len(segments(kind="tree", servers=3, link="wire", stations_at="all")) == 5


def test_a_mesh_joins_each_to_each_or_in_a_ring_or_by_pairs() -> None:
    def links(joined: str) -> list[str]:
        return [name for name in segments(kind="mesh", servers=4, link="wire", joined=joined) if "link" in name]

    assert links("full") == ["link1-2", "link1-3", "link1-4", "link2-3", "link2-4", "link3-4"]
    assert links("ring") == ["link1-2", "link2-3", "link3-4", "link1-4"]
    assert links("1-2 4-2, 3-4") == ["link1-2", "link2-4", "link3-4"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "torus"}, f"'torus' is not one of {', '.join(topology.known())}"),
        (7, "a mapping with its kind"),
        ({"kind": "star", "servers": 0}, "greater than or equal to 1"),
        ({"kind": "star", "cells": 2}, "'cells' is no key of topology star, which has kind, servers"),
        ({"kind": "chain"}, "Field required"),
        ({"kind": "cells", "at": "cell3"}, "'cell3' is not one of backbone, cell1, cell2"),
        ({"kind": "cells", "at": "cell1", "translate": True}, "nobody outside of cell1 reaches a server in it"),
        ({"kind": "mesh", "servers": 3, "link": "wire", "joined": "1-4"}, "two of the servers 1 to 3"),
        ({"kind": {"star": 1}}, "is not one of"),
        ({"kind": "cells", "at": "backbone cell2"}, "2 places for servers, of which there are 1 .*at cell2"),
        ({"kind": "mesh", "servers": 3, "link": "wire", "joined": "full 1-2"}, "'full' says all of it"),
        ({"kind": "mesh", "servers": 3, "link": "wire", "joined": "some"}, "'some' is not full, ring, or a pair"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings: object, said: str) -> None:
    with pytest.raises((ValueError, ValidationError), match=said):
        topology.parse(settings)


@pytest.mark.parametrize(
    ("stations", "settings", "said"),
    [
        (2, {"kind": "cells", "cells": 3}, "3 media need 3 stations or more, not 2"),
        (4, {"kind": "chain", "link": "wire", "links": {"link2": "slow"}}, "'link2' is not one of link1"),
        (4, {"kind": "tree", "link": "wire", "stations_at": "server4"}, "stations_at: 'server4' is not one of"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(stations: int, settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plan_of(stations, **settings)
