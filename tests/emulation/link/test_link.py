"""The access point on the real kernel: profiles hold, and a link that does not hold is found out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest
from emulated_links import profile, until_it_holds

from emulation.kernel.namespace import KernelError, run_tool
from emulation.kernel.nft import Nft
from emulation.link import link
from emulation.plan import linkplan, loss
from emulation.plan.linkplan import LinkPlan
from emulation.profile import library
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from emulation.proof.bypass import bypass_checks
from emulation.proof.probe import MIN_FRAME, probe_path
from emulation.proof.proof import Ends, probe_link
from emulation.proof.trialproof import loss_checks
from emulation.tc import losstable, shaper
from emulation.tc.losstable import StageCount
from emulation.tc.player import playing
from records.link import LinkCheck
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]

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


def plan_of(network: Network, profile: LinkProfile, seed: int = 1, made_by: MediumName = "tc") -> LinkPlan:
    stations = list(network.ports.stations)
    return linkplan.plan(profile, stations, seed=seed, seconds=10, timeline_s=10, made_by=made_by)


def broken(checks: Sequence[LinkCheck]) -> set[str]:
    return {check.quantity for check in checks if not check.holds}


@pytest.mark.parametrize("profile", [NISTNET, WIRELINE], ids=lambda profile: profile.name)
def test_a_profile_of_the_library_holds(network: Network, made_by: MediumName, profile: LinkProfile) -> None:
    plan, counted = plan_of(network, profile, made_by=made_by), []

    def probe() -> list[LinkCheck]:
        with link.applied(plan, network.ports) as made:
            checks = probe_link(plan, {0: ends(network)})
            counted[:] = loss_checks(plan.losses, made.loss_counts())
        return list(checks)

    checks = until_it_holds(probe)
    assert broken(checks) == set(), [check for check in checks if not check.holds]
    assert {(check.quantity, check.direction) for check in checks} == {
        (quantity, way) for quantity in QUANTITIES for way in loss.DIRECTIONS
    }
    assert all(check.holds for check in counted)


def test_a_slower_link_than_asked_is_found_out(network: Network, made_by: MediumName) -> None:
    slower = LinkProfile.model_validate(NISTNET.model_dump() | {"rate": 9e5, "uplink": {}, "downlink": {}})
    with link.applied(plan_of(network, slower, made_by=made_by), network.ports):
        asked = LinkProfile.model_validate(NISTNET.model_dump() | {"rate": 1e6, "uplink": {}, "downlink": {}})
        assert "rate" in broken(probe_link(plan_of(network, asked, made_by=made_by), {0: ends(network)}))


def test_other_losses_than_listed_are_found_out(network: Network, made_by: MediumName) -> None:
    with link.applied(plan_of(network, NISTNET, 1, made_by), network.ports) as made:
        asked = plan_of(network, NISTNET, 2, made_by)
        assert "losses" in broken(probe_link(asked, {0: ends(network)}))
        counted = loss_checks(asked.losses, made.loss_counts())
    assert not all(check.holds for check in counted)


def test_an_unshaped_link_is_found_out(network: Network, made_by: MediumName) -> None:
    bare = LinkProfile.model_validate({"name": "bare", "description": "d", "source": "s", "medium": "duplex"})
    with link.applied(plan_of(network, bare, made_by=made_by), network.ports):
        # At 100 Mbit/s most frames go at a pace 2 % above the rate, which a busy machine may not keep: those of a slow
        # link all wait in its queue.
        found = broken(probe_link(plan_of(network, NISTNET, made_by=made_by), {0: ends(network)}))
        assert ({"rate"} if made_by == "tc" else {"rate", "delay"}) <= found


def test_a_link_whose_frames_do_not_pay_their_time_is_found_out(network: Network) -> None:
    """A bucket's rate is right, and it lets what finds an idle link through at once."""
    with link.applied(plan_of(network, NISTNET), network.ports):
        found = probe_link(plan_of(network, NISTNET, made_by="line"), {0: ends(network)})
    assert len([check for check in found if check.quantity == "delay" and not check.holds]) == 4, "small and full ones"


def arrived(network: Network, seed: int, made_by: MediumName) -> list[int]:
    """Which of 3,000 uplink packets arrive."""
    bare = LinkProfile.model_validate(
        {"name": "lossy", "description": "d", "source": "s", "medium": "duplex", "loss": 0.03}
    )
    where = ends(network)
    with (
        link.applied(plan_of(network, bare, seed, made_by), network.ports),
        probe_path(from_pid=where.station_pid, to_pid=where.wired_pid, to_address=where.wired_address) as path,
    ):
        path.wait(2)
        return path.send([MIN_FRAME] * 3000).number.tolist()


def test_the_same_seed_drops_the_same_packets_on_two_runs(network: Network, made_by: MediumName) -> None:
    first, again, other = (arrived(network, seed, made_by) for seed in (11, 11, 12))
    assert first == again
    assert first != other
    listed = set(plan_of(network, NISTNET, 11).losses[0].indices[:200].tolist())
    assert set(range(3000)) - set(first) == {index for index in listed if index < 3000}


