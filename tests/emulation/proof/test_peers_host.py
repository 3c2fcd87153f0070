"""Ways between stations by this machine's own kernel, by the line and by tc: as asked, and proven to be."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from emulated_links import SHORT, broken, profile, until_it_holds
from line_worlds import BROADCAST, between, wire

from emulation.kernel.namespace import KernelError
from emulation.link.capture import SETTLE_S, Tap, captured
from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import MediumName, Via
from emulation.proof.bypass import bypass_checks
from emulation.proof.peerproof import PeerEnds, probe_peers
from emulation.proof.probe import MIN_FRAME
from emulation.proof.stateproof import LaterState, later_states, proof_plan, prove_state
from emulation.proof.trialproof import loss_checks
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck
from topologies.network import Network, ends_of, peer_ends
from topologies.peers import peers
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]
Settings = dict[str, Any]
LOSSES: Settings = {"uplink": {"loss": 0.1}, "downlink": {"loss": 0.2}}
VIAS: tuple[Via, ...] = ("access-point", "ad-hoc")


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with peers(stations=3, congestion_control="reno") as built:
        yield built


def planned(made_by: MediumName, via: Via = "access-point", *, seed: int = 1, **settings: Any) -> LinkPlan:
    return linkplan.plan(
        profile(**settings), ["sta1", "sta2", "sta3"], seed=seed, seconds=10, timeline_s=10, made_by=made_by, via=via
    )  # fmt: skip


def prove(network: Network, asked: LinkPlan, made: LinkPlan | None = None) -> list[LinkCheck]:
    """Probe every way between groups of a link for what `asked` says, which is as `made` says."""
    pairs = permutations(network.ports.stations, 2)
    with applied(made or asked, network.ports) as link:
        first = link.stage_counts()
        ends = peer_ends(network, asked.groups, pairs)
        checks = list(probe_peers(asked, ends, SHORT, renumber=link.renumber))
        last = link.stage_counts()
    counted = loss_checks(asked.losses, last.losses) if not made else ()
    return [*checks, *counted, *(bypass_checks(first, last) if len(asked.groups) == 1 and not made else ())]


def of_all(checks: Sequence[LinkCheck]) -> set[str]:
    return {check.path for check in checks if check.source == "probe"}


@pytest.mark.parametrize("via", VIAS)
@pytest.mark.parametrize("made_by", ["line", "tc"])
def test_a_shared_medium_is_as_asked(network: Network, made_by: MediumName, via: Via) -> None:
    plan = planned(made_by, via, medium="shared", rate=2e6, frame_overhead=0.0002, **LOSSES)
    checks = until_it_holds(lambda: prove(network, plan))
    assert broken(checks) == set()
    assert of_all(checks) == {"sta1 to sta2"}
    assert {"delay", "rate", "losses", "bypass", "loss"} <= {check.quantity for check in checks}


def test_by_tc_a_frame_comes_out_of_the_wired_port_and_in_again(network: Network) -> None:
    with applied(planned("tc", rate=1e6), network.ports) as link, between(network, "sta1", "sta2") as path:
        before = link.stage_counts()
        assert len(path.send([MIN_FRAME] * 10, spacing_s=0.002).number) == 10
        after = link.stage_counts()
    assert {way: after.received[way] - before.received[way] for way in DIRECTIONS} == {"uplink": 10, "downlink": 10}
    assert dict(after.entered) == {"uplink": (10, 10), "downlink": (10, 10)}


@pytest.mark.parametrize("made_by", ["line", "tc"])
def test_a_capture_sees_a_frame_once_where_it_goes_up_and_once_where_it_has_come_down(
    network: Network, made_by: MediumName, tmp_path: Path
) -> None:
    taps = [Tap(pid=network.ports.pid, port=port) for port in network.ports.stations.values()]
    with (
        applied(planned(made_by, medium="shared", rate=1e6), network.ports),
        captured(taps, tmp_path, logs=tmp_path, snap_bytes=64) as captures,
        between(network, "sta1", "sta2") as path,
    ):
        assert len(path.send([MIN_FRAME] * 10, spacing_s=0.002).number) == 10
        time.sleep(SETTLE_S)
    assert [one.packets for one in captures] == [10, 10, 0]


@pytest.mark.parametrize(("via", "way"), [("access-point", "downlink"), ("ad-hoc", "uplink")])
@pytest.mark.parametrize("made_by", ["line", "tc"])
def test_nothing_reaches_a_station_that_is_out(network: Network, made_by: MediumName, via: Via, way: Direction) -> None:
    plan = planned(made_by, via, rate=1e6, timeline=[{"at": 1, "outage": 1, "stations": ["sta2"]}])
    with applied(plan, network.ports) as link, between(network, "sta1", "sta2", silence_s=0.2) as path:
        link.go_through([plan.steps[0].state])
        assert len(path.send([MIN_FRAME] * 5, spacing_s=0.002).number) == 0
        assert dict(link.stage_counts().dark) == {"uplink": 0, "downlink": 0} | {way: 5}
        link.go_through([plan.steps[1].state])
        assert len(path.send([MIN_FRAME] * 5, spacing_s=0.002).number) == 5


@pytest.mark.parametrize("made_by", ["line", "tc"])
def test_stations_with_settings_of_their_own_are_as_asked(network: Network, made_by: MediumName) -> None:
    own = {"sta3": {"uplink": {"rate": "1 Mbit/s", "loss": 0.3}}}
    plan = planned(made_by, medium="duplex", rate=2e6, stations=own, **LOSSES)
    checks = until_it_holds(lambda: prove(network, plan))
    assert broken(checks) == set()
    assert of_all(checks) == {"sta1 to sta2", "sta1 to sta3", "sta3 to sta1"}


def test_the_line_delays_and_draws_each_direction(network: Network) -> None:
    late: Settings = {"delay": 0.02, "jitter": 0.004, "duplicate": 0.05, "corrupt": 0.05}
    plan = planned("line", rate=4e6, uplink=late, downlink=late | {"delay": 0.01, "loss": 0.1})
    assert broken(until_it_holds(lambda: prove(network, plan))) == set()


@pytest.mark.parametrize("made_by", ["line", "tc"])
def test_a_link_that_does_something_else_is_found_out(network: Network, made_by: MediumName) -> None:
    """An ad-hoc link of another seed, where one through the access point was asked for."""
    settings: Settings = {"medium": "shared", "rate": 2e6} | LOSSES
    found = broken(prove(network, planned(made_by, **settings), planned(made_by, "ad-hoc", seed=2, **settings)))
    assert {"losses", "rate"} <= found


def test_later_states_are_proven_between_stations(network: Network) -> None:
    events = [{"at": 1, "change": {"uplink": {"loss": 0.3}}}, {"at": 2, "outage": 1, "stations": ["sta3"]}]
    plan = proof_plan(planned("line", rate=2e6, timeline=events), until_s=10)
    states = later_states(plan.profile, plan.groups, until_s=10, met=plan.directions)
    for state in states:
        there = [name for name in network.ports.stations if name not in state.path[-1].out]
        pairs = peer_ends(network, plan.groups, permutations(there, 2))

        def proven(state: LaterState = state, pairs: Sequence[PeerEnds] = pairs) -> list[LinkCheck]:
            return list(prove_state(plan, network.ports, state, partial(ends_of, network), pairs))

        checks = until_it_holds(proven)
        assert broken(checks) == set()
        assert checks
    assert [state.change for state in states] == ["uplink loss 0.3, at 1 s", "outage of sta3 begins, at 2 s"]


def test_frames_to_a_group_take_a_shared_air_once_and_reach_all(network: Network) -> None:
    asked = linkplan.plan(
        profile(medium="shared", rate=1e6), ["sta1", "sta2", "sta3"], seed=1, seconds=10, timeline_s=10,
        made_by="line", group_frames=True,
    )  # fmt: skip
    sender = bytes.fromhex(network.ports.macs["sta1"].replace(":", ""))
    with applied(asked, network.ports) as link, wire(network) as frames:
        frames.send("sta1", BROADCAST + sender + b"\x08\x00" + bytes(86))
        heard = {node.name: len(frames.heard(node.name)) for node in network.nodes}
        (air,) = link.queue_counts()
    assert heard == {"sta1": 0, "sta2": 1, "sta3": 1}
    assert air.packets == 2


def test_tc_refuses_with_words_what_it_cannot_do(network: Network) -> None:
    plan = replace(planned("tc", medium="shared", rate=1e6), group_frames=True)
    with pytest.raises(KernelError, match=r"frames to a group.*use medium line"), applied(plan, network.ports):
        pass
    with (
        star(stations=3, congestion_control="reno") as other,
        pytest.raises(KernelError, match=r"via ad-hoc.*use topology peers"),
        applied(planned("tc", "ad-hoc", rate=1e6), other.ports),
    ):
        pass
