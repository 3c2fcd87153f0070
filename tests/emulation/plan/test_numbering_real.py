"""What is numbered, and when: after the queue and the air in both directions, and through outages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from emulated_links import broken, link, path

from emulation.kernel.nft import Nft
from emulation.proof.bypass import bypass_checks
from emulation.proof.probe import MIN_FRAME, probe_path
from emulation.proof.trialproof import loss_checks
from emulation.tc.losstable import TABLE, LossCount
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root]

BURST, LISTED, TRIES = 30, (2, 14, 16), 6

RECORD = {"model": "recorded", "packets": 50, "lost": (3, 4, 5, 49)}
OUTAGE = [{"at": 1, "outage": 1}]
OF_STA2 = [{"at": 1, "outage": 1, "stations": ["sta2"]}]
FRAME = 1000


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


def through_an_outage(
    network: Network, direction: Direction, *faults: str
) -> tuple[list[int], LossCount, int, set[str]]:
    """Which of 60 packets arrive of which the 11th to the 50th are sent into an outage; what was counted, what not.

    faults: programs of nft, run when the outage begins.
    """
    with (
        link(network, loss=RECORD, timeline=OUTAGE) as made,
        path(network, direction) as probe,
        Nft(network.ports.pid) as nft,
    ):
        first, arrived = made.stage_counts(), []
        begins, ends = made.plan.steps
        for packets, states in ((10, (begins.state,)), (40, (ends.state,)), (10, ())):
            arrived += probe.send([MIN_FRAME] * packets, spacing_s=0.001).number.tolist()
            made.go_through(states)
            for fault in faults if begins.state in states else ():
                nft.run(fault)
        last = made.stage_counts()
        checks: list[LinkCheck] = [*bypass_checks(first, last), *loss_checks(made.plan.losses, last.losses)]
    (count,) = (one for one in last.losses if one.direction == direction)
    return arrived, count, last.dark[direction], broken(checks)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_packets_of_an_outage_have_numbers_and_meet_their_list_first(network: Network, direction: Direction) -> None:
    arrived, count, dark, wrong = through_an_outage(network, direction)
    assert arrived == [*range(3), *range(6, 10), *range(50, 53), *range(56, 60)]
    assert (count.seen, count.dropped, dark) == (60, 7, 39), "the 50th is on the list, and no loss of the outage"
    assert wrong == set()


def test_an_outage_that_takes_packets_before_they_have_numbers_is_found_out(network: Network) -> None:
    fault = f'insert rule bridge {TABLE} uplink iifname "port-sta1" goto dark_uplink'
    arrived, count, dark, wrong = through_an_outage(network, "uplink", fault)
    assert (arrived[-1], count.seen, dark) == (9, 10, 50)
    assert wrong == {"bypass"}


def test_an_outage_of_one_station_takes_its_packets_and_no_others(network: Network) -> None:
    """They share a list: those of both are numbered as they come."""
    with (
        link(network, loss=RECORD, timeline=OF_STA2) as made,
        path(network, station="sta1") as one,
        path(network, station="sta2") as other,
    ):
        made.go_through([made.plan.steps[0].state])
        assert one.send([MIN_FRAME] * 2).number.tolist() == [0, 1]
        other.wait(0.1)
        assert len(other.send([MIN_FRAME] * 6, spacing_s=0.001).number) == 0
        assert one.send([MIN_FRAME] * 2).number.tolist() == [2, 3]
        made.go_through([made.plan.steps[1].state])
        assert other.send([MIN_FRAME] * 2).number.tolist() == [6, 7]
        counts = made.stage_counts()
    assert (counts.losses[0].seen, counts.losses[0].dropped, counts.dark["uplink"]) == (12, 3, 3)


def lost_of_what_left(arrived: Sequence[int], burst: int, listed: Sequence[int]) -> bool:
    """Whether of two bursts, each of which overflowed a queue, those are missing that the list names, by what left it.

    The first of each burst went into the queue, one after the other, until that was full.
    """
    first = [number for number in arrived if number < burst]
    left = [*range(first[-1] + 1), *range(burst, max(arrived) + 1)]
    return list(arrived) == [number for place, number in enumerate(left) if place not in listed]


def arrived_of_two_bursts(network: Network, direction: Direction, medium: str) -> list[int]:
    """The packets of two bursts that overflow a queue which arrive, when the counters agree with the list."""
    losses = {"model": "recorded", "packets": 1000, "lost": LISTED}
    with (
        link(network, medium=medium, rate=1e6, queue_packets=8, loss=losses) as made,
        path(network, direction) as probe,
    ):
        probe.wait(0.3, in_order=False)
        arrived = [number for _ in range(2) for number in probe.send([FRAME] * BURST).number.tolist()]
        name = "air" if medium == "shared" else f"{direction}-0"
        (queue,) = (one for one in made.queue_counts() if one.name == name)
        (count,) = (one for one in made.loss_counts() if one.direction == direction)
    assert queue.dropped > BURST, "both bursts overflowed the queue"
    assert queue.packets + queue.dropped == 2 * BURST
    assert (count.seen, count.dropped) == (queue.packets, 3)
    return arrived


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("medium", ["duplex", "shared"])
def test_losses_are_of_what_left_the_queue(network: Network, direction: Direction, medium: str) -> None:
    """Again when the machine was so slow that a burst did not come at once, and its packets found room later."""
    for _ in range(TRIES):
        arrived = arrived_of_two_bursts(network, direction, medium)
        if at_once := lost_of_what_left(arrived, BURST, LISTED):
            break
    assert at_once, arrived


def test_a_list_that_is_met_before_the_queue_names_other_packets() -> None:
    """As the downlink's was: numbers of what was sent are numbers of what left until the first queue overflows."""
    after = [0, 1, *range(3, 10), *range(30, 34), 35, *range(37, 40)]
    assert lost_of_what_left(after, 30, (2, 14, 16))
    before = [0, 1, *range(3, 11), *range(30, 40)]
    assert not lost_of_what_left(before, 30, (2, 14, 16))


def test_a_frame_from_station_to_station_goes_up_and_down(network: Network) -> None:
    one, other = network.node("sta1"), network.node("sta2")
    with (
        link(network, rate=1e6, loss=RECORD) as made,
        probe_path(from_pid=one.pid, to_pid=other.pid, to_address=other.address) as probe,
    ):
        probe.wait(0.3)
        arrived = probe.send([FRAME] * 20)
        queues = {queue.name: queue.packets for queue in made.queue_counts()}
        counts = [(count.direction, count.seen, count.dropped) for count in made.loss_counts()]
    assert queues == {"uplink-0": 20, "downlink-0": 0, "uplink-1": 0, "downlink-1": 14}
    assert counts == [("uplink", 20, 3), ("downlink", 17, 3)]
    assert arrived.number.tolist() == [0, 1, 2, *range(9, 20)]
