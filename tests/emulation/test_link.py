"""The access point on the real kernel: profiles hold, and a link that does not hold is found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from emulated_links import until_it_holds

from emulation import library, linkplan, loss, losstable, shaper
from emulation.linkplan import LinkPlan
from emulation.namespace import KernelError, run_tool
from emulation.probe import MIN_FRAME, probe_path
from emulation.profile import LinkProfile
from emulation.proof import Ends, loss_checks, probe_link
from results.link import LinkCheck
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.alone]

QUANTITIES = ("delay", "rate", "reordered", "losses", "duplicates")
NISTNET, WIRELINE = library.load("nistnet-80211"), library.load("wireline-100m")


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


def ends(network: Network) -> Ends:
    station, server = network.stations[0], network.servers[0]
    return Ends(
        station_pid=station.pid,
        station_address=station.address,
        wired_pid=server.pid,
        wired_address=server.address,
    )


def plan_of(network: Network, profile: LinkProfile, seed: int = 1) -> LinkPlan:
    return linkplan.plan(profile, list(network.ports.stations), seed=seed, seconds=10, timeline_s=10)


def broken(checks: Sequence[LinkCheck]) -> set[str]:
    return {check.quantity for check in checks if not check.holds}


@pytest.mark.parametrize("profile", [NISTNET, WIRELINE], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_profile_of_the_library_holds(network: Network, profile: LinkProfile, seed: int) -> None:
    plan, counted = plan_of(network, profile, seed), []

    def probe() -> list[LinkCheck]:
        with shaper.applied(plan, network.ports) as link:
            checks = probe_link(plan, {0: ends(network)})
            counted[:] = loss_checks(plan.losses, link.loss_counts())
        return list(checks)

    checks = until_it_holds(probe)
    assert broken(checks) == set(), [check for check in checks if not check.holds]
    assert {(check.quantity, check.direction) for check in checks} == {
        (quantity, way) for quantity in QUANTITIES for way in loss.DIRECTIONS
    }
    assert all(check.holds for check in counted)


def test_a_slower_link_than_asked_is_found_out(network: Network) -> None:
    slower = LinkProfile.model_validate(NISTNET.model_dump() | {"rate": 9e5, "uplink": {}, "downlink": {}})
    with shaper.applied(plan_of(network, slower), network.ports):
        asked = LinkProfile.model_validate(NISTNET.model_dump() | {"rate": 1e6, "uplink": {}, "downlink": {}})
        assert "rate" in broken(probe_link(plan_of(network, asked), {0: ends(network)}))


def test_other_losses_than_listed_are_found_out(network: Network) -> None:
    with shaper.applied(plan_of(network, NISTNET, seed=1), network.ports) as link:
        asked = plan_of(network, NISTNET, seed=2)
        assert "losses" in broken(probe_link(asked, {0: ends(network)}))
        counted = loss_checks(asked.losses, link.loss_counts())
    assert not all(check.holds for check in counted)


def test_an_unshaped_link_is_found_out(network: Network) -> None:
    bare = LinkProfile.model_validate({"name": "bare", "description": "d", "source": "s", "medium": "duplex"})
    with shaper.applied(plan_of(network, bare), network.ports):
        # At 100 Mbit/s most frames go at a pace 2 % above the rate, which a busy machine may not keep: those of a slow
        # link all wait in its queue.
        assert "rate" in broken(probe_link(plan_of(network, NISTNET), {0: ends(network)}))


def arrived(network: Network, seed: int) -> list[int]:
    """Which of 3,000 uplink packets arrive."""
    bare = LinkProfile.model_validate(
        {"name": "lossy", "description": "d", "source": "s", "medium": "duplex", "loss": 0.03}
    )
    where = ends(network)
    with (
        shaper.applied(plan_of(network, bare, seed), network.ports),
        probe_path(from_pid=where.station_pid, to_pid=where.wired_pid, to_address=where.wired_address) as path,
    ):
        path.wait(2)
        return path.send([MIN_FRAME] * 3000).number.tolist()


def test_the_same_seed_drops_the_same_packets_on_two_runs(network: Network) -> None:
    first, again, other = arrived(network, 11), arrived(network, 11), arrived(network, 12)
    assert first == again
    assert first != other
    listed = set(plan_of(network, NISTNET, 11).losses[0].indices[:200].tolist())
    assert set(range(3000)) - set(first) == {index for index in listed if index < 3000}


def rate_of_both(network: Network) -> float:
    """The rate (bit/s) of a burst each way at the same time, both counted, on a link of 1 Mbit/s."""
    where = ends(network)
    clean = LinkProfile.model_validate(
        NISTNET.model_dump() | {"uplink": {"loss": 0, "rate": 1e6}} | {"downlink": {"loss": 0, "rate": 1e6}}
    )
    with (
        shaper.applied(plan_of(network, clean), network.ports) as link,
        probe_path(from_pid=where.station_pid, to_pid=where.wired_pid, to_address=where.wired_address) as up,
        probe_path(from_pid=where.wired_pid, to_pid=where.station_pid, to_address=where.station_address) as down,
    ):
        up.wait(1.0)
        down.wait(1.0)
        up.hand_over([1514] * 20)
        down.hand_over([1514] * 20)
        arrivals = [up.collect(20), down.collect(20)]
        assert [queue.name for queue in link.queue_counts()] == ["air"]
    last = max(int(one.received_ns.max()) for one in arrivals)
    first = min(int(one.received_ns.min()) for one in arrivals)
    return 39 * 1514 * 8 / ((last - first) / 1e9)


def test_both_directions_share_one_medium(network: Network) -> None:
    """A burst each way at the same time takes as long as both after one another; a stall can spoil a measurement."""
    asked = pytest.approx(1e6, rel=0.05)
    found: list[float] = []
    while len(found) < 5 and asked not in found:
        found.append(rate_of_both(network))
    assert asked in found, found


def test_everything_is_taken_off_again(network: Network) -> None:
    with shaper.applied(plan_of(network, NISTNET), network.ports):
        assert "htb" in run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert "htb" not in run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert "clsact" not in run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert run_tool(["nft", "list", "ruleset"], pid=network.ports.pid) == ""


def test_applying_twice_is_refused_and_leaves_the_first_in_force(network: Network) -> None:
    with shaper.applied(plan_of(network, NISTNET), network.ports) as link:
        with pytest.raises(KernelError), shaper.applied(plan_of(network, WIRELINE), network.ports):
            pass
        assert link.queue_counts()[0].name == "air"


def test_the_loss_program_counts_ip_packets_only(network: Network) -> None:
    text = losstable.program(plan_of(network, NISTNET), network.ports)
    assert text.count("ether type { ip, ip6 }") == 2
    assert text.count("_dropped drop") == 2
    assert "_dropped drop" not in losstable.program(plan_of(network, WIRELINE), network.ports)
