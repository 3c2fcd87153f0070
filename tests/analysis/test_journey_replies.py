"""The journey of requests and their replies: captures written packet by packet, answers known beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest
from journey_world import (
    CONSUMER_PORT,
    PRODUCER_PORT,
    THERE_AND_BACK,
    UP,
    callers,
    one_request,
    parts_ms,
    reply,
    request,
)

from analysis.journey.parts import EVERY, LATENCY
from analysis.journey.rows import add_journey
from analysis.rows import Rows

OTHER_PORT = 40009


def test_a_response_time_is_both_ways_and_what_the_service_took(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    one_request(world)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [THERE_AND_BACK]
    assert found.latency.tolist() == pytest.approx([0.095])
    assert found.copies == {"uplink": 1.0, "downlink": 1.0}
    assert found.why == ""


def test_the_stages_of_a_response_are_rows_that_sum_to_it(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    one_request(world)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    mean = {row["metric"]: row["value"] for row in rows.batch().to_pylist() if row["key"] == "mean"}
    assert set(mean) == {*EVERY, LATENCY}
    assert sum(mean[part] for part in EVERY) == pytest.approx(mean[LATENCY]) == pytest.approx(0.095)


def test_without_the_servers_port_neither_way_has_a_wire(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    world.sides = ("station", "wired")
    one_request(world)
    rows = Rows(0)
    add_journey(world.journey(tmp_path), rows)
    mean = {row["metric"]: row["value"] for row in rows.batch().to_pylist() if row["key"] == "mean"}
    assert set(mean) == {*EVERY, LATENCY} - {"wire", "reply_wire"}
    assert (mean["broker"], mean["reply_broker"]) == pytest.approx((0.00325, 0.0025))


def test_a_lost_packet_of_the_reply_is_the_replys_recovery(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    text = request(world)
    lost = world.packet(up=True, seq=9000, payload=UP + text, station="sta2", port=CONSUMER_PORT)
    world.seen(lost, station=60)
    reply(world, text, at_ms=200)
    world.answered(0, at_ms=295)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [THERE_AND_BACK | {"reply_uplink_recovery": 200}]
    assert found.copies == {"uplink": 1.5, "downlink": 1.0}


def test_a_reply_that_never_crosses_leaves_its_request_without_a_journey(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT, OTHER_PORT)
    one_request(world)
    text = request(world, at_ms=100, caller=2, port=OTHER_PORT, turn=1)
    reply(world, text, at_ms=100, turn=1, port=OTHER_PORT, crosses=False)
    found = world.journey(tmp_path)
    assert parts_ms(found) == [THERE_AND_BACK]
    assert (found.account.deliveries, found.account.attributed) == (1, 1)
    assert found.why == "1 requests of the window were not answered, and have no journey"


def test_a_reply_whose_crossing_was_not_seen_is_not_guessed(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    reply(world, request(world), crosses=False)
    world.answered(0, at_ms=95)
    found = world.journey(tmp_path)
    assert (found.account.deliveries, found.account.attributed, found.account.incomplete) == (1, 0, 1)
    assert "1 of 1 answered requests not attributed" in found.why


def test_a_reply_to_another_caller_answers_neither(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT, OTHER_PORT)
    first, second = request(world), request(world, at_ms=100, caller=2, port=OTHER_PORT, turn=1)
    reply(world, first, at_ms=100, port=OTHER_PORT)
    reply(world, second, at_ms=110, turn=1, port=PRODUCER_PORT)
    world.answered(0, at_ms=195, producer=1, to=21)
    world.answered(0, at_ms=205, producer=2, to=20)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.misanswered) == (0, 2)
    assert found.why == "2 of 2 answered requests not attributed: 2 whose answer was no service's reply to them"


def test_a_request_that_no_service_had_was_not_answered_by_one(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    one_request(world)
    world.delivered = [row for row in world.delivered if row["consumer"] != 10]
    assert world.journey(tmp_path).account.misanswered == 1


def test_a_second_reply_on_the_services_connection_is_not_guessed_at(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    one_request(world)
    text = world.frames["sta2", "station"][-1][1][-100:]
    again = UP + text
    world.send(up=True, seq=9000 + len(again), payload=again, t=(61, 71, 71.5), station="sta2", port=CONSUMER_PORT)
    found = world.journey(tmp_path)
    assert (found.account.attributed, found.account.ambiguous) == (0, 1)


def test_a_request_that_was_never_answered_alone_is_said_to_be_so(tmp_path: Path) -> None:
    world = callers(PRODUCER_PORT)
    request(world)
    found = world.journey(tmp_path)
    assert found.account.deliveries == 0
    assert found.why == "no request that was sent inside the window was answered"
