"""Which connection is whose, in the journey: captures written packet by packet, answers known beforehand."""

from __future__ import annotations

from pathlib import Path

from journey_world import CONSUMER_PORT, DOWN, PRODUCER_PORT, UP, WHOLE, World, one_message, parts_ms
from pcap_files import ACK, SYN

from records.manifest import Consumer, Producer


def consumers(*ports: int) -> tuple[Consumer, ...]:
    return tuple(Consumer(id=10 + n, node="sta2", topic=0, ports=(port,)) for n, port in enumerate(ports))


def two_copies(world: World, ports: tuple[int, int]) -> None:
    text = world.publish(0, at_ms=0)
    world.send(up=True, seq=1, payload=UP + text, t=(2, 12, 12.5))
    world.send(up=False, seq=1, payload=DOWN + text, t=(15, 15.25, 35), port=ports[0])
    second = 1 + (len(DOWN) + len(text)) * (ports[0] == ports[1])
    world.send(up=False, seq=second, payload=DOWN + text, t=(16, 16.25, 45), port=ports[1])
    world.deliver(0, at_ms=40, consumer=10)
    world.deliver(0, at_ms=50, consumer=11)


def test_each_consumer_s_own_connection_has_its_copy(tmp_path: Path) -> None:
    world = World(consumers=consumers(50001, 50002))
    two_copies(world, (50001, 50002))
    assert parts_ms(world.journey(tmp_path)) == [WHOLE, WHOLE | {"broker": 3.5, "downlink_air": 28.75}]


def test_two_consumers_on_one_connection_are_not_told_apart(tmp_path: Path) -> None:
    world = World(consumers=consumers(50001, 50001))
    two_copies(world, (50001, 50001))
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.ambiguous) == (0, 2)


def test_a_redelivery_on_the_same_connection_is_the_later_copy(tmp_path: Path) -> None:
    world = World(consumers=consumers(50001))
    two_copies(world, (50001, 50001))
    world.delivered[1]["consumer"] = 10
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_a_copy_more_than_deliveries_is_not_guessed(tmp_path: Path) -> None:
    world = World(consumers=consumers(50001))
    two_copies(world, (50001, 50001))
    del world.delivered[1]
    assert world.journey(tmp_path).account.ambiguous == 1


def test_without_the_connections_ports_nothing_is_guessed(tmp_path: Path) -> None:
    world = World(consumers=(Consumer(id=10, node="sta2", topic=0),), producers=(Producer(id=1, node="sta1", topic=0),))
    one_message(world)
    found = world.journey(tmp_path)
    assert found.account.attributed == 0
    assert "which connection is which client's" in found.why


def test_another_connection_with_the_same_ports_is_not_guessed(tmp_path: Path) -> None:
    world = World()
    one_message(world)
    for seq, at in ((900, 0.5), (77, 60)):
        world.send(up=True, seq=seq, payload=b"", t=(at, at + 1, at + 1), flags=SYN)
    found = world.journey(tmp_path)
    assert found.account.attributed == 0


def test_an_attempt_to_connect_that_was_refused_is_no_other_connection(tmp_path: Path) -> None:
    world = World()
    for seq, at in ((77, -9), (999, -3), (999, -2)):
        world.send(up=True, seq=seq, payload=b"", t=(at, at + 0.5, at + 0.5), flags=SYN)
    one_message(world)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_a_connection_that_opens_inside_the_capture_counts_its_syn(tmp_path: Path) -> None:
    world = World()
    world.send(up=True, seq=999, payload=b"", t=(-3, -2, -2), flags=SYN)
    world.send(up=False, seq=4999, payload=b"", t=(-2, -2, -1), flags=SYN | ACK)
    one_message(world)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_a_reconnected_consumer_has_both_its_ports(tmp_path: Path) -> None:
    world = World(consumers=(Consumer(id=10, node="sta2", topic=0, ports=(CONSUMER_PORT, CONSUMER_PORT + 1)),))
    one_message(world)
    later = world.publish(1, at_ms=100)
    world.send(up=True, seq=1114, payload=UP + later, t=(102, 112, 112.5))
    world.send(up=False, seq=1, payload=DOWN + later, t=(115, 115.25, 135), port=CONSUMER_PORT + 1)
    world.deliver(1, at_ms=140)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE, WHOLE]


def test_a_marker_on_another_connection_of_the_station_is_not_the_producer_s(tmp_path: Path) -> None:
    world = World(producers=(Producer(id=1, node="sta1", topic=0, ports=(PRODUCER_PORT + 9,)),))
    one_message(world)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.no_uplink_marker) == (0, 1)