def rate_of_both(network: Network, made_by: MediumName) -> float:
    """The rate (bit/s) of a burst each way at the same time, both counted, on a link of 1 Mbit/s."""
    where = ends(network)
    clean = LinkProfile.model_validate(
        NISTNET.model_dump() | {"uplink": {"loss": 0, "rate": 1e6}} | {"downlink": {"loss": 0, "rate": 1e6}}
    )
    with (
        link.applied(plan_of(network, clean, made_by=made_by), network.ports) as made,
        probe_path(from_pid=where.station_pid, to_pid=where.wired_pid, to_address=where.wired_address) as up,
        probe_path(from_pid=where.wired_pid, to_pid=where.station_pid, to_address=where.station_address) as down,
    ):
        up.wait(1.0)
        down.wait(1.0)
        up.hand_over([1514] * 20)
        down.hand_over([1514] * 20)
        arrivals = [up.collect(20), down.collect(20)]
        assert [queue.name for queue in made.queue_counts()] == ["air"]
    last = max(int(one.received_ns.max()) for one in arrivals)
    first = min(int(one.received_ns.min()) for one in arrivals)
    return 39 * 1514 * 8 / ((last - first) / 1e9)


def test_both_directions_share_one_medium(network: Network, made_by: MediumName) -> None:
    """A burst each way at the same time takes as long as both after one another; a stall can spoil a measurement."""
    asked = pytest.approx(1e6, rel=0.05)
    found: list[float] = []
    while len(found) < 5 and asked not in found:
        found.append(rate_of_both(network, made_by))
    assert asked in found, found


def test_everything_is_taken_off_again(network: Network) -> None:
    with shaper.applied(plan_of(network, NISTNET), network.ports):
        assert "htb" in run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert "htb" not in run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert "clsact" not in run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert run_tool(["nft", "list", "ruleset"], pid=network.ports.pid) == ""


def test_applying_twice_is_refused_and_leaves_the_first_in_force(network: Network) -> None:
    with shaper.applied(plan_of(network, NISTNET), network.ports) as made:
        with pytest.raises(KernelError), shaper.applied(plan_of(network, WIRELINE), network.ports):
            pass
        assert made.queue_counts()[0].name == "air"


def test_the_loss_program_counts_ip_packets_only(network: Network) -> None:
    text = losstable.program(plan_of(network, NISTNET), network.ports)
    hooks = text.count("type filter hook")
    assert hooks == 3
    assert text.count("ether type { ip, ip6 }") == 2 * hooks  # each direction's where packets come in, lists, outages
    assert text.count("_dropped drop") == 2
    assert "_dropped drop" not in losstable.program(plan_of(network, WIRELINE), network.ports)


OUTAGE = profile(timeline=[{"at": 0.2, "outage": 60}])


def passage(network: Network, *faults: str) -> tuple[int, dict[str, LinkCheck], StageCount]:
    """How many of 100 packets of which the last 50 are sent into an outage arrive, on a link without losses.

    And what the counters say then.  faults: of the loss stage, programs of nft.
    """
    where = ends(network)
    with (
        shaper.applied(linkplan.plan(OUTAGE, list(network.ports.stations), seed=1, seconds=9, timeline_s=9),
                       network.ports) as made,
        probe_path(from_pid=where.station_pid, to_pid=where.wired_pid, to_address=where.wired_address) as path,
        Nft(network.ports.pid) as nft,
        playing(made) as player,
    ):  # fmt: skip
        for fault in faults:
            nft.run(fault)
        path.wait(0.5)
        first = made.stage_counts()
        arrived = len(path.send([MIN_FRAME] * 50).number)
        player.start(time.monotonic_ns() - 10**9)
        while not player.played:
            time.sleep(0.01)
        arrived += len(path.send([MIN_FRAME] * 50).number)
        last = made.stage_counts()
    return arrived, {one.direction: one for one in bypass_checks(first, last)}, last


def test_a_link_that_loses_nothing_has_seen_what_came_and_what_its_outage_dropped(network: Network) -> None:
    arrived, checks, last = passage(network)
    assert arrived == 50
    assert checks["uplink"].holds
    assert checks["downlink"].holds
    assert checks["uplink"].detail == "100 of 100 packets met the loss stage, 50 of them an outage"
    assert (last.dark["uplink"], last.dark["downlink"]) == (50, 0)


@pytest.mark.parametrize(
    ("faults", "missing"),
    [
        ((f"flush chain bridge {losstable.TABLE} uplink",), 100),
        # Not even counted where packets come in: the port's own counter says that there were some.
        ((f"flush chain bridge {losstable.TABLE} uplink", f"flush chain bridge {losstable.TABLE} entered"), 100),
    ],
    ids=["past the losses", "past everything"],
)
def test_packets_that_are_led_past_outages_are_found_out(
    network: Network, faults: tuple[str, ...], missing: int
) -> None:
    arrived, checks, last = passage(network, *faults)
    assert arrived == 100
    assert all(check.holds for check in loss_checks(plan_of(network, OUTAGE).losses[:1], last.losses[:1]))
    assert not checks["uplink"].holds
    assert checks["uplink"].delivered == missing
    assert checks["downlink"].holds
