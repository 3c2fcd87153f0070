"""Stations without a server: built, connected, and turned at the wired port."""

from __future__ import annotations

from itertools import permutations

import pytest
from unbuilt import unbuilt

from emulation.proof.probe import MIN_FRAME, probe_path
from topologies.network import peer_ends, probe_ends
from topologies.peers import peers
from topologies.star import MAX_STATIONS, star

pytestmark = [pytest.mark.root, pytest.mark.link]


def test_sixty_four_peers_reach_one_another() -> None:
    """How long they take to stand: `python benchmarks/emulation_accuracy.py`."""
    with peers(stations=64, congestion_control="reno") as network:
        assert network.servers == ()
        assert len(network.stations) == len(network.ports.stations) == 64
        for sender, receiver in (("sta1", "sta64"), ("sta64", "sta1"), ("sta17", "sta42")):
            to = network.node(receiver)
            with probe_path(from_pid=network.node(sender).pid, to_pid=to.pid, to_address=to.address) as path:
                path.wait(0.5)
                assert len(path.send([MIN_FRAME] * 3).number) == 3


@pytest.mark.parametrize("stations", [0, 1, MAX_STATIONS + 1])
def test_an_impossible_number_of_peers_is_refused(stations: int) -> None:
    with pytest.raises(ValueError, match=f"not {stations}"), peers(stations=stations, congestion_control="reno"):
        pass


def test_peers_have_no_ends_at_a_wired_side() -> None:
    with peers(stations=2, congestion_control="reno") as network:
        assert probe_ends(network, [["sta1", "sta2"]]) == {}
    with star(stations=1, congestion_control="reno") as network:
        assert list(probe_ends(network, [["sta1"]])) == [0]


def test_each_two_groups_that_a_load_is_of_have_a_way_that_is_probed() -> None:
    network, groups = unbuilt(4, "peers"), [["sta1", "sta2"], ["sta3"], ["sta4"]]
    found = peer_ends(network, groups, [("sta1", "sta2"), ("sta2", "sta1"), ("sta1", "sta4"), ("sta2", "sta4")])
    assert [(one.sender, one.receiver) for one in found] == [("sta1", "sta2"), ("sta1", "sta4")]
    assert (found[1].sends.pid, found[1].receives.address) == (100, "10.77.0.4")


def test_of_many_groups_each_sends_and_receives_at_least_once() -> None:
    names = [f"sta{number}" for number in range(1, 31)]
    found = peer_ends(unbuilt(30, "peers"), [[], *([name] for name in names)], permutations(names, 2))
    assert {one.sender for one in found} == {one.receiver for one in found} == set(names)
    assert len(found) <= 2 * len(names)
