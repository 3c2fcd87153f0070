"""The journey from station to station: captures written packet by packet, answers known beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest
from journey_world import CONSUMER_PORT, DOWN, PRODUCER_PORT, SERVER_PORT, UP, World, parts_ms

from analysis.findings import Standing, TrialFinding
from analysis.journey.parts import DIRECT, LATENCY, RELAYED, of_reply, ordered
from analysis.journey.rows import add_journey
from analysis.plots.journeybars import journey_sketch, trial_bars
from analysis.plots.sketch import Label
from analysis.rows import Rows
from records.manifest import Consumer, Producer
from records.workload import workload_of

THERE, PORTS = ("sta1", "sta2"), (PRODUCER_PORT, CONSUMER_PORT)
BACK = THERE[::-1], PORTS[::-1]
STRAIGHT = {"client": 2, "air": 33, "receiver": 5}
# By a broker on sta3.
TO_BROKER = ("sta1", "sta3"), (PRODUCER_PORT, SERVER_PORT)
FROM_BROKER = ("sta3", "sta2"), (SERVER_PORT, CONSUMER_PORT)
RELAY = {"client": 2, "to_broker_air": 10, "broker": 3, "from_broker_air": 20, "receiver": 5}


def peers(**more: object) -> World:
    return World(sides=("station",), serverless=True, **more)  # type: ignore[arg-type]


def callers() -> World:
    """A caller (producer 1, consumer 20) on sta1 and a service (consumer 10) on sta2."""
    return peers(
        asked=workload_of({"pattern": "request_reply", "body_bytes": 100, "clients": {"callers": 1, "services": 1}}),
        consumers=(
            Consumer(id=10, node="sta2", topic=0, ports=(CONSUMER_PORT,)),
            Consumer(id=20, node="sta1", topic=0, ports=(PRODUCER_PORT,), caller=1),
        ),
    )


def request(world: World) -> bytes:
    text = world.publish(0, at_ms=0)
    world.published[-1] |= {"t_ack_ns": None}
    return text


def straight(world: World) -> bytes:
    """Message 0, scheduled at 0 ms and received at 40 ms, from client to client."""
    text = world.publish(0, at_ms=0)
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(2, 35))
    world.deliver(0, at_ms=40)
    return text


def relayed(world: World, *, to_broker: bool = True, from_broker: bool = True) -> None:
    """Message 0, by the broker; what it does not cross was not seen."""
    text = world.publish(0, at_ms=0)
    if to_broker:
        world.cross(*TO_BROKER, seq=1000, payload=UP + text, t=(2, 12))
    if from_broker:
        world.cross(*FROM_BROKER, seq=5000, payload=DOWN + text, t=(15, 35))
    world.deliver(0, at_ms=40)


def test_what_goes_from_client_to_client_crosses_the_air_as_one(tmp_path: Path) -> None:
    world = peers()
    straight(world)
    found = world.journey(tmp_path)
    assert found.names == DIRECT
    assert parts_ms(found) == [STRAIGHT]
    assert (found.copies, found.why) == ({"uplink": 1.0}, "")


def test_beside_a_server_that_has_nothing_to_do_it_is_the_same(tmp_path: Path) -> None:
    world = World()
    straight(world)
    found = world.journey(tmp_path)
    assert (parts_ms(found), found.why) == ([STRAIGHT], "")


def test_the_clients_own_ports_are_preferred(tmp_path: Path) -> None:
    world = peers()
    world.sides = ("station", "client")
    text = world.publish(0, at_ms=0)
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(3, 34))
    (_, sent), (_, got) = world.frames["sta1", "station"][0], world.frames["sta2", "station"][0]
    world.frames["sta1", "client"] = [(world.ns(2) + world.offset_ns, sent)]
    world.frames["sta2", "client"] = [(world.ns(35) + world.offset_ns, got)]
    world.deliver(0, at_ms=40)
    assert parts_ms(world.journey(tmp_path)) == [STRAIGHT]


def test_a_lost_copy_is_recovery(tmp_path: Path) -> None:
    world = peers()
    text = world.publish(0, at_ms=0)
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(2,))
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(202, 235))
    world.deliver(0, at_ms=240)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [STRAIGHT | {"recovery": 200}]
    assert found.copies == {"uplink": 2.0}


def turning() -> World:
    """Peers whose wired port was captured, where packets from station to station turn."""
    world = peers()
    world.sides = ("station", "wired")
    return world


def test_where_packets_turn_the_air_up_is_told_from_the_air_down(tmp_path: Path) -> None:
    world = turning()
    text = world.publish(0, at_ms=0)
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(2, 35), turns=(20, 20.01))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [{"client": 2, "air_up": 18, "air_down": 15, "receiver": 5}]
    assert found.names == ("client", "recovery", "air_up", "air_down", "receiver")


def test_the_way_up_of_a_copy_that_was_lost_on_its_way_down_is_not_the_others(tmp_path: Path) -> None:
    world = turning()
    text = world.publish(0, at_ms=0)
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(2,), turns=(20, 20.01))
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(202, 235), turns=(220, 220.01))
    world.deliver(0, at_ms=240)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [{"client": 2, "recovery": 200, "air_up": 18, "air_down": 15, "receiver": 5}]
    assert found.copies == {"uplink": 2.0}


def test_a_packet_that_was_not_seen_to_turn_is_not_guessed(tmp_path: Path) -> None:
    world = turning()
    texts = [world.publish(seq, at_ms=0) for seq in range(2)]
    for seq, (text, turns) in enumerate(zip(texts, ((20, 20.01), ()), strict=True)):
        world.cross(THERE, PORTS, seq=1000 + 113 * seq, payload=UP + text, t=(2, 35), turns=turns)
        world.deliver(seq, at_ms=40)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.incomplete) == (1, 1)


def test_by_a_broker_both_ways_turn(tmp_path: Path) -> None:
    world = turning()
    text = world.publish(0, at_ms=0)
    world.cross(*TO_BROKER, seq=1000, payload=UP + text, t=(2, 12), turns=(6, 6.01))
    world.cross(*FROM_BROKER, seq=5000, payload=DOWN + text, t=(15, 35), turns=(27, 27.01))
    world.deliver(0, at_ms=40)
    (parts,) = parts_ms(world.journey(tmp_path))
    assert parts == {
        "client": 2, "to_broker_air_up": 4, "to_broker_air_down": 6, "broker": 3, "from_broker_air_up": 12,
        "from_broker_air_down": 8, "receiver": 5,
    }  # fmt: skip
    assert ordered(reversed(parts)) == tuple(parts)


def test_each_subscriber_has_its_own_copy_of_the_publisher(tmp_path: Path) -> None:
    world = peers(
        consumers=tuple(Consumer(id=10 + n, node=f"sta{2 + n}", topic=0, ports=(CONSUMER_PORT,)) for n in (0, 1))
    )
    text = straight(world)
    world.cross(("sta1", "sta3"), PORTS, seq=7, payload=UP + text, t=(3, 45))
    world.deliver(0, at_ms=50, consumer=11)
    assert parts_ms(world.journey(tmp_path)) == [STRAIGHT, {"client": 3, "air": 42, "receiver": 5}]


def test_a_receiver_on_the_senders_station_is_counted_and_has_no_journey(tmp_path: Path) -> None:
    near = Consumer(id=11, node="sta1", topic=0, ports=(CONSUMER_PORT,))
    world = peers(consumers=(Consumer(id=10, node="sta2", topic=0, ports=(CONSUMER_PORT,)), near))
    straight(world)
    world.deliver(0, at_ms=1, consumer=11)
    found = world.journey(tmp_path)
    assert (found.account.deliveries, found.account.attributed, found.account.crossed_nothing) == (2, 1, 1)
    assert parts_ms(found) == [STRAIGHT]
    assert "1 whose sender and receiver are on one station, so that they crossed no link" in found.why


def test_what_another_client_passed_on_is_not_taken_for_the_senders(tmp_path: Path) -> None:
    relay = Producer(id=2, node="sta3", topic=0, ports=(PRODUCER_PORT,))
    world = peers(producers=(Producer(id=1, node="sta1", topic=0, ports=(PRODUCER_PORT,)), relay))
    text = world.publish(0, at_ms=0)
    world.cross(("sta3", "sta2"), PORTS, seq=7, payload=UP + text, t=(2, 35))
    world.deliver(0, at_ms=40)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.no_uplink_marker) == (0, 1)
    assert found.why == "1 of 1 deliveries not attributed: 1 whose marker was not captured"


def test_a_reply_from_client_to_client_has_the_same_parts(tmp_path: Path) -> None:
    world = callers()
    text = request(world)
    world.cross(THERE, PORTS, seq=1000, payload=UP + text, t=(2, 35))
    world.deliver(0, at_ms=40)
    world.cross(*BACK, seq=9000, payload=UP + text, t=(60, 90))
    world.answered(0, at_ms=95)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [STRAIGHT | {"service": 20, "reply_air": 30, "reply_receiver": 5}]
    assert (found.copies, found.why) == ({"uplink": 1.0}, "")
    assert set(found.names) == {*DIRECT, *map(of_reply, DIRECT)}


def test_by_a_broker_on_a_station_there_are_two_ways(tmp_path: Path) -> None:
    world = peers()
    relayed(world)
    found = world.journey(tmp_path)
    assert found.names == RELAYED
    assert parts_ms(found) == [RELAY]
    assert (found.copies, found.why) == ({"uplink": 1.0}, "")


def test_what_is_lost_behind_the_broker_is_that_ways_recovery(tmp_path: Path) -> None:
    world = peers()
    relayed(world, from_broker=False)
    text = world.frames["sta1", "station"][0][1][-100:]
    world.cross(*FROM_BROKER, seq=5000, payload=DOWN + text, t=(15,))
    world.cross(*FROM_BROKER, seq=5000, payload=DOWN + text, t=(115, 135))
    world.delivered.clear()
    world.deliver(0, at_ms=140)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [RELAY | {"from_broker_recovery": 100}]
    assert found.copies == {"uplink": 1.5}


@pytest.mark.parametrize(
    ("node", "crosses", "parts"),
    [
        ("sta1", "to_broker", {"client": 2, "to_broker_air": 10, "broker": 28}),
        ("sta2", "from_broker", {"broker": 15, "from_broker_air": 20, "receiver": 5}),
    ],
    ids=["receiver", "sender"],
)
def test_a_client_at_the_brokers_station_has_its_way_in_the_broker(
    tmp_path: Path, node: str, crosses: str, parts: dict[str, float]
) -> None:
    """node: where the other client is."""
    world = peers(
        producers=(Producer(id=1, node="sta1" if node == "sta1" else "sta3", topic=0, ports=(PRODUCER_PORT,)),),
        consumers=(Consumer(id=10, node="sta2" if node == "sta2" else "sta3", topic=0, ports=(CONSUMER_PORT,)),),
    )
    relayed(world, **{one: one == crosses for one in ("to_broker", "from_broker")})
    found = world.journey(tmp_path)
    assert parts_ms(found) == [parts]
    assert found.why == "1 have a client on their broker's station: the way between is in `broker`"


def test_a_way_that_was_not_captured_is_not_taken_for_one_at_home(tmp_path: Path) -> None:
    world = peers()
    relayed(world, from_broker=False)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.no_downlink_marker) == (0, 1)
    assert found.why == "1 of 1 deliveries not attributed: 1 whose marker on the way from the broker was not captured"


@pytest.mark.parametrize("at_home", [False, True])
def test_a_reply_by_the_broker_has_both_its_ways(tmp_path: Path, at_home: bool) -> None:
    """at_home: the service is where the broker is."""
    world = callers()
    if at_home:
        world.consumers = (world.consumers[0].model_copy(update={"node": "sta3"}), world.consumers[1])
    text = request(world)
    world.cross(*TO_BROKER, seq=1000, payload=UP + text, t=(2, 12))
    if not at_home:
        world.cross(*FROM_BROKER, seq=5000, payload=DOWN + text, t=(15, 35))
    world.deliver(0, at_ms=40)
    if not at_home:
        world.cross(("sta2", "sta3"), (CONSUMER_PORT, SERVER_PORT), seq=1, payload=UP + text, t=(60, 70))
    world.cross(("sta3", "sta1"), (SERVER_PORT, PRODUCER_PORT), seq=1, payload=DOWN + text, t=(72, 92))
    world.answered(0, at_ms=95)
    found = world.journey(tmp_path)
    ends = {"client": 2, "to_broker_air": 10, "reply_from_broker_air": 20, "reply_receiver": 3}
    inner = RELAY | {"service": 20, "reply_to_broker_air": 10, "reply_broker": 2}
    assert parts_ms(found) == [ends | {"broker": 28, "reply_broker": 32} if at_home else inner | ends]


def test_stations_whose_ports_were_not_captured_are_said_to_be_so(tmp_path: Path) -> None:
    world = peers()
    world.sides = ()
    straight(world)
    assert world.journey(tmp_path).why == "there are no captures"


def test_tables_and_bars_name_the_ways_between_stations(tmp_path: Path) -> None:
    world = peers()
    relayed(world)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    mean = {row["metric"]: row["value"] for row in rows.batch().to_pylist() if row["key"] == "mean"}
    assert set(mean) == {*RELAYED, LATENCY}
    assert ordered(mean.keys() - {LATENCY}) == RELAYED
    assert ordered(reversed(DIRECT)) == DIRECT
    made = TrialFinding("cell", 1, 1, standing=Standing.VALID, journey={"mean": mean})
    texts = [one.text for one in journey_sketch([trial_bars(made, "#000000")]).shapes if isinstance(one, Label)]
    assert {"to broker air", "broker", "from broker air"} <= set(texts)
    assert "broker includes the wire" not in texts
