"""The journey of a message: captures written packet by packet, answers known beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest
from journey_world import (
    CONSUMER_PORT,
    DOWN,
    OFFSET,
    PRODUCER_PORT,
    SECOND,
    UP,
    WHOLE,
    World,
    body,
    one_message,
    parts_ms,
)
from pcap_files import ACK, SYN

from records.manifest import Consumer, Producer
from records.messaging import BodyType
from stacks.openwire import bodies


def test_nothing_lost_gives_every_part_its_time(tmp_path: Path) -> None:
    world = World()
    one_message(world)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [WHOLE]
    assert found.copies == {"uplink": 1.0, "downlink": 1.0}
    assert found.why == ""
    assert found.account.attributed == found.account.deliveries == 1


def test_the_clocks_difference_is_taken_off(tmp_path: Path) -> None:
    world = World(offset_ns=OFFSET + 123 * SECOND + 456)
    one_message(world)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_sequence_numbers_may_wrap_inside_a_message(tmp_path: Path) -> None:
    world = World()
    first = world.publish(0, at_ms=0)
    payload = UP + first
    world.send(up=True, seq=2**32 - 50, payload=payload[:50], t=(1, 5, 5))
    world.send(up=True, seq=0, payload=payload[50:], t=(2, 12, 12.5))
    world.send(up=False, seq=2**32 - 1, payload=DOWN + first, t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_a_lost_packet_is_recovery_until_the_copy_that_arrives_leaves(tmp_path: Path) -> None:
    world = World()
    text = world.publish(0, at_ms=0)
    world.seen(world.packet(up=True, seq=1000, payload=UP + text), station=2)
    world.send(up=True, seq=1000, payload=UP + text, t=(202, 212, 212))
    world.send(up=False, seq=5000, payload=DOWN + text, t=(215, 215, 235))
    world.deliver(0, at_ms=240)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [
        {"client": 2, "uplink_recovery": 200, "uplink_air": 10, "broker": 3, "downlink_air": 20, "receiver": 5}
    ]
    assert found.copies == {"uplink": 2.0, "downlink": 1.0}


def test_a_message_waits_for_the_lost_one_before_it(tmp_path: Path) -> None:
    world = World()
    texts = [world.publish(seq, at_ms=seq) for seq in range(2)]
    for seq, text in enumerate(texts):
        world.send(up=True, seq=1000 + 113 * seq, payload=UP + text, t=(2 + seq, 12 + seq, 12 + seq))
    first, second = (DOWN + text for text in texts)
    world.seen(world.packet(up=False, seq=5000, payload=first), server=20, wired=20)
    world.send(up=False, seq=5000 + len(first), payload=second, t=(21, 21, 30))
    world.send(up=False, seq=5000, payload=first, t=(121, 121, 128))
    world.deliver(0, at_ms=130)
    world.deliver(1, at_ms=130)
    found = world.journey(tmp_path)
    common = {"uplink_air": 10, "downlink_air": 7, "receiver": 2, "client": 2}
    assert parts_ms(found) == [
        common | {"broker": 8, "downlink_recovery": 101},
        common | {"broker": 8, "downlink_recovery": 100},
    ]
    assert found.copies == {"uplink": 1.0, "downlink": 1.5}


def test_messages_in_one_segment_share_its_times(tmp_path: Path) -> None:
    world = World()
    texts = [world.publish(seq, at_ms=0) for seq in range(3)]
    world.send(up=True, seq=1, payload=b"".join(UP + text for text in texts), t=(2, 12, 12.5))
    world.send(up=False, seq=1, payload=b"".join(DOWN + text for text in texts), t=(15, 15.25, 35))
    for seq in range(3):
        world.deliver(seq, at_ms=40)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE] * 3


@pytest.mark.parametrize("cut", [1, 3, 4, 13, 23])
def test_a_marker_across_two_segments_is_found(tmp_path: Path, cut: int) -> None:
    world = World()
    text = world.publish(0, at_ms=0)
    up, down = UP + text, DOWN + text
    world.send(up=True, seq=1, payload=up[: len(UP) + cut], t=(1, 11, 11))
    world.send(up=True, seq=1 + len(UP) + cut, payload=up[len(UP) + cut :], t=(2, 12, 12.5))
    # The later part overtakes the earlier one.
    world.send(up=False, seq=1 + len(DOWN) + cut, payload=down[len(DOWN) + cut :], t=(15, 15.25, 20))
    world.send(up=False, seq=1, payload=down[: len(DOWN) + cut], t=(14, 14.25, 35))
    world.deliver(0, at_ms=40)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_a_marker_is_not_pieced_together_across_a_hole(tmp_path: Path) -> None:
    world = World()
    text = world.publish(0, at_ms=0)
    world.send(up=True, seq=1, payload=text[:10], t=(1, 11, 11))
    world.send(up=True, seq=12, payload=text[10:], t=(2, 12, 12.5))
    world.send(up=False, seq=1, payload=DOWN + text, t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.no_uplink_marker) == (0, 1)


def test_a_decoy_inside_a_body_is_no_marker(tmp_path: Path) -> None:
    world = World()
    decoy = body(0, sent_ns=world.ns(0) + 1)[:24]
    one_message(world, inside=decoy + b"AWR1")
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_a_message_that_stands_in_another_s_body_is_not_guessed(tmp_path: Path) -> None:
    world = World()
    text = one_message(world)
    other = world.publish(1, at_ms=50, inside=text[:24])
    world.send(up=True, seq=1114, payload=UP + other, t=(52, 62, 62))
    world.send(up=False, seq=5000 + len(DOWN) + 101, payload=DOWN + other, t=(65, 65, 85))
    world.deliver(1, at_ms=90)
    found = world.journey(tmp_path)
    assert found.account.ambiguous == 1
    assert [part["client"] for part in parts_ms(found)] == [2]
    assert "1 of 2 deliveries not attributed: 1 of which several copies may be the one" in found.why


def test_cut_packets_are_said_to_be_cut(tmp_path: Path) -> None:
    world = World(snap=54 + 20)
    one_message(world)
    found = world.journey(tmp_path)
    assert found.account.attributed == 0
    assert "at most 20 bytes of payload that were kept" in found.why


def test_a_marker_that_the_snap_length_keeps_is_enough(tmp_path: Path) -> None:
    world = World(snap=54 + len(DOWN) + 24)
    one_message(world)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_an_encrypted_payload_is_said_to_be_unreadable(tmp_path: Path) -> None:
    world = World()
    world.publish(0, at_ms=0)
    world.send(up=True, seq=1, payload=b"\x17\x03\x03" + bytes(100), t=(2, 12, 12))
    world.send(up=False, seq=1, payload=b"\x17\x03\x03" + bytes(120), t=(15, 15, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert found.account.attributed == 0
    assert "not plain text" in found.why
    assert "whole packets" in found.why


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


CHECKSUM = 14 + 20 + 16  # in a frame


@pytest.mark.parametrize(
    "damage", [{-1: 4}, {-1: 4, CHECKSUM: 0x1B, CHECKSUM + 1: 0x40}, {CHECKSUM: 1}, {47: 8}, {15: 2}, {3: 1}],
    ids=["payload", "payload, checksum written", "checksum", "TCP header", "IP header", "target"],
)  # fmt: skip
def test_a_damaged_packet_has_not_arrived(tmp_path: Path, damage: dict[int, int]) -> None:
    world = World(damaging=True)
    text = world.publish(0, at_ms=0)
    packet = world.packet(up=True, seq=1000, payload=UP + text)
    world.seen(packet, station=2)
    world.seen(packet, damage, wired=3, server=3)
    world.send(up=True, seq=1000, payload=UP + text, t=(102, 112, 112))
    world.send(up=False, seq=5000, payload=DOWN + text, t=(115, 115, 135))
    world.deliver(0, at_ms=140)
    (parts,) = parts_ms(world.journey(tmp_path))
    assert (parts["uplink_recovery"], parts["uplink_air"], parts["broker"]) == (100, 10, 3)


def test_damage_where_nobody_looks_does_no_harm(tmp_path: Path) -> None:
    world = World(damaging=True)
    text = world.publish(0, at_ms=0)
    packet = world.packet(up=True, seq=1000, payload=UP + text)
    world.seen(packet, station=2)
    # The network writes a checksum before it turns a bit, here one of the sender's hardware address.
    world.seen(packet, {7: 16, CHECKSUM: 0x1B, CHECKSUM + 1: 0x40}, wired=12, server=12.5)
    world.send(up=False, seq=5000, payload=DOWN + text, t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


def test_damage_that_cut_packets_cannot_show_is_not_guessed_at(tmp_path: Path) -> None:
    world = World(snap=54 + len(DOWN) + 24, damaging=True)
    one_message(world)
    found = world.journey(tmp_path)
    assert found.account.attributed == 0
    assert "damages packets" in found.why
    (tmp_path / "whole").mkdir()
    world.snap = 65535
    assert parts_ms(world.journey(tmp_path / "whole")) == [WHOLE]


def test_a_duplicate_of_the_network_changes_nothing(tmp_path: Path) -> None:
    world = World()
    text = world.publish(0, at_ms=0)
    packet = world.send(up=True, seq=1000, payload=UP + text, t=(2, 12, 12.5))
    world.seen(packet, wired=13, server=13)
    world.send(up=False, seq=5000, payload=DOWN + text, t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [WHOLE]
    assert found.copies["uplink"] == 1.0


def test_two_departures_that_cannot_be_told_apart_are_not_guessed(tmp_path: Path) -> None:
    world = World()
    text = world.publish(0, at_ms=0)
    packet = world.send(up=True, seq=1000, payload=UP + text, t=(2, 12, 12.5), ip_id=0)
    world.seen(packet, station=7)
    world.send(up=False, seq=5000, payload=DOWN + text, t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.incomplete) == (0, 1)


@pytest.mark.parametrize(("early_ms", "attributed"), [(0.9, 1), (1.1, 0)])
def test_times_may_contradict_each_other_by_a_millisecond(tmp_path: Path, early_ms: float, attributed: int) -> None:
    world = World()
    text = world.publish(0, at_ms=2 + early_ms)
    world.send(up=True, seq=1000, payload=UP + text, t=(2, 12, 12.5))
    world.send(up=False, seq=5000, payload=DOWN + text, t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.negative) == (attributed, 1 - attributed)


def test_without_the_server_s_port_the_wire_is_the_broker_s(tmp_path: Path) -> None:
    world = World(sides=("station", "wired"))
    one_message(world)
    found = world.journey(tmp_path)
    assert not found.wire_known
    assert parts_ms(found) == [{key: value for key, value in WHOLE.items() if key != "wire"} | {"broker": 3.25}]
    assert "includes the wire" in found.why


def test_the_client_s_own_port_is_preferred_to_the_access_point_s(tmp_path: Path) -> None:
    world = World(sides=("station", "wired", "server", "client"))
    text = world.publish(0, at_ms=0)
    sent = world.send(up=True, seq=1000, payload=UP + text, t=(3, 12, 12.5))
    world.seen(sent, client=2)
    got = world.send(up=False, seq=5000, payload=DOWN + text, t=(15, 15.25, 34))
    world.seen(got, client=35)
    world.deliver(0, at_ms=40)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE]


@pytest.mark.parametrize("sides", [("station",), ("wired", "server"), ()])
def test_too_few_captures_are_said_to_be_so(tmp_path: Path, sides: tuple[str, ...]) -> None:
    world = World(sides=sides)
    one_message(world)
    found = world.journey(tmp_path)
    assert found.account.attributed == 0
    assert "captur" in found.why


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


def test_deliveries_outside_the_window_are_not_asked_for(tmp_path: Path) -> None:
    world = World()
    one_message(world)
    text = world.publish(1, at_ms=-100)
    world.send(up=True, seq=1114, payload=UP + text, t=(-90, -85, -84))
    world.deliver(1, at_ms=-1)
    assert world.journey(tmp_path).account.deliveries == 1


def test_a_datagram_is_a_stream_of_its_own(tmp_path: Path) -> None:
    world = World()
    for seq in range(2):
        text = world.publish(seq, at_ms=100 * seq)
        at = 100 * seq
        world.send(up=True, seq=0, payload=UP + text, t=(at + 2, at + 12, at + 12.5), udp=True)
        world.seen(world.packet(up=False, seq=0, payload=b"another", udp=True), server=at + 13, wired=at + 13)
        world.send(up=False, seq=0, payload=DOWN + text, t=(at + 15, at + 15.25, at + 35), udp=True)
        world.deliver(seq, at_ms=at + 40)
    assert parts_ms(world.journey(tmp_path)) == [WHOLE, WHOLE]


@pytest.mark.parametrize("kind", list(BodyType))
def test_messages_of_every_type_are_followed_to_their_last_byte(tmp_path: Path, kind: BodyType) -> None:
    world = World(body_type=kind)
    letters = b"abcdefghijklmnopqrstuvwxyz" * 3
    content = bodies.content(kind, world.publish(0, at_ms=0, inside=letters[:76]))
    # The body's last byte in a packet of its own; what follows is not the body's (an object's stream is reset).
    end = len(content) - (kind is BodyType.OBJECT)
    world.send(up=True, seq=1000, payload=UP + content[: end - 1], t=(1, 5, 5))
    world.send(up=True, seq=1000 + len(UP) + end - 1, payload=content[end - 1 : end], t=(2, 12, 12.5))
    world.send(up=True, seq=1000 + len(UP) + end, payload=b"trailer", t=(13, 13.5, 14))
    world.send(up=False, seq=5000, payload=DOWN + content[:end] + b"trailer", t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert found.why == ""
    assert parts_ms(found) == [WHOLE]
