"""The journey over links between routers or servers: each has the time between its two ends, the wire has the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from journey_world import CONSUMER_PORT, DOWN, PRODUCER_PORT, UP, World, callers, parts_ms

from analysis.breakdown import breakdowns
from analysis.findings import Standing, TrialFinding
from analysis.journey.parts import EVERY, LATENCY, label, ordered
from analysis.journey.rows import add_journey
from analysis.plots.journeybars import journey_sketch, trial_bars
from analysis.plots.sketch import Label
from analysis.report.journey import journey_table
from analysis.rows import Rows

CLIMB = {
    "station": 2, "wired": 12, "link1:station": 13, "link1:wired": 20, "link2:station": 21, "link2:wired": 30,
    "server": 31,
}  # fmt: skip
DESCENT = {
    "server": 40, "link2:wired": 41, "link2:station": 48, "link1:wired": 49, "link1:station": 55, "wired": 56,
    "station": 70,
}  # fmt: skip
REST = {"client": 2, "uplink_air": 10, "broker": 9, "downlink_air": 14, "receiver": 5}
OVER_LINKS = REST | {"wire": 6, "link_link1": 13, "link_link2": 16}


def chain() -> World:
    return World(links=("link1", "link2"))


def message(world: World, climb: dict[str, float], descent: dict[str, float]) -> None:
    """Message 0, scheduled at 0 ms, received at 75 ms."""
    text = world.publish(0, at_ms=0)
    world.seen(world.packet(up=True, seq=1000, payload=UP + text), **climb)
    world.seen(world.packet(up=False, seq=5000, payload=DOWN + text), **descent)
    world.deliver(0, at_ms=75)


def test_each_link_has_the_time_between_its_ends_both_ways(tmp_path: Path) -> None:
    world = chain()
    message(world, CLIMB, DESCENT)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [OVER_LINKS]
    assert found.why == ""


def test_without_the_servers_port_the_links_time_is_not_the_brokers(tmp_path: Path) -> None:
    world = chain()
    world.sides = ("station", "wired")
    message(world, CLIMB, DESCENT)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    mean = {row["metric"]: row["value"] for row in rows.batch().to_pylist() if row["key"] == "mean"}
    assert "wire" not in mean
    assert (mean["link_link1"], mean["link_link2"], mean["broker"]) == pytest.approx((0.013, 0.016, 0.015))
    assert sum(value for name, value in mean.items() if name != LATENCY) == pytest.approx(mean[LATENCY])


def test_what_was_not_seen_at_its_servers_port_has_the_wire_in_the_brokers_part(tmp_path: Path) -> None:
    world = chain()
    for seq, unseen in enumerate(([], ["server"], ["server"])):
        text = world.publish(seq, at_ms=0)
        climb, descent = ({name: at for name, at in way.items() if name not in unseen} for way in (CLIMB, DESCENT))
        before = seq * (len(UP) + len(text)), seq * (len(DOWN) + len(text))
        world.seen(world.packet(up=True, seq=1000 + before[0], payload=UP + text), **climb)
        world.seen(world.packet(up=False, seq=5000 + before[1], payload=DOWN + text), **descent)
        world.deliver(seq, at_ms=75)
    found = world.journey(tmp_path)
    in_broker = REST | {"broker": OVER_LINKS["wire"] + OVER_LINKS["broker"], "link_link1": 13, "link_link2": 16}
    assert parts_ms(found) == [OVER_LINKS, in_broker, in_broker]
    assert found.wire_known
    assert found.why == ("2 of 3 were not seen at their server's own port: of those `broker` includes the wire")


def test_a_server_whose_port_shows_nothing_of_the_messages_leaves_no_wire(tmp_path: Path) -> None:
    world = chain()
    message(world, *({name: at for name, at in way.items() if name != "server"} for way in (CLIMB, DESCENT)))
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.wire_known) == (1, False)
    assert "`broker` includes the wire" in found.why


def test_a_wait_for_what_a_link_lost_is_that_links(tmp_path: Path) -> None:
    world = chain()
    text = world.publish(0, at_ms=0)
    lost, again = (world.packet(up=True, seq=1000, payload=UP + text) for _ in range(2))
    world.seen(lost, **{name: CLIMB[name] for name in ("station", "wired", "link1:station")})
    world.seen(again, **{name: at + 200 for name, at in CLIMB.items()})
    down = world.packet(up=False, seq=5000, payload=DOWN + text)
    world.seen(down, **{name: at + 200 for name, at in DESCENT.items()})
    world.deliver(0, at_ms=275)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [OVER_LINKS | {"link_link1": 213}]
    assert found.copies == {"uplink": 2.0, "downlink": 1.0}


def test_a_link_that_was_seen_at_one_end_only_is_named_and_its_time_is_the_wires(tmp_path: Path) -> None:
    world = chain()
    climb, descent = ({name: at for name, at in way.items() if name != "link2:wired"} for way in (CLIMB, DESCENT))
    message(world, climb, descent)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [REST | {"wire": 22, "link_link1": 13}]
    assert found.why == "nothing of theirs was seen at both ends of link2: time there, if any, is in `wire`"


def test_what_a_server_passes_on_has_not_come_to_its_server(tmp_path: Path) -> None:
    world = chain()
    world.relays = ("relay",)
    message(world, CLIMB | {"relay:server": 20.5}, DESCENT | {"relay:server": 48.5})
    assert parts_ms(world.journey(tmp_path)) == [OVER_LINKS]


def test_a_server_at_the_stations_end_of_a_link_has_that_port_for_its_own(tmp_path: Path) -> None:
    world = chain()
    world.own_link = "link2"
    world.relays = ("relay",)
    climb = {"station": 2, "wired": 12, "link1:station": 13, "link1:wired": 20, "relay:server": 20.5}
    descent = {"link1:wired": 49, "link1:station": 55, "wired": 56, "station": 70}
    message(world, climb | {"link2:wired": 21, "link2:station": 30}, {"link2:station": 40, "link2:wired": 48} | descent)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [REST | {"wire": 4, "broker": 10, "link_link1": 13, "link_link2": 17}]
    assert found.why == ""


def test_a_reply_has_links_of_its_own_way(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    world.links = ("link1",)
    text = world.publish(0, at_ms=0)
    world.published[-1] |= {"t_ack_ns": None}
    over = {"link1:station": 13, "link1:wired": 20}
    world.seen(world.packet(up=True, seq=1000, payload=UP + text), station=2, wired=12, server=21, **over)
    world.seen(world.packet(up=False, seq=5000, payload=DOWN + text), server=24, wired=24.5, station=35)
    world.deliver(0, at_ms=40)
    service = {"station": "sta2", "port": CONSUMER_PORT}
    world.seen(world.packet(up=True, seq=9000, payload=UP + text, **service), station=60, wired=70, server=71)
    caller = {"station": "sta1", "port": PRODUCER_PORT}
    back = {"link1:wired": 73, "link1:station": 78}
    world.seen(world.packet(up=False, seq=3000, payload=DOWN + text, **caller), server=72, wired=79, station=90, **back)
    world.answered(0, at_ms=95)
    found = world.journey(tmp_path)
    (parts,) = parts_ms(found)
    assert (parts["link_link1"], parts["wire"]) == (7, 2.5)
    assert (parts["reply_link_link1"], parts["reply_wire"]) == (5, 3)
    assert sum(parts.values()) == pytest.approx(95)


def test_links_stand_behind_the_wire_of_their_way() -> None:
    given = ["reply_link_b", "link_z", "link_a", *reversed(EVERY)]
    found = ordered(given)
    assert found[3:7] == ("wire", "link_z", "link_a", "broker")
    assert found[-6:-3] == ("reply_wire", "reply_link_b", "reply_broker")
    assert [label(part) for part in ("link_link1", "reply_link_up_2", "reply_wire", "uplink_air")] == [
        "link1", "reply up_2", "reply wire", "uplink air",
    ]  # fmt: skip


def test_tables_and_bars_show_links_by_their_names() -> None:
    parts = {name: ms / 1e3 for name, ms in OVER_LINKS.items()}
    made = TrialFinding("cell", 1, 1, standing=Standing.VALID, journey={"mean": parts | {LATENCY: 0.075}})
    (mean,) = breakdowns([made])
    assert (mean.parts, mean.unexplained) == (parts, 0.0)
    table = journey_table([made])
    assert table.headings[2:6] == ("Wire", "Link1", "Link2", "Broker")
    texts = [one.text for one in journey_sketch([trial_bars(made, "#000000")]).shapes if isinstance(one, Label)]
    assert {"link1", "link2", "wire"} <= set(texts)
